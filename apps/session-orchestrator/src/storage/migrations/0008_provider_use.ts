/** Creates the use of providers' limits that runners share: a row a provider and runner. */
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

  yield* sql`CREATE TABLE provider_use (
    provider TEXT NOT NULL,
    runner TEXT NOT NULL,
    told_at ${timestamp} NOT NULL,
    underway INTEGER NOT NULL,
    seconds TEXT NOT NULL,
    PRIMARY KEY (provider, runner)
  )`
})
