/** The rows of turns' journals. */
import type { Ids } from "@holdfast/wire"
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

// --- internal

const Row = Schema.Struct({ turn_id: Schema.String, seq: Schema.Int, name: Schema.String, value: Schema.String })
const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))

const rowOf = ({ turnId, seq, name, value }: Append): typeof Row.Type => ({ turn_id: turnId, seq, name, value })

const placeOf = (turnId: string, seq: number): string => `${seq} ${turnId}`

/** The places of a group that are taken already. */
const findTaken = (sql: SqlClient.SqlClient, appends: ReadonlyArray<Append>) => {
  const places = appends.map(({ turnId, seq }) => sql`(${turnId}, ${seq})`)
  // Row values instead of one OR a place: SQLite limits the depth of an expression to 1,000.
  return Effect.flatMap(
    sql`SELECT turn_id, seq, name, value FROM journal WHERE (turn_id, seq) IN (VALUES ${sql.csv(places)})`,
    (rows) => decodeRows(rows)
  )
}
