/** Reads and writes the rows of turns' journals. */
import type { Records } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { SqlClient, SqlError } from "effect/sql"
import type { Append } from "../Journal.ts"
import * as Rows from "./Rows.ts"
import * as InterruptionTable from "./InterruptionTable.ts"

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

/**
 * Writes records whose numbers are free, and returns for each append whether the table holds it now. A record that is repeated is there
 * already. A different record under its number is a collision (`Journal.J2`), and nothing of that append is written. The same record by
 * another writer is a collision too: both writers are about to act on it.
 *
 * @param writer names this process, where other processes write to the same database
 */
export const append =
  (sql: SqlClient.SqlClient, tables: Tables, writer?: string) =>
  (appends: ReadonlyArray<Append>): Effect.Effect<ReadonlyArray<boolean>, TableError> =>
    Effect.gen(function* () {
      const ends = yield* findEnds(sql, tables, appends)
      const wanted = appends.map((append) => rowsOf(append, ends, writer))
      const repeated = appends.flatMap(({ turnId }, i) => {
        const { lastSeq = null } = ends.get(turnId) ?? {}
        return lastSeq === null ? [] : (wanted[i] ?? []).filter(({ seq }) => seq <= lastSeq)
      })
      if (repeated.length === 0 && ends.size === appends.length) {
        // Each append is of another turn, and behind its last record: almost all groups.
        yield* Rows.insertAll(sql, tables.journal, wanted.flat())
        return appends.map(() => true)
      }
      const taken = new Map((yield* findTaken(sql, tables, repeated, writer)).map((row) => [keyOf(row), row]))
      const added: Array<Row> = []
      const holds = wanted.map((rows) => {
        const isFree = (row: Row) => isSame(taken.get(keyOf(row)) ?? row, row)
        if (!rows.every(isFree)) return false
        for (const row of rows) {
          if (taken.has(keyOf(row))) continue
          taken.set(keyOf(row), row)
          added.push(row)
        }
        return true
      })
      yield* Rows.insertAll(sql, tables.journal, added)
      return holds
    })

/** The records of each turn, oldest first, in the order of the ids. */
export const load =
  (sql: SqlClient.SqlClient, tables: Tables) =>
  (ids: ReadonlyArray<Ids.TurnId>): Effect.Effect<ReadonlyArray<ReadonlyArray<Records.Stored>>, TableError> =>
    Effect.map(
      // The columns are text and NOT NULL, so there is nothing to decode.
      sql<{ readonly turn_id: Ids.TurnId; readonly name: string; readonly value: string }>`
        SELECT t.turn_id, j.name, j.value FROM ${sql.literal(tables.turns)} t JOIN ${sql.literal(tables.journal)} j ON j.turn = t.number
        WHERE ${Rows.have(sql, "t.turn_id", ids)} ORDER BY j.turn, j.seq`,
      (rows) => {
        const journals = new Map<Ids.TurnId, Array<Records.Stored>>(ids.map((id) => [id, []]))
        for (const { name, turn_id, value } of rows) journals.get(turn_id)?.push({ name, value })
        return ids.map((id) => journals.get(id) ?? [])
      }
    )

/** Deletes the records of turns, and their interruptions. */
export const forget =
  (sql: SqlClient.SqlClient, tables: Tables) =>
  (turns: ReadonlyArray<ReadonlyArray<Ids.TurnId>>): Effect.Effect<ReadonlyArray<void>, TableError> =>
    Effect.forEach(turns, (ids) =>
      Effect.andThen(
        sql`DELETE FROM ${sql.literal(tables.journal)} WHERE turn IN (
          SELECT t.number FROM ${sql.literal(tables.turns)} t WHERE ${Rows.have(sql, "t.turn_id", ids)})`,
        InterruptionTable.forget(sql, tables, ids)
      )
    )

// --- internal

/** The last record numbers of turns. The subquery is one step into an index, whatever the length of a journal. */
const findEnds = (sql: SqlClient.SqlClient, tables: Tables, appends: ReadonlyArray<Append>) =>
  Effect.map(
    // Keys and numbers, so there is nothing to decode.
    sql<End>`
      SELECT t.turn_id AS "turnId", ${Rows.number(sql, "t.number")} AS "number",
        (SELECT max(j.seq) FROM ${sql.literal(tables.journal)} j WHERE j.turn = t.number) AS "lastSeq"
      FROM ${sql.literal(tables.turns)} t WHERE ${Rows.have(
        sql,
        "t.turn_id",
        appends.map(({ turnId }) => turnId)
      )}`,
    (rows) => new Map(rows.map((row) => [row.turnId, row]))
  )

interface End {
  readonly turnId: Ids.TurnId
  readonly number: number
  readonly lastSeq: number | null
}

/** A type and no interface, so that it is a record of its columns. */
type Row = {
  /** The number of its turn's row; null without such a row, which the table refuses. */
  readonly turn: number | null
  readonly seq: number
  readonly name: string
  readonly value: string
  /** A column on PostgreSQL only. */
  readonly writer?: string
}

const rowsOf = (
  { turnId, seq, records }: Append,
  ends: ReadonlyMap<Ids.TurnId, End>,
  writer: string | undefined
): ReadonlyArray<Row> => {
  const turn = ends.get(turnId)?.number ?? null
  const by = writer === undefined ? undefined : { writer }
  return records.map(({ name, value }, i) => ({ turn, seq: seq + i, name, value, ...by }))
}

const keyOf = ({ seq, turn }: Row): string => `${seq} ${turn}`

const isSame = (a: Row, b: Row): boolean => a.name === b.name && a.value === b.value && a.writer === b.writer

/** The stored rows under numbers that may be taken. They are few: a turn writes each record once. */
const findTaken = (
  sql: SqlClient.SqlClient,
  tables: Tables,
  rows: ReadonlyArray<Row>,
  writer: string | undefined
): Effect.Effect<ReadonlyArray<Row>, TableError> => {
  const columns = sql.literal(writer === undefined ? "seq, name, value" : "seq, name, value, writer")
  const found = Effect.forEach(
    rows,
    ({ seq, turn }) => sql<Row>`
      SELECT ${Rows.number(sql, "turn")} AS turn, ${columns} FROM ${sql.literal(tables.journal)} WHERE turn = ${turn} AND seq = ${seq}`
  )
  return Effect.map(found, (found) => found.flat())
}
