/**
 * Inserts many rows into one table with few different statements.
 *
 * The text of an insert depends on its number of rows. Inserting in chunks of three sizes keeps the number of texts small, each prepared
 * once, and stays below every database's limit of parameters.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"

/** Rows a statement, largest first: beyond about fifty rows a larger statement is no faster. */
const SIZES = [64, 8, 1] as const

/**
 * Inserts rows that all have the same columns, in their order.
 *
 * @param clause what follows the rows: `RETURNING …` where they are to be returned, or `ON CONFLICT …`
 */
export const insertAll = <Returned extends object = never>(
  sql: SqlClient.SqlClient,
  table: string,
  rows: ReadonlyArray<Record<string, string | number | null>>,
  clause: Statement.Fragment = sql.literal("")
): Effect.Effect<ReadonlyArray<Returned>, SqlError.SqlError> =>
  Effect.map(
    Effect.forEach(chunksOf(rows), (chunk) => sql<Returned>`INSERT INTO ${sql(table)} ${sql.insert(chunk)} ${clause}`),
    (returned) => returned.flat()
  )

// --- internal

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
