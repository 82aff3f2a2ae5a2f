/**
 * The parts of prompts with files: a row for each such prompt. The row of the turn has the prompt as text, with placeholders.
 *
 * A table of its own, because a turn's row is written again at its end, and a file may have megabytes.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Adds the table. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const number = sql.onDialectOrElse({ pg: () => sql.literal("BIGINT"), orElse: () => sql.literal("INTEGER") })
  yield* sql`CREATE TABLE turn_prompts (
    turn ${number} PRIMARY KEY NOT NULL REFERENCES turns (number),
    content TEXT NOT NULL
  )`
})
