/**
 * Statements about many rows, in the dialects of both databases; the text of a statement does not depend on their number.
 *
 * | statement | database | rows |
 * |---|---|---|
 * | insert | PostgreSQL | several are one parameter, a JSON array: each statement is a round trip. Very long rows take several |
 * | insert | SQLite | several in chunks of three sizes, each text prepared once, below the limit of parameters |
 * | condition on ids | either | the ids are one parameter, a JSON array |
 *
 * Rows refer to each other by number. An id, a text of up to 64 characters, is in its own row and one index. No port has numbers.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"

/** Rows a statement on SQLite, largest first: beyond about fifty rows a larger statement is no faster. */
const SIZES = [64, 8, 1] as const

/**
 * Inserts rows that all have the same columns, in their order.
 *
 * @param clause what follows the rows: `RETURNING …` where they are to be returned, or `ON CONFLICT …`
 */
export const insertAll = <Returned extends object = never>(
  sql: SqlClient.SqlClient,
  table: string,
  rows: ReadonlyArray<Row>,
  clause: Statement.Fragment = sql.literal("")
): Effect.Effect<ReadonlyArray<Returned>, SqlError.SqlError> =>
  Effect.map(
    Effect.forEach(isServer(sql) ? partsOf(rows) : chunksOf(rows), (part) => {
      const inserted = isServer(sql) && part.length > 1 ? recordset(sql, table, part) : sql.insert(part)
      return sql<Returned>`INSERT INTO ${sql(table)} ${inserted} ${clause}`
    }),
    (returned) => returned.flat()
  )

/** Rows of a table as a table `s` of a statement: one parameter, a JSON array. PostgreSQL converts them to the types of the table. */
export const given = (sql: SqlClient.SqlClient, table: string, rows: ReadonlyArray<Row>): Statement.Fragment => {
  if (isServer(sql)) return sql`json_populate_recordset(NULL::${sql(table)}, ${jsonOf(rows)}::json) s`
  const columns = Object.keys(rows[0] ?? {}).map((column) => `value ->> '${column}' AS ${column}`)
  return sql`(SELECT ${sql.literal(columns.join(", "))} FROM json_each(${jsonOf(rows)})) s`
}

/** The end of an insert: a row whose key is taken gets these columns of the new row, or what `take` makes of the two. */
export const replacing = (
  sql: SqlClient.SqlClient,
  key: string,
  columns: ReadonlyArray<string>,
  take = (column: string) => `excluded.${column}`
): Statement.Fragment =>
  sql.literal(`ON CONFLICT (${key}) DO UPDATE SET ${columns.map((column) => `${column} = ${take(column)}`).join(", ")}`)

/** A condition: the column has one of the ids, or of the row numbers. */
export const have = (
  sql: SqlClient.SqlClient,
  column: string,
  keys: ReadonlyArray<string> | ReadonlyArray<number>
): Statement.Fragment => {
  if (keys.length === 0) return sql.literal("1 = 0")
  const list = JSON.stringify(keys)
  const type = sql.literal(typeof keys[0] === "number" ? "BIGINT" : "TEXT")
  const values = isServer(sql)
    ? sql`SELECT CAST(value AS ${type}) FROM json_array_elements_text(${list}::json)`
    : sql`SELECT value FROM json_each(${list})`
  return sql`${sql.literal(column)} IN (${values})`
}

/** Reads a column of row numbers. PostgreSQL's driver returns a BIGINT as a text, because it can exceed a number; a DOUBLE holds every row number that occurs. */
export const number = (sql: SqlClient.SqlClient, column: string): Statement.Fragment =>
  sql.literal(isServer(sql) ? `CAST(${column} AS DOUBLE PRECISION)` : column)

/** Whether the database is a server, PostgreSQL, that several processes write to. */
export const isServer = (sql: SqlClient.SqlClient): boolean =>
  sql.onDialectOrElse({ pg: () => true, orElse: () => false })

/** The end of a statement that locks the rows it reads: on a server. SQLite has one writer anyway. */
export const locking = (sql: SqlClient.SqlClient, lock: string): Statement.Fragment =>
  sql.literal(isServer(sql) ? lock : "")

// --- internal

type Row = Readonly<Record<string, string | number | null>>

/** The rows of one statement. */
type Part = Arr.NonEmptyReadonlyArray<Row>

/** Characters of texts in a JSON array: far below the limit of V8 for its text, which may be several times as long. */
const MOST_CHARACTERS = 2 ** 24

/** The rows of each statement on PostgreSQL; a row that is longer than the limit has a statement to itself. */
const partsOf = (rows: ReadonlyArray<Row>): ReadonlyArray<Part> => {
  const parts: Array<[Row, ...Array<Row>]> = []
  let used = 0
  for (const row of rows) {
    const length = Object.values(row).reduce<number>(
      (sum, value) => sum + (typeof value === "string" ? value.length : 0),
      0
    )
    const part = parts.at(-1)
    used += length
    if (part !== undefined && used <= MOST_CHARACTERS) {
      part.push(row)
    } else {
      parts.push([row])
      used = length
    }
  }
  return parts
}

/** The columns and rows of an insert on PostgreSQL. */
const recordset = (sql: SqlClient.SqlClient, table: string, rows: ReadonlyArray<Row>): Statement.Fragment => {
  const columns = sql.csv(Object.keys(rows[0] ?? {}).map((column) => sql`${sql(column)}`))
  return sql`(${columns}) SELECT ${columns} FROM ${given(sql, table, rows)}`
}

/** Half of a surrogate pair, which JSON would escape and PostgreSQL refuse, becomes the character that it becomes in a parameter of its own. */
const jsonOf = (rows: ReadonlyArray<Row>): string =>
  JSON.stringify(rows, (_, value: unknown) => (typeof value === "string" ? value.toWellFormed() : value))

/** The rows of each statement on SQLite. */
const chunksOf = (rows: ReadonlyArray<Row>): ReadonlyArray<Part> => {
  const chunks: Array<Part> = []
  let from = 0
  for (const size of SIZES) {
    while (rows.length - from >= size) {
      const chunk = rows.slice(from, from + size)
      if (Arr.isReadonlyArrayNonEmpty(chunk)) chunks.push(chunk)
      from += size
    }
  }
  return chunks
}
