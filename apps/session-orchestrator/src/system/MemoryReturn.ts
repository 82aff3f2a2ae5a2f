/**
 * Collects garbage when the service has become quiet, so that the memory of a peak goes back to the system.
 *
 * V8 collects when something is allocated. A service whose thousand streams have ended allocates nothing: without this it would keep their
 * memory until the next peak.
 *
 * MemoryReturn.M1. It collects in quiet moments only, and only where work was done since the last time.
 * MemoryReturn.M2. It takes at most a hundredth of the time.
 */
import { Effect } from "effect"
import { type EventLoopUtilization, performance } from "node:perf_hooks"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Between two looks. */
export const INTERVAL_MS = 2_000

/** The event loop's share of busy time below which at most a few turns stream, which a collection would hold up. */
const QUIET = 0.02

/** Busy time that leaves garbage worth collecting. */
const WORKED_MS = 1_000

/** M2 */
const REST_FACTOR = 100

/** What the collector has seen of the event loop; times in milliseconds. */
export interface Seen {
  /** Busy share of the time since the last look. */
  readonly utilization: number
  /** Busy time since the last collection. */
  readonly workedMs: number
  /** Since the last collection, which took `tookMs`. */
  readonly sinceMs: number
  readonly tookMs: number
}

/** Whether garbage is to be collected now. */
export const isDue = ({ sinceMs, tookMs, utilization, workedMs }: Seen): boolean =>
  utilization < QUIET && workedMs >= WORKED_MS && sinceMs >= REST_FACTOR * tookMs

/** Looks at the event loop again and again, and calls `collect` where that is due. It never ends. */
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

/** Node gives the collector to programs by a flag alone; a new context has it, and nothing else does. */
const collector = (): (() => void) => {
  setFlagsFromString("--expose-gc")
  const collect: unknown = runInNewContext("gc")
  setFlagsFromString("--no-expose-gc")
  return typeof collect === "function" ? () => void collect() : () => {}
}
