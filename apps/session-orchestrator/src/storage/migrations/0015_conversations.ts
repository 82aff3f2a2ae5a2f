/** What a conversation is called, and which tool servers its turns may use: absent, the beginning of its first prompt, and all servers. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Adds the columns. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE conversations ADD COLUMN title TEXT`
  yield* sql`ALTER TABLE conversations ADD COLUMN tools TEXT`
})
