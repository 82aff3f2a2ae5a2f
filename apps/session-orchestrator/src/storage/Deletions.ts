/**
 * Deletes conversations from the disk (X15).
 *
 * - A conversation goes whole, in one transaction: its turns, events, journals and labels with it.
 * - A conversation with a turn that has not ended stays. Its turn has to end first.
 * - After `scrub` a SQLite file and its log have no byte of what was deleted. Copies and backups are not reached. PostgreSQL
 *   reuses the space after its own vacuum.
 */
import type { Ids } from "@holdfast/wire"
import { Context, Effect, Schedule } from "effect"
import { Rows, type SqlDatabase } from "@holdfast/journal/sql"
import type { SqlClient, SqlError } from "effect/sql"

/** What became of a conversation: `busy` has a turn that has not ended, `missing` does not exist. */
type Outcome = "deleted" | "busy" | "missing"

/** Deletes from one database. */
export class Deletions extends Context.Service<Deletions, ReturnType<typeof make>>()(
  "@holdfast/session-orchestrator/storage/Deletions"
) {}

/** Makes the port. */
export const make = ({ each, failed, sql }: SqlDatabase.SqlDatabase) => {
  /** Begins to overwrite what is deleted with zeros, or ends it, for the connection; also within a transaction. */
  const overwriting = (mode: "ON" | "OFF") => sql`PRAGMA secure_delete = ${sql.literal(mode)}`
  const emptied = sql<{ readonly busy: number }>`PRAGMA wal_checkpoint(TRUNCATE)`.pipe(
    Effect.map(([result]) => result?.busy === 1),
    // Another checkpoint, or a reader such as `holdfast turns`, holds the log for some milliseconds.
    Effect.repeat({ schedule: Schedule.spaced("100 millis"), while: (isBusy) => isBusy, times: 50 }),
    Effect.flatMap((isBusy) => (isBusy ? Effect.logWarning(STILL_THERE) : Effect.void))
  )
  const isServer = Rows.isServer(sql)
  return {
    /** Deletes a conversation. */
    conversation: each(
      (id) => `delete conversation ${id}`,
      (id: Ids.ConversationId) =>
        isServer
          ? remove(sql, id)
          : overwriting("ON").pipe(Effect.andThen(remove(sql, id)), Effect.tap(overwriting("OFF")))
    ),
    /** Takes what was deleted out of the log of a SQLite file. */
    scrub: isServer ? Effect.void : emptied.pipe(failed("take deleted text out of the log"))
  }
}

// --- internal

const STILL_THERE =
  "Deleted text is still in the database's log, which another process reads. The next deletion or an orderly stop removes it."

const remove = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  id: Ids.ConversationId
): Effect.fn.Return<Outcome, SqlError.SqlError> {
  const [row] = yield* sql<{ readonly number: number; readonly open: number; readonly lastEvent: number | null }>`
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
  yield* sql`DELETE FROM spend_raises WHERE scope = ${id}`
  yield* sql`DELETE FROM conversations WHERE number = ${number}`
  return "deleted"
})

/** Rows that one statement deletes: some milliseconds of SQLite, which stops the thread until it has them. */
const EVENTS = 1_000
const TURNS = 500

/** Tables that name a turn, and tables that name a conversation. `turns` comes last of the first, as they refer to it. */
const OF_TURNS = ["journal", "interruptions", "turn_tags", "turn_labels", "turn_prompts", "outbox"] as const
const OF_CONVERSATIONS = ["conversation_tags", "conversation_labels"] as const
