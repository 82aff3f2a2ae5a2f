/** Gives a database the version of another Holdfast. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { versions } from "../../src/storage/DatabaseSchema.ts"

export const set = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, version: number) {
  const table = sql(versions.table)
  yield* sql`DELETE FROM ${table} WHERE migration_id < (SELECT max(migration_id) FROM ${table})`
  yield* sql`UPDATE ${table} SET migration_id = ${version}`
})
