/** A person's answers that hold for every call of a tool in a conversation; absent: there are none. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Adds the column. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE conversations ADD COLUMN tool_answers TEXT`
})
