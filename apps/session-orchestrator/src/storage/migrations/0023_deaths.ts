/** Creates the list of the service's deaths: the moment at which the next process found each. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Adds the table. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // As in the first migration: PostgreSQL's driver gives doubles as numbers.
  const number = sql.onDialectOrElse({
    pg: () => sql.literal("DOUBLE PRECISION"),
    orElse: () => sql.literal("INTEGER")
  })
  yield* sql`CREATE TABLE deaths (found_at ${number} NOT NULL PRIMARY KEY)`
})
