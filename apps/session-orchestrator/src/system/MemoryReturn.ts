/**
 * Collects garbage when the service becomes quiet, to return the memory of a peak.
 *
 * V8 collects when it allocates. After a thousand streams have ended the service allocates nothing: without this module it would keep
 * their memory until the next peak.
 *
 * MemoryReturn.M1. It collects in quiet moments only, and only if the process has worked since the last collection.
 * MemoryReturn.M2. It takes at most a hundredth of the time.
 */
import { Effect } from "effect"
import { type EventLoopUtilization, performance } from "node:perf_hooks"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Between two samples of the event loop. */
export const INTERVAL_MS = 2_000

/** The event loop's share of busy time below which a collection holds up a few streaming turns at most. */
const QUIET = 0.02

/** The busy time after which there is garbage worth collecting. */
const WORKED_MS = 1_000

/** MemoryReturn.M2 */
const REST_FACTOR = 100

/** The activity of the event loop; times in milliseconds. */
interface Seen {
  /** Busy share of the time since the last sample, 0 to 1. */
  readonly utilization: number
  /** Busy time since the last collection. */
  readonly workedMs: number
  /** Time since the last collection, which took `tookMs`. */
  readonly sinceMs: number
  readonly tookMs: number
}

/** Whether to collect garbage now. */
const isDue = ({ sinceMs, tookMs, utilization, workedMs }: Seen): boolean =>
  utilization < QUIET && workedMs >= WORKED_MS && sinceMs >= REST_FACTOR * tookMs

/** Samples the event loop every `INTERVAL_MS` and calls `collect` when that is due. Never ends. */
export const run = (
  collect: () => void = collector(),
  look: () => EventLoopUtilization = performance.eventLoopUtilization
): Effect.Effect<never> =>
  Effect.suspend(() => {
    let last = look()
    let collected = last
    let tookMs = 0
    return Effect.forever(
      Effect.delay(
        Effect.sync(() => {
          const now = look()
          const utilization = (now.active - last.active) / (now.active - last.active + now.idle - last.idle)
          const workedMs = now.active - collected.active
          const sinceMs = workedMs + now.idle - collected.idle
          last = now
          if (!isDue({ utilization, workedMs, sinceMs, tookMs })) return
          collect()
          last = look()
          collected = last
          tookMs = last.active - now.active
        }),
        INTERVAL_MS
      )
    )
  })

// --- internal

/** Node exposes the collector only by a flag, and only to a context that is created after the flag was set. */
const collector = (): (() => void) => {
  setFlagsFromString("--expose-gc")
  const collect: unknown = runInNewContext("gc")
  setFlagsFromString("--no-expose-gc")
  return typeof collect === "function" ? () => void collect() : () => {}
}
