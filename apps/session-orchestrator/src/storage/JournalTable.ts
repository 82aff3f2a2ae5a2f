/** The rows of turns' journals. */
import { Ids, TurnEvent } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { padded } from "./GroupRead.ts"
import { insertAll } from "./Inserts.ts"
import type { Record } from "./Journal.ts"
import type { Unsealed } from "./Store.ts"

type Failure = SqlError.SqlError | Schema.SchemaError

/** Records of a turn, and the place of the first of them. */
export interface Append {
  readonly turnId: Ids.TurnId
  readonly seq: number
  readonly records: ReadonlyArray<Record>
}

/**
 * Writes records whose places are free, and says of each append whether its places hold it now. The same record again is there
 * already; another one in its place is a collision (J2), and nothing of that append is written. So is the same one by another
 * writer: both are about to do what it says.
 *
 * @param writer this process, where others write to the same database
 */
export const append =
  (sql: SqlClient.SqlClient, writer?: string) =>
  (appends: ReadonlyArray<Append>): Effect.Effect<ReadonlyArray<boolean>, Failure> =>
    Effect.gen(function* () {
      const wanted = appends.map((append) => rowsOf(append, writer))
      const taken = new Map((yield* findTaken(sql, wanted.flat(), writer)).map((row) => [placeOf(row), row]))
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

/** The records of each of some turns, oldest first. */
export const load =
  (sql: SqlClient.SqlClient) =>
  (ids: ReadonlyArray<Ids.TurnId>): Effect.Effect<ReadonlyArray<ReadonlyArray<Record>>, Failure> =>
    Effect.map(
      // The columns are text and NOT NULL, so there is nothing to decode.
      sql<{ readonly turn_id: Ids.TurnId; readonly name: string; readonly value: string }>`
        SELECT turn_id, name, value FROM journal WHERE ${sql.in("turn_id", padded(ids))} ORDER BY turn_id, seq`,
      (rows) => {
        const journals = new Map<Ids.TurnId, Array<Record>>(ids.map((id) => [id, []]))
        for (const { name, turn_id, value } of rows) journals.get(turn_id)?.push({ name, value })
        return ids.map((id) => journals.get(id) ?? [])
      }
    )

/** The next turns after an id that have records and an end, with the moment of that end; at most `limit`. */
export const sealed = (
  sql: SqlClient.SqlClient,
  after: Ids.TurnId | undefined,
  limit: number
): Effect.Effect<ReadonlyArray<{ readonly turnId: Ids.TurnId; readonly endedAt: number }>, Failure> =>
  Effect.flatMap(
    sql`
      SELECT t.turn_id, e.payload FROM journal j
      JOIN turns t ON t.turn_id = j.turn_id
      JOIN events e ON e.conversation_id = t.conversation_id AND e.event_id = t.end_event_id
      WHERE j.seq = 0 AND j.turn_id > ${after ?? ""} ORDER BY j.turn_id LIMIT ${limit}`,
    (rows) =>
      Effect.map(decodeEnds(rows), (rows) =>
        rows.map(({ payload, turn_id }) => ({ turnId: turn_id, endedAt: payload.endedAt }))
      )
  )

/** Deletes the records of turns. */
export const forget =
  (sql: SqlClient.SqlClient) =>
  (turns: ReadonlyArray<ReadonlyArray<Ids.TurnId>>): Effect.Effect<ReadonlyArray<void>, Failure> =>
    Effect.forEach(turns, (ids) => Effect.asVoid(sql`DELETE FROM journal WHERE ${sql.in("turn_id", ids)}`))

/**
 * The turns that are not sealed, of all conversations or of one, oldest first, each with its newest record.
 *
 * A start waits for this, with ten thousand rows and more. All columns are text that was written from these types.
 */
export const unsealed = (
  sql: SqlClient.SqlClient,
  of?: Ids.ConversationId
): Effect.Effect<ReadonlyArray<Unsealed>, Failure> =>
  Effect.map(
    sql<UnsealedRow>`
      SELECT t.turn_id, t.conversation_id, c.model, j.name, j.value FROM turns t
      JOIN conversations c ON c.conversation_id = t.conversation_id
      LEFT JOIN journal j ON j.turn_id = t.turn_id AND j.seq = (SELECT max(seq) FROM journal WHERE turn_id = t.turn_id)
      WHERE t.end_event_id IS NULL ${of === undefined ? sql`` : sql`AND t.conversation_id = ${of}`} ORDER BY t.seq`,
    (rows) =>
      rows.map(({ conversation_id, model, name, turn_id, value }) => ({
        turnId: turn_id,
        conversationId: conversation_id,
        model,
        tail: name === null || value === null ? undefined : { name, value }
      }))
  )

// --- internal

interface UnsealedRow {
  readonly turn_id: Ids.TurnId
  readonly conversation_id: Ids.ConversationId
  readonly model: string
  readonly name: string | null
  readonly value: string | null
}

const EndRow = Schema.Struct({ turn_id: Ids.TurnId, payload: Schema.fromJsonString(TurnEvent.TurnEnd) })
const decodeEnds = Schema.decodeUnknownEffect(Schema.Array(EndRow))

const Row = Schema.Struct({
  turn_id: Ids.TurnId,
  seq: Schema.Int,
  name: Schema.String,
  value: Schema.String,
  /** A column on PostgreSQL alone; null in rows from before there was one. */
  writer: Schema.optionalKey(Schema.NullOr(Schema.String))
})
type Row = typeof Row.Type
const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))

const rowsOf = ({ turnId, seq, records }: Append, writer: string | undefined): ReadonlyArray<Row> =>
  records.map(({ name, value }, i) => ({
    turn_id: turnId,
    seq: seq + i,
    name,
    value,
    ...(writer === undefined ? undefined : { writer })
  }))

const placeOf = ({ seq, turn_id }: Row): string => `${seq} ${turn_id}`

const isSame = (a: Row, b: Row): boolean => a.name === b.name && a.value === b.value && a.writer === b.writer

/** The rows of a group whose places are taken already. */
const findTaken = (sql: SqlClient.SqlClient, rows: ReadonlyArray<Row>, writer: string | undefined) => {
  // PostgreSQL takes a parameter in VALUES for text unless told otherwise.
  const places = padded(rows).map(({ turn_id, seq }) => sql`(${turn_id}, CAST(${seq} AS INTEGER))`)
  const columns = writer === undefined ? sql`turn_id, seq, name, value` : sql`turn_id, seq, name, value, writer`
  // Row values instead of one OR a place: SQLite limits the depth of an expression to 1,000.
  return Effect.flatMap(
    sql`SELECT ${columns} FROM journal WHERE (turn_id, seq) IN (VALUES ${sql.csv(places)})`,
    (rows) => decodeRows(rows)
  )
}
