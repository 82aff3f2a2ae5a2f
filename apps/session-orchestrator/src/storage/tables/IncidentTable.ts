/** Reads and writes incidents and causes of failed turns, a row an endpoint (`IncidentStates`). */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { IncidentChange, IncidentRow } from "../IncidentStates.ts"
import * as OutboxTable from "./OutboxTable.ts"

/** Decides what is written, from all rows. */
export type Decide = (rows: ReadonlyArray<IncidentRow>) => IncidentChange

/** All rows. */
export const load = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyArray<IncidentRow>, SqlError.SqlError> =>
  sql<IncidentRow>`SELECT endpoint, state FROM incidents ORDER BY endpoint`

/** Whether a turn that was accepted up to a moment has not ended. */
export const hasOpenTurn = (
  sql: SqlClient.SqlClient,
  acceptedUntil: number
): Effect.Effect<boolean, SqlError.SqlError> =>
  Effect.map(
    // The sum hides the index by acceptance from SQLite, which would read all turns that have ended with it.
    sql`SELECT number FROM turns WHERE end_event_id IS NULL AND accepted_at + 0 <= ${acceptedUntil} LIMIT 1`,
    (rows) => rows.length > 0
  )

/** Makes one change after the other, within one transaction (IncidentStates.S1). */
export const change = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  decisions: ReadonlyArray<Decide>
): Effect.fn.Return<ReadonlyArray<void>, SqlError.SqlError> {
  // Another runner's change waits for the end of this transaction. SQLite has one writer anyway.
  yield* sql.onDialectOrElse({
    pg: () => Effect.asVoid(sql`LOCK TABLE incidents IN SHARE ROW EXCLUSIVE MODE`),
    orElse: () => Effect.void
  })
  for (const decide of decisions) {
    const { messages, removed, rows } = decide(yield* load(sql))
    if (removed.length > 0) yield* sql`DELETE FROM incidents WHERE ${sql.in("endpoint", removed)}`
    for (const row of rows) {
      yield* sql`INSERT INTO incidents ${sql.insert({ ...row })}
        ON CONFLICT (endpoint) DO UPDATE SET state = excluded.state`
    }
    yield* OutboxTable.add(sql, messages)
    for (const lane of new Set(messages.map((message) => message.lane)))
      yield* OutboxTable.drop(sql, lane, MOST_NOTICES)
  }
  return decisions.map(() => undefined)
})

/** A receiver that is down for a week of incidents gets the newest of them. */
const MOST_NOTICES = 100
