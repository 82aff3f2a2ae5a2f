/** Overwrites what is deleted with zeros, in SQLite; otherwise it would stay in free pages of the file. */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** Begins to overwrite, or ends it, for the connection; also within a transaction. Does nothing in PostgreSQL. */
export const set = (sql: SqlClient.SqlClient, isOn: boolean): Effect.Effect<void, SqlError.SqlError> =>
  sql.onDialectOrElse({
    pg: () => Effect.void,
    orElse: () => Effect.asVoid(isOn ? sql`PRAGMA secure_delete = ON` : sql`PRAGMA secure_delete = OFF`)
  })
