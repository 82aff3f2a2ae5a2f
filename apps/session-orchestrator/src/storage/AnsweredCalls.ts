/**
 * Stores the calls through the gateway that were answered at once (rule X13): counts by hour and target.
 *
 * - Such a call is no turn and has no row of its own: its tokens are added to the row of its target and hour.
 */
import type { Prices } from "@holdfast/policy"
import { Context, Effect } from "effect"
import { Rows, type SqlDatabase } from "@holdfast/journal/sql"

/** The calls of one target in one hour. */
export interface AnsweredCallsRow {
  /** Begin of the hour, in epoch milliseconds. */
  readonly hour: number
  /** `provider/model`, with `~client` behind the provider where the key was the client's own. */
  readonly target: string
  readonly calls: number
  /** Calls of which the provider reported no tokens. */
  readonly unreported: number
  readonly tokens: Prices.Tokens
}

/** An hour, in milliseconds. */
export const HOUR_MS = 3_600_000

/** Stores the counts. */
export class AnsweredCalls extends Context.Service<AnsweredCalls, ReturnType<typeof make>>()(
  "@holdfast/session-orchestrator/storage/AnsweredCalls"
) {}

/** Makes the port. */
export const make = ({ each, read, sql }: SqlDatabase.SqlDatabase) => ({
  /** Adds to the rows of these hours and targets, each of which is there once: in one order, which prevents a deadlock between runners. */
  add: each("count answered calls", (rows: ReadonlyArray<AnsweredCallsRow>) => {
    const added = rows.map(({ tokens: { cachedInput: cached_input, cacheWrite: cache_write, ...tokens }, ...row }) => ({
      ...row,
      ...tokens,
      cached_input,
      cache_write
    }))
    const inOrder = added.toSorted((a, b) => a.hour - b.hour || (a.target < b.target ? -1 : 1))
    const sum = (column: string) => `answered_calls.${column} + excluded.${column}`
    const adding = Rows.replacing(sql, "hour, target", COUNTS, sum)
    return Effect.asVoid(Rows.insertAll(sql, "answered_calls", inOrder, adding))
  }),
  /** The rows of all hours that are at least partly between two moments, in epoch milliseconds. */
  between: (since: number, until: number) =>
    sql<Omit<AnsweredCallsRow, "tokens"> & Prices.Tokens>`
      SELECT hour, target, calls, unreported, input, output, cached_input AS "cachedInput", cache_write AS "cacheWrite"
      FROM answered_calls WHERE hour > ${since - HOUR_MS} AND hour <= ${until} ORDER BY hour, target`.pipe(
      Effect.map((rows) =>
        rows.map(({ calls, hour, target, unreported, ...tokens }): AnsweredCallsRow => ({
          hour,
          target,
          calls,
          unreported,
          tokens
        }))
      ),
      read("the answered calls")
    )
})

// --- internal

const COUNTS = ["calls", "unreported", "input", "output", "cached_input", "cache_write"]
