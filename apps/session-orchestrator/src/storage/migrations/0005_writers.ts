/**
 * Whose a record is: on PostgreSQL, where several processes write, two of them may write the same. A file has one owner, and its
 * rows are left as they are.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.onDialectOrElse({
    pg: () => Effect.asVoid(sql`ALTER TABLE journal ADD COLUMN writer TEXT`),
    orElse: () => Effect.void
  })
})
