/** A conversation's model can be changed: when that was, and the model of the turns that it had by then. Absent: it was never changed. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Adds the columns. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // As in the first migration.
  const timestamp = sql.onDialectOrElse({
    pg: () => sql.literal("DOUBLE PRECISION"),
    orElse: () => sql.literal("INTEGER")
  })
  yield* sql`ALTER TABLE conversations ADD COLUMN model_since ${timestamp}`
  yield* sql`ALTER TABLE turns ADD COLUMN model TEXT`
})
