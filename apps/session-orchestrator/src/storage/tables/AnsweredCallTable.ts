/** Reads and writes the calls that were answered at once, a row an hour and target (`AnsweredCalls`). */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { type AnsweredCallsRow, HOUR_MS } from "../AnsweredCalls.ts"

/** Adds to rows. The rows are in one order, which prevents a deadlock between runners. */
export const add = (
  sql: SqlClient.SqlClient,
  rows: ReadonlyArray<AnsweredCallsRow>
): Effect.Effect<void, SqlError.SqlError> =>
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

/** The rows of the hours between two moments. */
export const between = (
  sql: SqlClient.SqlClient,
  since: number,
  until: number
): Effect.Effect<ReadonlyArray<AnsweredCallsRow>, SqlError.SqlError> =>
  Effect.map(
    sql<Row>`
      SELECT hour, target, calls, unreported, input, output, cached_input, cache_write
      FROM answered_calls WHERE hour > ${since - HOUR_MS} AND hour <= ${until} ORDER BY hour, target`,
    (rows) =>
      rows.map(({ cache_write: cacheWrite, cached_input: cachedInput, input, output, ...row }) => ({
        ...row,
        tokens: { input, output, cachedInput, cacheWrite }
      }))
  )

// --- internal

interface Row extends Omit<AnsweredCallsRow, "tokens"> {
  readonly input: number
  readonly output: number
  readonly cached_input: number
  readonly cache_write: number
}
