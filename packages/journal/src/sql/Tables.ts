/** Names the tables of a journal in its database. */
import type { SqlError } from "effect/sql"
import type * as Schema from "effect/Schema"

/**
 * The tables' names. They need at least these columns, and may have more:
 *
 * - `turns`: `number` (its primary key, ascending in the order of insertion), `turn_id` (unique text)
 * - `journal`: `turn` (a number of `turns`), `seq`, `name`, `value`; the primary key is (turn, seq), which is the fence (`Journal.J2`); on a
 *   database that several processes write to, `writer` (text or null)
 * - `interruptions`: `turn` (its primary key), and the columns of `InterruptionTable.Row`
 */
export interface Tables {
  readonly turns: string
  readonly journal: string
  readonly interruptions: string
}

/** The errors of a statement: the database refused it, or a row does not hold what was written. */
export type TableError = SqlError.SqlError | Schema.SchemaError
