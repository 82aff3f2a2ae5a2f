/** Deletes all rows of conversations (`Deletions`). */
import { Rows, type TableError } from "@holdfast/journal/sql"
import type { Ids } from "@holdfast/wire"
import { Effect, Schedule } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Outcome } from "../Deletions.ts"
import * as SecureDelete from "../SecureDelete.ts"

/** Deletes conversations, in order, within a transaction. */
export const conversations =
  (sql: SqlClient.SqlClient) =>
  (ids: ReadonlyArray<Ids.ConversationId>): Effect.Effect<ReadonlyArray<Outcome>, TableError> =>
    Effect.gen(function* () {
      yield* SecureDelete.set(sql, true)
      const outcomes = yield* Effect.forEach(ids, (id) => one(sql, id))
      yield* SecureDelete.set(sql, false)
      return outcomes
    })

/** Empties the log of a SQLite file; does nothing for a server. */
export const scrub = (sql: SqlClient.SqlClient): Effect.Effect<void, SqlError.SqlError> =>
  sql.onDialectOrElse({
    pg: () => Effect.void,
    orElse: () =>
      sql<{ readonly busy: number }>`PRAGMA wal_checkpoint(TRUNCATE)`.pipe(
        Effect.map(([result]) => result?.busy === 1),
        // Another checkpoint, or a reader such as `holdfast turns`, holds the log for some milliseconds.
        Effect.repeat({ schedule: Schedule.spaced("100 millis"), while: (isBusy) => isBusy, times: 50 }),
        Effect.flatMap((isBusy) =>
          isBusy
            ? Effect.logWarning(
                "Deleted text is still in the database's log, which another process reads. The next deletion or an orderly stop removes it."
              )
            : Effect.void
        )
      )
  })

// --- internal

const one = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  id: Ids.ConversationId
): Effect.fn.Return<Outcome, SqlError.SqlError> {
  const [row] = yield* sql<Conversation>`
    SELECT ${Rows.number(sql, "c.number")} AS "number", CASE WHEN EXISTS (
      SELECT 1 FROM turns t WHERE t.conversation = c.number AND t.end_event_id IS NULL
    ) THEN 1 ELSE 0 END AS "open",
    (SELECT max(e.event_id) FROM events e WHERE e.conversation = c.number) AS "lastEvent"
    FROM conversations c WHERE c.conversation_id = ${id}`
  if (row === undefined) return "missing"
  if (row.open === 1) return "busy"
  const number = sql`CAST(${row.number} AS BIGINT)`
  for (let from = 0; from < (row.lastEvent ?? 0); from += EVENTS)
    yield* sql`DELETE FROM events WHERE conversation = ${number} AND event_id > ${from} AND event_id <= ${from + EVENTS}`
  const turns = sql`SELECT t.number FROM turns t WHERE t.conversation = ${number} ORDER BY t.number LIMIT ${TURNS}`
  for (;;) {
    const some = yield* sql`${turns}`
    if (some.length === 0) break
    for (const table of OF_TURNS) yield* sql`DELETE FROM ${sql(table)} WHERE turn IN (${turns})`
    yield* sql`DELETE FROM turns WHERE conversation = ${number} AND number IN (${turns})`
    if (some.length < TURNS) break
  }
  for (const table of OF_CONVERSATIONS) yield* sql`DELETE FROM ${sql(table)} WHERE conversation = ${number}`
  yield* sql`DELETE FROM conversations WHERE number = ${number}`
  return "deleted"
})

interface Conversation {
  readonly number: number
  readonly open: number
  readonly lastEvent: number | null
}

/** Rows that one statement deletes: some milliseconds of SQLite, which stops the thread until it has them. */
const EVENTS = 1_000
const TURNS = 500

/** Tables that name a turn, and tables that name a conversation. `turns` comes last of the first, as they refer to it. */
const OF_TURNS = ["journal", "interruptions", "turn_tags", "turn_labels", "turn_prompts", "outbox"] as const
const OF_CONVERSATIONS = ["conversation_tags", "conversation_labels"] as const
