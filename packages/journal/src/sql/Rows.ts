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
  sql.onDialectOrElse({
    pg: () =>
      Effect.map(
        Effect.forEach(partsOf(rows), (part) =>
          part.length > 1
            ? sql<Returned>`INSERT INTO ${sql(table)} ${recordset(sql, table, part)} ${clause}`
            : inChunks<Returned>(sql, table, part, clause)
        ),
        (returned) => returned.flat()
      ),
    orElse: () => inChunks(sql, table, rows, clause)
  })

/** A condition: the column has one of the ids. */
export const have = (sql: SqlClient.SqlClient, column: string, ids: ReadonlyArray<string>): Statement.Fragment => {
  const list = JSON.stringify(ids)
  return sql.onDialectOrElse({
    pg: () => sql`${sql.literal(column)} IN (SELECT json_array_elements_text(${list}::json))`,
    orElse: () => sql`${sql.literal(column)} IN (SELECT value FROM json_each(${list}))`
  })
}

/** Reads a column of row numbers. PostgreSQL's driver returns a BIGINT as a text, because it can exceed a number; a DOUBLE holds every row number that occurs. */
export const number = (sql: SqlClient.SqlClient, column: string): Statement.Fragment =>
  sql.onDialectOrElse({
    pg: () => sql.literal(`CAST(${column} AS DOUBLE PRECISION)`),
    orElse: () => sql.literal(column)
  })

// --- internal

type Row = Readonly<Record<string, string | number | null>>

/** Characters of texts in a JSON array: far below the limit of V8 for its text, which may be several times as long. */
const MOST_CHARACTERS = 2 ** 24

/** The rows of each statement on PostgreSQL; a row that is longer than the limit has a statement to itself. */
const partsOf = (rows: ReadonlyArray<Row>): ReadonlyArray<ReadonlyArray<Row>> => {
  const parts: Array<Array<Row>> = []
  let used = 0
  for (const row of rows) {
    const length = Object.values(row).reduce<number>((sum, value) => sum + lengthOf(value), 0)
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

const lengthOf = (value: Row[string] | undefined): number => (typeof value === "string" ? value.length : 0)

/** The columns and rows of an insert on PostgreSQL, which converts them to the types of the table. */
const recordset = (sql: SqlClient.SqlClient, table: string, rows: ReadonlyArray<Row>): Statement.Fragment => {
  const columns = sql.csv(Object.keys(rows[0] ?? {}).map((column) => sql`${sql(column)}`))
  return sql`(${columns}) SELECT ${columns} FROM json_populate_recordset(NULL::${sql(table)}, ${jsonOf(rows)}::json)`
}

/** Half of a surrogate pair, which JSON would escape and PostgreSQL refuse, becomes the character that it becomes in a parameter of its own. */
const jsonOf = (rows: ReadonlyArray<Row>): string =>
  JSON.stringify(rows, (_, value: unknown) => (typeof value === "string" ? value.toWellFormed() : value))

const inChunks = <Returned extends object>(
  sql: SqlClient.SqlClient,
  table: string,
  rows: ReadonlyArray<Row>,
  clause: Statement.Fragment
): Effect.Effect<ReadonlyArray<Returned>, SqlError.SqlError> =>
  Effect.map(
    Effect.forEach(chunksOf(rows), (chunk) => sql<Returned>`INSERT INTO ${sql(table)} ${sql.insert(chunk)} ${clause}`),
    (returned) => returned.flat()
  )

const chunksOf = <A>(rows: ReadonlyArray<A>): ReadonlyArray<Arr.NonEmptyReadonlyArray<A>> => {
  const chunks: Array<Arr.NonEmptyReadonlyArray<A>> = []
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
