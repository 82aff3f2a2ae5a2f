/**
 * A condition on many ids, by a statement whose text does not depend on how many they are.
 *
 * They go in as one parameter, a JSON array: a statement is put together and prepared once, and no database's limit of parameters is
 * near.
 */
import type { SqlClient, Statement } from "effect/sql"

/** Whether a column has one of some ids. */
export const has = (sql: SqlClient.SqlClient, column: string, ids: ReadonlyArray<string>): Statement.Fragment => {
  const list = JSON.stringify(ids)
  return sql.onDialectOrElse({
    pg: () => sql`${sql.literal(column)} IN (SELECT json_array_elements_text(${list}::json))`,
    orElse: () => sql`${sql.literal(column)} IN (SELECT value FROM json_each(${list}))`
  })
}
