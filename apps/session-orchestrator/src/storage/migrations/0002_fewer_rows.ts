/**
 * Reduces the rows and indexes that every turn writes.
 *
 * `messages` repeated `events`: a message is an event of that type. The turns of a conversation already have an index, which makes them
 * unique. And a journal is read by its key only, so the key is the table.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The migration, for SQLite and PostgreSQL. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`DROP TABLE messages`
  yield* sql`DROP INDEX turns_by_conversation`

  // PostgreSQL has no such tables: its rows are always in a heap.
  yield* sql.onDialectOrElse({
    pg: () => Effect.void,
    orElse: () =>
      Effect.gen(function* () {
        yield* sql`CREATE TABLE journal_by_key (
          turn_id TEXT NOT NULL REFERENCES turns (turn_id),
          seq INTEGER NOT NULL,
          name TEXT NOT NULL,
          value TEXT NOT NULL,
          PRIMARY KEY (turn_id, seq)
        ) WITHOUT ROWID`
        yield* sql`INSERT INTO journal_by_key (turn_id, seq, name, value)
          SELECT turn_id, seq, name, value FROM journal ORDER BY turn_id, seq`
        yield* sql`DROP TABLE journal`
        yield* sql`ALTER TABLE journal_by_key RENAME TO journal`
      })
  })
})
