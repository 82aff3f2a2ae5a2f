/** The rows of turns' journals. */
import { Ids, TurnEvent } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { insertAll } from "./Inserts.ts"
import type { Record } from "./Journal.ts"

type Failure = SqlError.SqlError | Schema.SchemaError

/** One record and its place. */
export interface Append extends Record {
  readonly turnId: Ids.TurnId
  readonly seq: number
}

/**
 * Writes records whose places are free, and says of each whether its place holds it now. The same record again is there
 * already; another one in its place is a collision (J2).
 */
export const append =
  (sql: SqlClient.SqlClient) =>
  (appends: ReadonlyArray<Append>): Effect.Effect<ReadonlyArray<boolean>, Failure> =>
    Effect.gen(function* () {
      const taken = new Map((yield* findTaken(sql, appends)).map((row) => [placeOf(row.turn_id, row.seq), row]))
      const added: Array<Append> = []
      const holds = appends.map((append) => {
        const place = placeOf(append.turnId, append.seq)
        const row = taken.get(place)
        if (row !== undefined) return row.name === append.name && row.value === append.value
        taken.set(place, rowOf(append))
        added.push(append)
        return true
      })
      yield* insertAll(sql, "journal", added.map(rowOf))
      return holds
    })

/** The records of a turn, oldest first. */
export const load = (sql: SqlClient.SqlClient, id: Ids.TurnId): Effect.Effect<ReadonlyArray<Record>, Failure> =>
  Effect.flatMap(sql`SELECT turn_id, seq, name, value FROM journal WHERE turn_id = ${id} ORDER BY seq`, (rows) =>
    Effect.map(decodeRows(rows), (rows) => rows.map(({ name, value }) => ({ name, value })))
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

/** The newest record of every turn that is not sealed. */
export const tails = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyMap<Ids.TurnId, Record>, Failure> =>
  sql`
    SELECT j.turn_id, j.seq, j.name, j.value FROM turns t
    JOIN journal j ON j.turn_id = t.turn_id AND j.seq = (SELECT max(seq) FROM journal WHERE turn_id = t.turn_id)
    WHERE t.end_event_id IS NULL`.pipe(
    Effect.flatMap((rows) => decodeRows(rows)),
    Effect.map((rows) => new Map(rows.map(({ turn_id, name, value }) => [turn_id, { name, value }])))
  )

// --- internal

const EndRow = Schema.Struct({ turn_id: Ids.TurnId, payload: Schema.fromJsonString(TurnEvent.TurnEnd) })
const decodeEnds = Schema.decodeUnknownEffect(Schema.Array(EndRow))

const Row = Schema.Struct({ turn_id: Ids.TurnId, seq: Schema.Int, name: Schema.String, value: Schema.String })
const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))

const rowOf = ({ turnId, seq, name, value }: Append): typeof Row.Type => ({ turn_id: turnId, seq, name, value })

const placeOf = (turnId: string, seq: number): string => `${seq} ${turnId}`

/** The places of a group that are taken already. */
const findTaken = (sql: SqlClient.SqlClient, appends: ReadonlyArray<Append>) => {
  // PostgreSQL takes a parameter in VALUES for text unless told otherwise.
  const places = appends.map(({ turnId, seq }) => sql`(${turnId}, CAST(${seq} AS INTEGER))`)
  // Row values instead of one OR a place: SQLite limits the depth of an expression to 1,000.
  return Effect.flatMap(
    sql`SELECT turn_id, seq, name, value FROM journal WHERE (turn_id, seq) IN (VALUES ${sql.csv(places)})`,
    (rows) => decodeRows(rows)
  )
}
