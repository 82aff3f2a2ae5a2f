/**
 * Collects garbage when the service becomes quiet, to return the memory of a peak.
 *
 * V8 collects when it allocates. After a thousand streams have ended the service allocates nothing: without this module it would keep
 * their memory until the next peak.
 *
 * A full collection is not free for what follows: V8 drops optimised code whose objects are all gone, so the next streams run slowly until it
 * is made again. Each of the next ten thousand deltas and more costs half as much CPU again. So a pause of seconds between a few turns is no
 * reason for a collection, but the end of many streams or turns is.
 *
 * MemoryReturn.M1. It collects in quiet moments only, and only if the process has worked and grown since the last collection. If it has
 *     neither had many connections nor grown much since then, quiet time has to add up to `LONG_MS`; a sample that is not quiet takes back
 *     `WORK_WEIGHT` times its work. A collection while many slow streams are open leaves what they hold; after their end it collects
 *     again, although the process has not grown. Without connections their end is not seen: after a collection that left much growth the
 *     next one requires work and `LONG_MS` of quiet, but no growth.
 * MemoryReturn.M2. It takes at most a hundredth of the time. Time without collections is credited to later ones, up to `MOST_CREDIT_MS`:
 *     each of a few crowds in a row is collected soon after its end.
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

/** Growth that is worth a collection: some hundreds of streams at once. */
export const GROWN_BYTES = 64 * 1024 * 1024

/**
 * Growth that shows thousands of turns: those without clients, or over HTTP/2, have few connections. A service with twenty streams had less
 * than this in all (decision 23).
 */
export const MUCH_GROWN_BYTES = 6 * GROWN_BYTES

/** Some hundreds of streams: each has a connection to its client and one to its provider. */
export const MANY_CONNECTIONS = 500

/** The quiet after which work has ended that had fewer connections. Pauses between turns are shorter. */
export const LONG_MS = 60_000

/**
 * The quiet that a millisecond of work takes back, in a sample that is not quiet. `WORKED_MS` of it takes back all; 60 ms of a light load in
 * the background take back 6 s. Streams of 7 s that keep the loop busy for 3 % take back more than a pause of 9 s adds.
 */
const WORK_WEIGHT = 100

/** The share of the time that collections may take (MemoryReturn.M2). */
const SHARE = 0.01

/** Some five collections after a thousand streams, on a busy machine. It is earned in 200 s. */
export const MOST_CREDIT_MS = 2_000

/** The activity of the event loop, and the memory; times in milliseconds. */
interface Seen {
  /** The last sample was quiet. */
  readonly isQuiet: boolean
  /** Added up since the last collection, less what work took back; at most `LONG_MS`. */
  readonly quietMs: number
  /** Busy time since the last collection. */
  readonly workedMs: number
  /** The time that collections may take now, negative after a long one. */
  readonly creditMs: number
  /** Growth of the resident set, from its lowest point since the last collection. */
  readonly grownBytes: number
  /** Growth that the last collection did not return. */
  readonly leftBytes: number
  /** The most connections of a sample since the last collection. */
  readonly connections: number
  /** Connections of the last collection that have been closed. */
  readonly closed: number
}

/** Whether to collect garbage now. */
const isDue = (seen: Seen): boolean => {
  const isMany = seen.connections >= MANY_CONNECTIONS || seen.grownBytes >= MUCH_GROWN_BYTES
  const isLong = seen.quietMs >= LONG_MS
  const hasGrown = seen.grownBytes >= GROWN_BYTES && (isMany || isLong)
  const hasLeft = seen.leftBytes >= MUCH_GROWN_BYTES && isLong
  const hasEnded = seen.closed >= MANY_CONNECTIONS || (seen.workedMs >= WORKED_MS && (hasGrown || hasLeft))
  return seen.isQuiet && hasEnded && seen.creditMs > 0
}

/** Samples the event loop every `INTERVAL_MS` and calls `collect` when that is due. Never ends. */
export const run = (
  collect: () => void = collector(),
  look: () => EventLoopUtilization = performance.eventLoopUtilization,
  resident: () => number | undefined = residentBytes,
  connected: () => number = connections
): Effect.Effect<never> =>
  Effect.suspend(() => {
    let last = look()
    let collected = last
    let creditMs = MOST_CREDIT_MS
    let lowest = resident() ?? Infinity
    let quietMs = 0
    let leftBytes = 0
    let most = 0
    let kept = 0
    return Effect.forever(
      Effect.delay(
        Effect.sync(() => {
          const now = look()
          const elapsedMs = now.active - last.active + now.idle - last.idle
          const busyMs = now.active - last.active
          const isQuiet = busyMs < QUIET * elapsedMs
          quietMs = isQuiet ? Math.min(LONG_MS, quietMs + elapsedMs) : Math.max(0, quietMs - WORK_WEIGHT * busyMs)
          const workedMs = now.active - collected.active
          creditMs = Math.min(MOST_CREDIT_MS, creditMs + SHARE * elapsedMs)
          last = now
          // V8 returns pages for some time after a collection.
          const bytes = resident()
          if (bytes === undefined) return
          lowest = Math.min(lowest, bytes)
          const open = connected()
          most = Math.max(most, open)
          const grownBytes = bytes - lowest
          const counts = { connections: most, closed: kept - open }
          if (!isDue({ isQuiet, quietMs, workedMs, creditMs, grownBytes, leftBytes, ...counts })) return
          collect()
          most = open
          kept = open
          const left = resident() ?? bytes
          leftBytes = left - lowest
          lowest = left
          quietMs = 0
          last = look()
          collected = last
          creditMs -= last.active - now.active
        }),
        INTERVAL_MS
      )
    )
  })

// --- internal

/** Open now, those of idle clients included. */
const connections = (): number => process.getActiveResourcesInfo().filter((type) => type === "TCPSocketWrap").length

/** Read from a file of the system; `undefined`: the process has no free descriptor. */
const residentBytes = (): number | undefined => {
  try {
    return process.memoryUsage.rss()
  } catch {
    return undefined
  }
}

/** The thorough collection of V8: an ordinary one keeps the pages that it has emptied, and the large nursery of a peak. */
const THOROUGH = { type: "major", execution: "sync", flavor: "last-resort" }

/** Node exposes the collector only by a flag, and only to a context that is created after the flag was set. */
const collector = (): (() => void) => {
  setFlagsFromString("--expose-gc")
  const collect: unknown = runInNewContext("gc")
  setFlagsFromString("--no-expose-gc")
  return typeof collect === "function" ? () => void collect(THOROUGH) : () => {}
}
