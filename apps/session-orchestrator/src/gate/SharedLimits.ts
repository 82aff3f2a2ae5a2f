/**
 * Shares the limits of providers with the other runners on the database: what each uses counts for all.
 *
 * SharedLimits.S1. A runner counts what the others last told, which is a second old: in that second they may together begin more calls
 *     than are allowed.
 * SharedLimits.S2. A runner tells what has changed, and that it is alive while it has calls under way. One that uses nothing costs no query.
 * SharedLimits.S3. With the database away each runner keeps the limits by itself.
 */
import type { StorageError } from "@holdfast/journal"
import { Clock, Effect } from "effect"
import type { GateTable, Used } from "../storage/tables/GateTable.ts"
import type { Limiter } from "./Limiter.ts"

/** One exchange. `keyOf` stands for a provider in the table. */
export const make = (
  limiters: ReadonlyMap<string, Limiter>,
  share: GateTable["Service"]["share"],
  keyOf: (provider: string) => string
): Effect.Effect<void, StorageError> => {
  const runner = globalThis.crypto.randomUUID()
  const told = new Map<string, string>()
  const keys = new Map<string, string>()
  const known = (provider: string): string => {
    const key = keys.get(provider) ?? keyOf(provider)
    keys.set(provider, key)
    return key
  }
  const hear = (rows: ReadonlyArray<Used>): void => {
    for (const [name, limiter] of limiters) {
      const provider = known(name)
      limiter.hear(rows.filter((row) => row.provider === provider && row.runner !== runner))
    }
  }
  return Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const own: Array<Used> = []
    const asked: Array<string> = []
    for (const [name, { use, waiting }] of limiters) {
      const provider = known(name)
      const text = JSON.stringify(use)
      const isNews = use.underway > 0 || text !== (told.get(provider) ?? UNUSED)
      if (isNews) own.push({ provider, runner, ...use })
      if (isNews || waiting > 0) asked.push(provider)
      told.set(provider, text)
    }
    if (asked.length === 0) return Effect.void
    return share(own, asked, now).pipe(
      Effect.tapError(() => Effect.sync(() => hear([]))), // S3
      Effect.map(hear)
    )
  })
}

// --- internal

const UNUSED = JSON.stringify({ underway: 0, seconds: [] })
