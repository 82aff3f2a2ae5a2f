/**
 * Reads the numbers by which rows refer to each other.
 *
 * An id is a text of up to 64 characters. It is stored in its own row and in one index; all other rows of a conversation or a turn have
 * the number of that row. Numbers stay within the database: no port has them.
 */
import type { SqlClient, Statement } from "effect/sql"

/** Reads a column of row numbers. PostgreSQL's driver returns a BIGINT as a text, because it can exceed a number; a DOUBLE holds every row number that occurs. */
export const read = (sql: SqlClient.SqlClient, column: string): Statement.Fragment =>
  sql.onDialectOrElse({
    pg: () => sql.literal(`CAST(${column} AS DOUBLE PRECISION)`),
    orElse: () => sql.literal(column)
  })
