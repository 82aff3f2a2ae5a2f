/** The rows of turns' journals. */
import type { Records } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Effect, type Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import * as IdList from "./IdList.ts"
import { insertAll } from "./Inserts.ts"
import * as InterruptionTable from "./InterruptionTable.ts"
import * as RowNumbers from "./RowNumbers.ts"
import type { Unsealed } from "../Store.ts"
import * as TurnTable from "./TurnTable.ts"

type Failure = SqlError.SqlError | Schema.SchemaError

/** Records of a turn, and the number of the first of them. */
export interface Append {
  readonly turnId: Ids.TurnId
  /** The number of the first record in its turn, 0-based. */
  readonly seq: number
  readonly records: ReadonlyArray<Records.Stored>
}

/**
 * Writes records whose numbers are free, and returns for each append whether the table holds it now. A record that is repeated is there
 * already. A different record under its number is a collision (`Journal.J2`), and nothing of that append is written. The same record by
 * another writer is a collision too: both writers are about to act on it.
 *
 * @param writer names this process, where other processes write to the same database
 */
export const append =
  (sql: SqlClient.SqlClient, writer?: string) =>
  (appends: ReadonlyArray<Append>): Effect.Effect<ReadonlyArray<boolean>, Failure> =>
    Effect.gen(function* () {
      const ends = yield* findEnds(sql, appends)
      const wanted = appends.map((append) => rowsOf(append, ends, writer))
      const lastSeqs = new Map([...ends.values()].map(({ lastSeq, number }) => [number, lastSeq ?? -1]))
      const repeated = wanted.flat().filter(({ seq, turn }) => turn !== null && seq <= (lastSeqs.get(turn) ?? -1))
      const taken = new Map((yield* findTaken(sql, repeated, writer)).map((row) => [placeOf(row), row]))
      const added: Array<Row> = []
      const holds = wanted.map((rows) => {
        const isFree = (row: Row) => isSame(taken.get(placeOf(row)) ?? row, row)
        if (!rows.every(isFree)) return false
        for (const row of rows) {
          if (taken.has(placeOf(row))) continue
          taken.set(placeOf(row), row)
          added.push(row)
        }
        return true
      })
      yield* insertAll(sql, "journal", added)
      return holds
    })

/** The records of each turn, oldest first, in the order of the ids. */
export const load =
  (sql: SqlClient.SqlClient) =>
  (ids: ReadonlyArray<Ids.TurnId>): Effect.Effect<ReadonlyArray<ReadonlyArray<Records.Stored>>, Failure> =>
    Effect.map(
      // The columns are text and NOT NULL, so there is nothing to decode.
      sql<{ readonly turn_id: Ids.TurnId; readonly name: string; readonly value: string }>`
        SELECT t.turn_id, j.name, j.value FROM turns t JOIN journal j ON j.turn = t.number
        WHERE ${IdList.has(sql, "t.turn_id", ids)} ORDER BY j.turn, j.seq`,
      (rows) => {
        const journals = new Map<Ids.TurnId, Array<Records.Stored>>(ids.map((id) => [id, []]))
        for (const { name, turn_id, value } of rows) journals.get(turn_id)?.push({ name, value })
        return ids.map((id) => journals.get(id) ?? [])
      }
    )

/** The next turns after an id that have records and an end, with that end in epoch milliseconds; at most `limit`. */
export const sealed = (
  sql: SqlClient.SqlClient,
  after: Ids.TurnId | undefined,
  limit: number
): Effect.Effect<ReadonlyArray<{ readonly turnId: Ids.TurnId; readonly endedAt: number }>, Failure> =>
  Effect.flatMap(
    sql<SealedRow>`
      SELECT t.turn_id AS "turnId", c.conversation_id AS "conversationId", e.payload FROM journal j
      JOIN turns t ON t.number = j.turn
      JOIN conversations c ON c.number = t.conversation
      JOIN events e ON e.conversation = t.conversation AND e.event_id = t.end_event_id
      WHERE j.seq = 0 AND j.turn > COALESCE((SELECT number FROM turns WHERE turn_id = ${after ?? ""}), 0)
      ORDER BY j.turn LIMIT ${limit}`,
    Effect.forEach((row) =>
      Effect.map(TurnTable.endOf(row.payload, row), ({ endedAt }) => ({ turnId: row.turnId, endedAt }))
    )
  )

/** Deletes the records of turns, and their interruptions. */
export const forget =
  (sql: SqlClient.SqlClient) =>
  (turns: ReadonlyArray<ReadonlyArray<Ids.TurnId>>): Effect.Effect<ReadonlyArray<void>, Failure> =>
    Effect.forEach(turns, (ids) =>
      Effect.andThen(
        sql`DELETE FROM journal WHERE turn IN (SELECT t.number FROM turns t WHERE ${IdList.has(sql, "t.turn_id", ids)})`,
        InterruptionTable.forget(sql, ids)
      )
    )

/**
 * The turns without a seal, of all conversations or of one, oldest first, each with its newest record.
 *
 * A start waits for this query, with ten thousand rows and more. All columns are text that was written from these types.
 */
export const unsealed = (
  sql: SqlClient.SqlClient,
  of?: Ids.ConversationId
): Effect.Effect<ReadonlyArray<Unsealed>, Failure> =>
  Effect.map(
    sql<UnsealedRow>`
      SELECT t.turn_id, c.conversation_id, c.model, j.seq, j.name, j.value, ${sql.literal(InterruptionTable.COLUMNS)}
      FROM turns t
      JOIN conversations c ON c.number = t.conversation
      LEFT JOIN interruptions i ON i.turn = t.number
      LEFT JOIN journal j ON j.turn = t.number AND j.seq = (SELECT max(seq) FROM journal WHERE turn = t.number)
      WHERE t.end_event_id IS NULL ${of === undefined ? sql`` : sql`AND c.conversation_id = ${of}`} ORDER BY t.number`,
    (rows) =>
      rows.map(({ conversation_id, model, name, seq, turn_id, value, ...row }) => ({
        turnId: turn_id,
        conversationId: conversation_id,
        model,
        tail: name === null || value === null ? undefined : { name, value },
        records: (seq ?? -1) + 1,
        interruption: isPresent(row) ? InterruptionTable.read(row) : undefined
      }))
  )

// --- internal

interface UnsealedRow extends Nullable<InterruptionTable.Row> {
  readonly turn_id: Ids.TurnId
  readonly conversation_id: Ids.ConversationId
  readonly model: string
  readonly seq: number | null
  readonly name: string | null
  readonly value: string | null
}

/** The columns of a row that may be missing. */
type Nullable<Row> = { readonly [Column in keyof Row]: Row[Column] | null }

const isPresent = (row: Nullable<InterruptionTable.Row>): row is InterruptionTable.Row => row.life !== null

interface SealedRow {
  readonly turnId: Ids.TurnId
  readonly conversationId: Ids.ConversationId
  readonly payload: string
}

/** The last record numbers of turns. The subquery is one step into an index, whatever the length of a journal. */
const findEnds = (sql: SqlClient.SqlClient, appends: ReadonlyArray<Append>) =>
  Effect.map(
    // Keys and numbers, so there is nothing to decode.
    sql<End>`
      SELECT t.turn_id AS "turnId", ${RowNumbers.read(sql, "t.number")} AS "number",
        (SELECT max(j.seq) FROM journal j WHERE j.turn = t.number) AS "lastSeq"
      FROM turns t WHERE ${IdList.has(
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
  /** A column on PostgreSQL only; null in rows older than the column. */
  readonly writer?: string | null
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

const placeOf = ({ seq, turn }: Row): string => `${seq} ${turn}`

const isSame = (a: Row, b: Row): boolean => a.name === b.name && a.value === b.value && a.writer === b.writer

/** The stored rows under numbers that may be taken. They are few: a turn writes each record once. */
const findTaken = (
  sql: SqlClient.SqlClient,
  rows: ReadonlyArray<Row>,
  writer: string | undefined
): Effect.Effect<ReadonlyArray<Row>, Failure> => {
  const columns = sql.literal(writer === undefined ? "seq, name, value" : "seq, name, value, writer")
  const found = Effect.forEach(
    rows,
    ({ seq, turn }) => sql<Row>`
      SELECT ${RowNumbers.read(sql, "turn")} AS turn, ${columns} FROM journal WHERE turn = ${turn} AND seq = ${seq}`
  )
  return Effect.map(found, (found) => found.flat())
}
