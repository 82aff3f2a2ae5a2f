/** Finds a text within another one, whatever its letters' case: that of ASCII in SQLite, of all letters in PostgreSQL. */
import type { SqlClient, Statement } from "effect/sql"

/** Whether a column contains a text. */
export const text = (sql: SqlClient.SqlClient, column: string, text: string): Statement.Fragment =>
  like(sql, column, `%${escaped(text)}%`)

/** Whether a column of JSON may contain a text in one of its strings: keys and other strings match too. */
export const json = (sql: SqlClient.SqlClient, column: string, text: string): Statement.Fragment =>
  like(sql, column, `%${escaped(JSON.stringify(text).slice(1, -1))}%`)

/** The same of two texts in memory. */
export const within = (text: string, sought: string): boolean => text.toLowerCase().includes(sought.toLowerCase())

/** A text within a pattern of LIKE with `ESCAPE '!'`. */
export const escaped = (text: string): string => text.replaceAll(/[!%_]/g, "!$&")

// --- internal

const like = (sql: SqlClient.SqlClient, column: string, pattern: string): Statement.Fragment =>
  sql.onDialectOrElse({
    pg: () => sql`${sql.literal(column)} ILIKE ${pattern} ESCAPE '!'`,
    orElse: () => sql`${sql.literal(column)} LIKE ${pattern} ESCAPE '!'`
  })
