/** Creates the table of incidents and of causes of failed turns: a row an endpoint, shared by all runners. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Adds the table. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE incidents (endpoint TEXT PRIMARY KEY, state TEXT NOT NULL)`
})
