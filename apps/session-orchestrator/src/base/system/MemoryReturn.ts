/**
 * Collects garbage after a minute of quiet, to return the memory of a peak.
 *
 * V8 collects when it allocates. After a thousand streams have ended the service allocates nothing: without this module it would keep their
 * memory until the next peak. A collection drops optimised code, and the next streams run slowly until it is made again: pauses between turns
 * are no reason for one (decision 23). What cannot be measured leaves the memory as it is.
 */
import { Effect } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Between two samples, in milliseconds. */
export const INTERVAL_MS = 2_000

/** The quiet before a collection, in milliseconds. */
export const QUIET_MS = 60_000

/** Connections of a quiet service: those of a page, of a monitor and of a database stay open. */
export const FEW_CONNECTIONS = 16

/** The resident set is worth a collection above so many times its lowest value. */
export const GROWTH = 1.25

/** Samples the process every `INTERVAL_MS`, and calls `collect` when that is due. Never ends, and never fails. */
export const run = (
  collect: () => void = collector(),
  resident: () => number = () => process.memoryUsage.rss(),
  connections: () => number = connected
): Effect.Effect<never> => {
  let floor = Infinity
  let quietMs = 0
  const sample = (): void => {
    const bytes = resident()
    floor = Math.min(floor, bytes)
    quietMs = connections() > FEW_CONNECTIONS ? 0 : quietMs + INTERVAL_MS
    if (quietMs < QUIET_MS || bytes <= GROWTH * floor) return
    collect()
    quietMs = 0
    floor = resident()
  }
  // Without a free descriptor, for example, the resident set cannot be read.
  return Effect.forever(Effect.andThen(Effect.ignore(Effect.try(sample)), Effect.sleep(INTERVAL_MS)))
}

// --- internal

/** Open now, those of idle clients included. */
const connected = (): number => process.getActiveResourcesInfo().filter((type) => type === "TCPSocketWrap").length

/** The thorough collection of V8: an ordinary one keeps the pages that it has emptied. */
const THOROUGH = { type: "major", execution: "sync", flavor: "last-resort" }

/** Node exposes the collector only by a flag, and only to a context that is created after the flag was set. */
const collector = (): (() => void) => {
  setFlagsFromString("--expose-gc")
  const collect: unknown = runInNewContext("gc")
  setFlagsFromString("--no-expose-gc")
  return typeof collect === "function" ? () => void collect(THOROUGH) : () => {}
}
