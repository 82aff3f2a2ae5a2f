/**
 * Many rows into one table with few different statements.
 *
 * The text of an insert depends on its number of rows. Taking the rows off in a few fixed sizes keeps it to a handful of
 * texts, each prepared once, and below every database's limit of parameters.
 */
import { Array as Arr, Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** From the largest: beyond some fifty rows a larger statement is no faster. */
const SIZES = [64, 8, 1] as const

/** Inserts rows that all have the same columns, in their order. */
export const insertAll = (
  sql: SqlClient.SqlClient,
  table: string,
  rows: ReadonlyArray<Record<string, string | number | null>>
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.forEach(chunksOf(rows), (chunk) => sql`INSERT INTO ${sql(table)} ${sql.insert(chunk)}`, { discard: true })

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
