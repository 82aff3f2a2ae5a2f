/** Creates the counts of calls through the gateway that were answered at once, a row an hour and target (X13). */
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
  yield* sql`CREATE TABLE answered_calls (
    hour ${number} NOT NULL,
    target TEXT NOT NULL,
    calls ${number} NOT NULL,
    unreported ${number} NOT NULL,
    input ${number} NOT NULL,
    output ${number} NOT NULL,
    cached_input ${number} NOT NULL,
    cache_write ${number} NOT NULL,
    PRIMARY KEY (hour, target)
  )`
})
