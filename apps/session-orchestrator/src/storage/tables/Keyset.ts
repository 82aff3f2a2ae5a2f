/**
 * Pages of a list by an index: rows behind a position, in descending order (`Lists`).
 *
 * - A statement names the columns of its index in the index's order, so the database steps into it and reads on from there.
 * - A filter is applied in steps, so a page reads little more than it needs, and ends within its time. On SQLite
 *   other work of the process gets its turn between two steps.
 */
import { Rows } from "@holdfast/journal/sql"
import { Monotonic } from "@holdfast/kernel/host"
import { Clock, Effect } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import type { Page, Position } from "../ListPage.ts"
import * as ProviderName from "../../base/text/ProviderName.ts"

/** Rows that one page looks at, at most. */
export const SCAN = 1_000

/** Milliseconds after which a page looks at no further rows. */
export const SCAN_MS = 20

/** Of a prompt in a list. */
export const PROMPT_CHARACTERS = 200

/** A row of an index, and whether it passes the filter that the index does not answer. */
export interface Key extends Position {
  readonly matches: number
}

/** Rows that a filter is applied to at once. */
const STEP = 100

/** The conditions of a filter that are asked for, together; `undefined`: none is. */
export const matching = (
  sql: SqlClient.SqlClient,
  conditions: ReadonlyArray<Statement.Fragment | false | undefined>
): Statement.Fragment | undefined => {
  const asked = conditions.filter((condition) => condition !== undefined && condition !== false)
  return asked.length === 0 ? undefined : sql.and(asked)
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
  sql`${Rows.number(sql, at)} AS "at", ${Rows.number(sql, number)} AS "number",
    ${matches === undefined ? sql`1` : sql`CASE WHEN ${matches} THEN 1 ELSE 0 END`} AS "matches"`

/** A list: the statement that reads its keys behind a position, without a limit, and what that cannot answer of a filter. */
interface List<Filter> {
  readonly keysOf: (sql: SqlClient.SqlClient, filter: Filter, after: Position | undefined) => Statement.Fragment
  readonly matching: (sql: SqlClient.SqlClient, filter: Filter) => Statement.Fragment | undefined
}

/** Reads the keys of a page: those that pass the filter, up to the limit, and where the next page begins. */
export const pages = <Filter>({ keysOf, matching }: List<Filter>) =>
  Effect.fnUntraced(function* (
    sql: SqlClient.SqlClient,
    filter: Filter,
    after: Position | undefined,
    limit: number
  ): Effect.fn.Return<Page<Key>, SqlError.SqlError> {
    const clock = yield* Clock.Clock
    const begun = Monotonic.millis(clock)
    const step = matching(sql, filter) === undefined ? limit + 1 : STEP
    const rows: Array<Key> = []
    let last: Key | undefined
    for (let looked = step; ; looked += step) {
      const keys: ReadonlyArray<Key> = yield* sql<Key>`${keysOf(sql, filter, last ?? after)} LIMIT ${step}`
      for (const key of keys) {
        if (rows.length === limit) return { rows, next: last }
        last = key
        if (key.matches === 1) rows.push(key)
      }
      if (keys.length < step) return { rows, next: undefined }
      if (looked >= SCAN || Monotonic.millis(clock) - begun >= SCAN_MS) return { rows, next: last }
    }
  })

/** Whether a column has `provider/model`, or a model of a provider; with the keys of clients, too. */
export const ofModel = (sql: SqlClient.SqlClient, column: string, model: string): Statement.Fragment =>
  sql.or(
    ProviderName.namesOf(model).map(
      (name) =>
        sql`${sql.literal(column)} = ${name} OR substr(${sql.literal(column)}, 1, ${name.length + 1}) = ${`${name}/`}`
    )
  )

/** The rows of keys, in their order; `rows` by their numbers. */
export const rowsOf = <Row extends object>(
  keys: ReadonlyArray<Key>,
  rows: ReadonlyMap<number, Row>
): ReadonlyArray<Row & { readonly position: Position }> =>
  keys.flatMap(({ at, number }) => {
    const row = rows.get(number)
    return row === undefined ? [] : [{ ...row, position: { at, number } }]
  })

/** Whether a column contains a text. */
export const containsText = (sql: SqlClient.SqlClient, column: string, text: string): Statement.Fragment =>
  like(sql, column, `%${escaped(text)}%`)

/** Whether a column of JSON may contain a text in one of its strings: keys and other strings match too. */
export const containsJson = (sql: SqlClient.SqlClient, column: string, text: string): Statement.Fragment =>
  like(sql, column, `%${escaped(JSON.stringify(text).slice(1, -1))}%`)

/** The same of two texts in memory. */
export const isWithin = (text: string, sought: string): boolean => text.toLowerCase().includes(sought.toLowerCase())

/** A text within a pattern of LIKE with `ESCAPE '!'`. */
export const escaped = (text: string): string => text.replaceAll(/[!%_]/g, "!$&")

// --- internal

const like = (sql: SqlClient.SqlClient, column: string, pattern: string): Statement.Fragment =>
  sql`${sql.literal(`${column} ${Rows.isServer(sql) ? "ILIKE" : "LIKE"}`)} ${pattern} ESCAPE '!'`
