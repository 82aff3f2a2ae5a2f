/** Creates the interruptions of turns, a row an interrupted turn (rules C10, X14). */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The migration, for SQLite and PostgreSQL. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const number = sql.onDialectOrElse({ pg: () => sql.literal("BIGINT"), orElse: () => sql.literal("INTEGER") })
  yield* sql`CREATE TABLE interruptions (
    turn ${number} PRIMARY KEY NOT NULL REFERENCES turns (number),
    life TEXT NOT NULL,
    seen INTEGER NOT NULL,
    deaths INTEGER NOT NULL,
    is_alone INTEGER NOT NULL,
    is_orderly INTEGER NOT NULL,
    defects INTEGER NOT NULL
  )`
})
