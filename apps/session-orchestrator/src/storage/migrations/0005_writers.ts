/**
 * Adds the writer of a record, on PostgreSQL only.
 *
 * There several processes write, and two of them may write the same record. A SQLite file has one owner, and its rows are not changed.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The migration, for SQLite and PostgreSQL. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.onDialectOrElse({
    pg: () => Effect.asVoid(sql`ALTER TABLE journal ADD COLUMN writer TEXT`),
    orElse: () => Effect.void
  })
})
