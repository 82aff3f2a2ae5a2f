/**
 * What lists are read by: how and when a turn ended, in its own row; and an index for each order in which lists are read (X15).
 *
 * A turn that ended before has both from its `turn-end` event, in whichever form that was written (`EventText`).
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Adds the columns and the indexes. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // As in the first migration: epoch milliseconds need more than 32 bits.
  const timestamp = sql.onDialectOrElse({
    pg: () => sql.literal("DOUBLE PRECISION"),
    orElse: () => sql.literal("INTEGER")
  })
  yield* sql`ALTER TABLE turns ADD COLUMN status TEXT`
  yield* sql`ALTER TABLE turns ADD COLUMN ended_at ${timestamp}`

  const field = (name: string) =>
    sql.onDialectOrElse({
      pg: () => sql.literal(`(${WHOLE}::json ->> '${name}')`),
      orElse: () => sql.literal(`json_extract(${WHOLE}, '$.${name}')`)
    })
  yield* sql`
    UPDATE turns SET
      status = (SELECT ${field("status")} FROM events e
        WHERE e.conversation = turns.conversation AND e.event_id = turns.end_event_id),
      ended_at = (SELECT CAST(${field("endedAt")} AS ${timestamp}) FROM events e
        WHERE e.conversation = turns.conversation AND e.event_id = turns.end_event_id)
    WHERE end_event_id IS NOT NULL`

  yield* sql`CREATE INDEX turns_by_acceptance ON turns (accepted_at, number)`
  yield* sql`CREATE INDEX turns_by_end ON turns (status, ended_at, number) WHERE status IS NOT NULL`
  yield* sql`CREATE INDEX conversations_by_creation ON conversations (created_at, number)`
})

// --- internal

/** The JSON of a `turn-end` event: whole, or without the keys that its row has. */
const WHOLE = `(CASE substr(e.payload, 1, 1) WHEN '{' THEN e.payload ELSE '{"type":"turn-end"' || e.payload END)`
