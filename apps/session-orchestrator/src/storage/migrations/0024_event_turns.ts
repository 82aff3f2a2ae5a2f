/**
 * Leads from a turn to its events, for the database itself.
 *
 * A database looks for events of each turn that is deleted. Nothing led to them by the turn's number alone, so the deletion of a conversation
 * read all events of the database once for each of its turns.
 *
 * | | |
 * |---|---|
 * | SQLite | an event refers to its turn by the conversation too, with which the key of `events` begins: no write costs more |
 * | PostgreSQL | an index: it keeps the entries of deleted rows for a while, so the key would lead past all of the conversation's each time |
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Changes the reference, or adds the index. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.onDialectOrElse({
    pg: () => Effect.asVoid(sql`CREATE INDEX events_by_turn ON events (turn)`),
    orElse: () => copy(sql)
  })
})

// --- internal

/** Rows of one statement: the log gets a line of progress between two of them. */
const ROWS = 20_000

/** SQLite changes no reference of a table that is there. */
const copy = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  yield* sql`DROP INDEX turns_by_conversation`
  // A reference to two columns needs a unique index of them.
  yield* sql`CREATE UNIQUE INDEX turns_by_conversation ON turns (conversation, number)`
  yield* sql`ALTER TABLE events RENAME TO events_23`
  yield* sql`CREATE TABLE events (
    conversation INTEGER NOT NULL,
    event_id INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    position INTEGER NOT NULL,
    type TEXT NOT NULL,
    payload TEXT NOT NULL,
    PRIMARY KEY (conversation, event_id),
    FOREIGN KEY (conversation, turn) REFERENCES turns (conversation, number)
  )`
  const [newest] = yield* sql<{ readonly row: number | null }>`SELECT max(rowid) AS row FROM events_23`
  for (let from = 0; from < (newest?.row ?? 0); from += ROWS) {
    yield* sql`INSERT INTO events (rowid, conversation, event_id, turn, position, type, payload)
      SELECT rowid, conversation, event_id, turn, position, type, payload FROM events_23
      WHERE rowid > ${from} AND rowid <= ${from + ROWS} ORDER BY rowid`
  }
  yield* sql`DROP TABLE events_23`
  yield* sql`CREATE INDEX events_model_change ON events (turn, event_id) WHERE type = 'model-change'`
})
