/** Reads and writes the rows of turns' journals. */
import type { Records } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { SqlClient, SqlError } from "effect/sql"
import type { Append } from "../Journal.ts"
import * as Rows from "./Rows.ts"

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

/** Creates the tables of records and interruptions, beside that of turns. */
export const create = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { interruptions, journal, turns }: Tables
): Effect.fn.Return<void, SqlError.SqlError> {
  const isServer = Rows.isServer(sql)
  const number = sql.literal(isServer ? "BIGINT" : "INTEGER")
  // Several processes write to a server, so its records name their writer.
  yield* sql`CREATE TABLE ${sql.literal(journal)} (
    turn ${number} NOT NULL REFERENCES ${sql.literal(turns)} (number),
    seq INTEGER NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    ${sql.literal(isServer ? "writer TEXT," : "")}
    PRIMARY KEY (turn, seq)
  )`
  yield* sql`CREATE TABLE ${sql.literal(interruptions)} (
    turn ${number} PRIMARY KEY NOT NULL REFERENCES ${sql.literal(turns)} (number),
    life TEXT NOT NULL,
    seen INTEGER NOT NULL,
    deaths INTEGER NOT NULL,
    is_alone INTEGER NOT NULL,
    is_orderly INTEGER NOT NULL,
    defects INTEGER NOT NULL
  )`
})

/** The errors of a statement: the database refused it, or a row does not hold what was written. */
export type TableError = SqlError.SqlError | Schema.SchemaError

/** The end of a turn's journal. */
export interface End {
  readonly turnId: Ids.TurnId
  /** Of its row. */
  readonly number: number
  /** Of its last record; null before the first. */
  readonly lastSeq: number | null
}

/**
 * The ends of the journals of turns. The subquery is one step into an index, whatever the length of a journal.
 *
 * @param more further columns of a turn `t` from the host's tables, and the lock at the end of the statement
 */
export const ends = <More extends object = object>(
  sql: SqlClient.SqlClient,
  tables: Tables,
  appends: ReadonlyArray<Pick<Append, "turnId">>,
  { columns = sql.literal(""), lock = sql.literal("") } = {}
): Effect.Effect<ReadonlyMap<Ids.TurnId, End & More>, SqlError.SqlError> =>
  Effect.map(
    // Keys and numbers, so there is nothing to decode.
    sql<End & More>`
      SELECT t.turn_id AS "turnId", ${Rows.number(sql, "t.number")} AS "number",
        (SELECT max(j.seq) FROM ${sql.literal(tables.journal)} j WHERE j.turn = t.number) AS "lastSeq" ${columns}
      FROM ${sql.literal(tables.turns)} t WHERE ${Rows.have(sql, "t.turn_id", [...new Set(appends.map(({ turnId }) => turnId))])} ${lock}`,
    (rows) => new Map(rows.map((row) => [row.turnId, row]))
  )

/**
 * Writes records whose numbers are free, and returns for each append whether the table holds it now. A record that is repeated is there
 * already. A different record under its number is a collision (`Journal.J2`), and nothing of that append is written. The same record by
 * another writer is a collision too: both writers are about to act on it. An append without records collides with any record that the turn has
 * behind its number.
 *
 * @param ends of the turns' journals now
 * @param writer names this process, where other processes write to the same database
 */
export const append =
  (sql: SqlClient.SqlClient, tables: Tables, writer?: string) =>
  (
    appends: ReadonlyArray<Append>,
    ends: ReadonlyMap<Ids.TurnId, End>
  ): Effect.Effect<ReadonlyArray<boolean>, TableError> =>
    Effect.gen(function* () {
      const lasts = new Map(Array.from(ends, ([id, { lastSeq }]) => [id, lastSeq ?? -1]))
      const lastOf = (turnId: Ids.TurnId): number => lasts.get(turnId) ?? -1
      const numberOf = (turnId: Ids.TurnId): number | null => ends.get(turnId)?.number ?? null
      // They are few: a turn writes each record once.
      const repeated = appends.filter(({ records, seq, turnId }) => records.length > 0 && seq <= lastOf(turnId))
      const stored = yield* Effect.forEach(
        repeated,
        ({ records, seq, turnId }) => sql<Row>`SELECT * FROM ${sql.literal(tables.journal)}
          WHERE turn = ${numberOf(turnId)} AND seq >= ${seq} AND seq < ${seq + records.length}`
      )
      const taken = new Map(stored.flat().map((row) => [keyOf(row), row]))
      const by = writer === undefined ? undefined : { writer }
      const added: Array<Row> = []
      const holds = appends.map(({ records, seq, turnId }) => {
        const last = lastOf(turnId)
        if (records.length === 0) return seq > last
        const turn = numberOf(turnId)
        const rows = records.map(({ name, value }, i): Row => ({ turn, seq: seq + i, name, value, ...by }))
        if (!rows.every((row) => row.seq > last || isSame(taken.get(keyOf(row)), row))) return false
        for (const row of rows.filter(({ seq }) => seq > last)) {
          taken.set(keyOf(row), row)
          added.push(row)
        }
        lasts.set(turnId, Math.max(last, seq + records.length - 1))
        return true
      })
      yield* Rows.insertAll(sql, tables.journal, added)
      return holds
    })

/** The records of turns, oldest first; `where` leaves some out. */
export const load = (
  sql: SqlClient.SqlClient,
  tables: Tables,
  ids: ReadonlyArray<Ids.TurnId>,
  where = sql.literal("")
): Effect.Effect<ReadonlyMap<Ids.TurnId, ReadonlyArray<Records.Stored>>, TableError> =>
  Effect.map(
    // The columns are text and NOT NULL, so there is nothing to decode.
    sql<Records.Stored & { readonly turn_id: Ids.TurnId }>`
      SELECT t.turn_id, j.name, j.value FROM ${sql.literal(tables.turns)} t JOIN ${sql.literal(tables.journal)} j ON j.turn = t.number
      WHERE ${Rows.have(sql, "t.turn_id", ids)} ${where} ORDER BY j.turn, j.seq`,
    (rows) => {
      const found = Map.groupBy(rows, ({ turn_id }) => turn_id)
      return new Map(Array.from(found, ([id, own]) => [id, own.map(({ name, value }) => ({ name, value }))]))
    }
  )

/** A turn that has records and a seal. */
export interface SealedTurn {
  readonly turnId: Ids.TurnId
  /** Epoch milliseconds. */
  readonly endedAt: number
}

/**
 * Deletes the records and interruptions of those turns of a page that were sealed before a moment, as `Journal.forget` does.
 *
 * @param page the next turns that have records and a seal, at most `FORGOTTEN_AT_ONCE`, in the order of their rows
 */
export const forget = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tables: Tables,
  page: ReadonlyArray<SealedTurn>,
  sealedBefore: number
): Effect.fn.Return<{ readonly forgotten: number; readonly next: Ids.TurnId | undefined }, SqlError.SqlError> {
  const old = page.filter(({ endedAt }) => endedAt < sealedBefore).map(({ turnId }) => turnId)
  const turns = sql`SELECT t.number FROM ${sql.literal(tables.turns)} t WHERE ${Rows.have(sql, "t.turn_id", old)}`
  for (const table of old.length === 0 ? [] : [tables.journal, tables.interruptions])
    yield* sql`DELETE FROM ${sql.literal(table)} WHERE turn IN (${turns})`
  return { forgotten: old.length, next: page.at(-1)?.turnId }
})

/** Turns whose journals are deleted in one commit: some hundred rows, some milliseconds of the thread. */
export const FORGOTTEN_AT_ONCE = 32

// --- internal

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

const keyOf = ({ seq, turn }: Row): string => `${seq} ${turn}`

const isSame = (a: Row | undefined, b: Row): boolean =>
  a?.name === b.name && a.value === b.value && a.writer === b.writer
