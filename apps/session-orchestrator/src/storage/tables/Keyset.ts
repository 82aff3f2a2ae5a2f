/**
 * Pages of a list by an index: rows behind a position, in descending order (`Lists`).
 *
 * Keyset.K1. A statement names the columns of its index in the index's order, so the database steps into it and reads on from there.
 */
import { RowNumbers } from "@holdfast/journal/sql"
import type { SqlClient, Statement } from "effect/sql"
import { type Page, type Position, SCAN } from "../Lists.ts"

/** A row of an index, and whether it passes the filter that the index does not answer. */
export interface Key extends Position {
  readonly matches: number
}

/** Rows behind a position in an index over a time and a number. */
export const behind = (
  sql: SqlClient.SqlClient,
  at: string,
  number: string,
  after: Position | undefined
): Statement.Fragment =>
  after === undefined
    ? sql`${sql.literal(number)} > 0`
    : sql`(${sql.literal(at)}, ${sql.literal(number)}) < (${after.at}, CAST(${after.number} AS BIGINT))`

/** Rows behind a position in an index over a number alone. */
export const below = (sql: SqlClient.SqlClient, number: string, after: Position | undefined): Statement.Fragment =>
  after === undefined ? sql`${sql.literal(number)} > 0` : sql`${sql.literal(number)} < CAST(${after.number} AS BIGINT)`

/** What a statement selects for a key. */
export const columns = (
  sql: SqlClient.SqlClient,
  at: string,
  number: string,
  matches: Statement.Fragment | undefined
): Statement.Fragment =>
  sql`${sql.literal(at)} AS "at", ${RowNumbers.read(sql, number)} AS "number",
    ${matches === undefined ? sql`1` : sql`CASE WHEN ${matches} THEN 1 ELSE 0 END`} AS "matches"`

/** Rows that a statement has to look at for a page (L3). */
export const scanned = (limit: number, matches: Statement.Fragment | undefined): number =>
  matches === undefined ? limit + 1 : SCAN

/** The page that keys make: those that match, up to the limit, and where the next one begins. */
export const pageOf = (keys: ReadonlyArray<Key>, limit: number, looked: number): Page<Key> => {
  const rows: Array<Key> = []
  let last: Key | undefined
  for (const key of keys) {
    if (rows.length === limit) return { rows, next: last }
    last = key
    if (key.matches === 1) rows.push(key)
  }
  return { rows, next: keys.length < looked ? undefined : last }
}

/** Whether a column has `provider/model`, or a model of a provider. */
export const ofModel = (sql: SqlClient.SqlClient, column: string, model: string): Statement.Fragment =>
  sql`(${sql.literal(column)} = ${model} OR substr(${sql.literal(column)}, 1, ${model.length + 1}) = ${`${model}/`})`

/** The numbers of keys as one parameter (`IdList`), for `IN`. */
export const numbers = (sql: SqlClient.SqlClient, keys: ReadonlyArray<Pick<Key, "number">>): Statement.Fragment => {
  const list = JSON.stringify(keys.map(({ number }) => number))
  return sql.onDialectOrElse({
    pg: () => sql`SELECT CAST(value AS BIGINT) FROM json_array_elements_text(${list}::json)`,
    orElse: () => sql`SELECT value FROM json_each(${list})`
  })
}
