/** Creates the news that runners share about endpoints: a row an endpoint. */
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

  yield* sql`CREATE TABLE gates (
    endpoint TEXT PRIMARY KEY NOT NULL,
    tried_at ${timestamp} NOT NULL,
    answered_at ${timestamp} NOT NULL,
    failed_at ${timestamp} NOT NULL,
    failure TEXT,
    n DOUBLE PRECISION NOT NULL
  )`
})
