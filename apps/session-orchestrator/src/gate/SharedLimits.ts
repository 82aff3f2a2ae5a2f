/**
 * Shares the use of provider limits among the runners on the database.
 *
 * SharedLimits.S1. A runner counts the last report of each other runner, which is a second old: in that second they may together begin more
 *     calls than are allowed.
 * SharedLimits.S2. A runner reports changes of its use, and reports each second while it has calls in progress. A runner without use costs
 *     no query.
 * SharedLimits.S3. With the database away each runner keeps the limits by itself.
 */
import type { StorageError } from "@holdfast/journal"
import { Clock, Effect } from "effect"
import type { GateTable, Used } from "../storage/tables/GateTable.ts"
import type { Limiter } from "./Limiter.ts"

/** Makes one exchange. `keyOf` gives the key of a provider in the table. */
export const make = (
  limiters: ReadonlyMap<string, Limiter>,
  share: GateTable["Service"]["share"],
  keyOf: (provider: string) => string
): Effect.Effect<void, StorageError> => {
  const runner = globalThis.crypto.randomUUID()
  const reported = new Map<string, string>()
  const keys = new Map<string, string>()
  const known = (provider: string): string => {
    const key = keys.get(provider) ?? keyOf(provider)
    keys.set(provider, key)
    return key
  }
  const apply = (rows: ReadonlyArray<Used>): void => {
    for (const [name, limiter] of limiters) {
      const provider = known(name)
      limiter.setOthers(rows.filter((row) => row.provider === provider && row.runner !== runner))
    }
  }
  return Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const own: Array<Used> = []
    const asked: Array<string> = []
    for (const [name, { use, waiting }] of limiters) {
      const provider = known(name)
      const text = JSON.stringify(use)
      const isNews = use.underway > 0 || text !== (reported.get(provider) ?? UNUSED)
      if (isNews) own.push({ provider, runner, ...use })
      if (isNews || waiting > 0) asked.push(provider)
      reported.set(provider, text)
    }
    if (asked.length === 0) return Effect.void
    return share(own, asked, now).pipe(
      Effect.tapError(() => Effect.sync(() => apply([]))), // SharedLimits.S3
      Effect.map(apply)
    )
  })
}

// --- internal

const UNUSED = JSON.stringify({ underway: 0, seconds: [] })
