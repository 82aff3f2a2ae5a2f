/** Creates the pauses of targets and credentials (rules P7, P8). */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The migration, for SQLite and PostgreSQL. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // As in the first migration: epoch milliseconds need more than 32 bits.
  const timestamp = sql.onDialectOrElse({
    pg: () => sql.literal("DOUBLE PRECISION"),
    orElse: () => sql.literal("INTEGER")
  })
  yield* sql`CREATE TABLE standings (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    until ${timestamp} NOT NULL,
    pause TEXT NOT NULL,
    PRIMARY KEY (kind, name)
  )`
})
