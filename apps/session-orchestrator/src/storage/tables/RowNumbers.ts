/**
 * The numbers by which rows name each other.
 *
 * An id is a text of up to 64 characters. It is in its own row and in one index; everything else that belongs to a conversation or to
 * a turn has the number of that row. Numbers stay within the database: no port has them.
 */
import type { SqlClient, Statement } from "effect/sql"

/** Reads a column of them. PostgreSQL's are too large for a number, says its driver, and gives a text; a DOUBLE holds any that there will be. */
export const read = (sql: SqlClient.SqlClient, column: string): Statement.Fragment =>
  sql.onDialectOrElse({
    pg: () => sql.literal(`CAST(${column} AS DOUBLE PRECISION)`),
    orElse: () => sql.literal(column)
  })
