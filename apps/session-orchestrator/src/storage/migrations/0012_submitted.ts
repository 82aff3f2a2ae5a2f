/** Turns whose clients did not stay for their answers (X15): they have a setting of their own for failures after content (X7). */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Adds the column. 1: submitted; NULL: not, or accepted before this version. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE turns ADD COLUMN submitted SMALLINT`
})
