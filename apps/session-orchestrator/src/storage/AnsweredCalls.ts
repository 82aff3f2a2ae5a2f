/**
 * Stores the calls through the gateway that were answered at once (rule X13): counts by hour and target.
 *
 * AnsweredCalls.C1. Such a call is no turn and has no row of its own: its tokens are added to the row of its target and hour.
 */
import type { Prices } from "@holdfast/policy"
import { Context, Effect } from "effect"
import type { SqlDatabase } from "@holdfast/journal/sql"

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
  /** Adds to the rows of these hours and targets: in one order, which prevents a deadlock between runners. */
  add: each("count answered calls", (rows: ReadonlyArray<AnsweredCallsRow>) =>
    Effect.forEach(
      rows.toSorted((a, b) => a.hour - b.hour || (a.target < b.target ? -1 : 1)),
      ({ calls, hour, target, tokens, unreported }) => sql`
        INSERT INTO answered_calls ${sql.insert({
          hour,
          target,
          calls,
          unreported,
          input: tokens.input,
          output: tokens.output,
          cached_input: tokens.cachedInput,
          cache_write: tokens.cacheWrite
        })}
        ON CONFLICT (hour, target) DO UPDATE SET
          calls = answered_calls.calls + excluded.calls,
          unreported = answered_calls.unreported + excluded.unreported,
          input = answered_calls.input + excluded.input,
          output = answered_calls.output + excluded.output,
          cached_input = answered_calls.cached_input + excluded.cached_input,
          cache_write = answered_calls.cache_write + excluded.cache_write`,
      { discard: true }
    )
  ),
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
