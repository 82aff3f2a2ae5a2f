/**
 * A condition on many ids, in a statement whose text does not depend on their number.
 *
 * The ids are one parameter, a JSON array: a statement is built and prepared once, and stays far below every database's limit of
 * parameters.
 */
import type { SqlClient, Statement } from "effect/sql"

/** A condition: the column has one of the ids. */
export const has = (sql: SqlClient.SqlClient, column: string, ids: ReadonlyArray<string>): Statement.Fragment => {
  const list = JSON.stringify(ids)
  return sql.onDialectOrElse({
    pg: () => sql`${sql.literal(column)} IN (SELECT json_array_elements_text(${list}::json))`,
    orElse: () => sql`${sql.literal(column)} IN (SELECT value FROM json_each(${list}))`
  })
}
