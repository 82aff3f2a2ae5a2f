/** Reads and writes the deaths of the service (`Store.noteDeath`). */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** Adds deaths by the moments at which they were found, in epoch milliseconds. */
export const add = (
  sql: SqlClient.SqlClient,
  foundAt: ReadonlyArray<number>
): Effect.Effect<ReadonlyArray<void>, SqlError.SqlError> =>
  Effect.forEach(foundAt, (at) =>
    Effect.asVoid(sql`INSERT INTO deaths ${sql.insert({ found_at: at })} ON CONFLICT DO NOTHING`)
  )

/** The moments from `since` on, earliest first. */
export const since = (
  sql: SqlClient.SqlClient,
  since: number
): Effect.Effect<ReadonlyArray<number>, SqlError.SqlError> =>
  Effect.map(
    sql<{ readonly found_at: number }>`SELECT found_at FROM deaths WHERE found_at >= ${since} ORDER BY found_at`,
    (rows) => rows.map(({ found_at }) => found_at)
  )
