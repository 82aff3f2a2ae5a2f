/** Reads and writes messages for receivers outside (`Outbox`). */
import { RowNumbers } from "@holdfast/journal/sql"
import { Ids } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { type Claimed, KEPT_MS, type NewMessage } from "../Outbox.ts"

type Failure = SqlError.SqlError | Schema.SchemaError

/** The due time of a message whose turn has not ended: the end of the year 9999. */
export const NOT_YET = 253_402_300_799_999

/** A message about the end of a new turn, by the number of its row. */
export interface OfTurn {
  readonly turn: number
  readonly id: string
  readonly lane: string
  readonly receiver: string
}

/** Adds messages. Those with a known id are left out (Outbox.X1). */
export const add = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  messages: ReadonlyArray<NewMessage>
): Effect.fn.Return<void, SqlError.SqlError> {
  for (const { dueAt, id, lane, payload, receiver } of messages) {
    yield* sql`INSERT INTO outbox ${sql.insert({ ...NEW, id, lane, receiver, payload, due_at: dueAt })} ON CONFLICT (id) DO NOTHING`
  }
})

/** Adds messages about the ends of turns that are added in the same transaction. */
export const addOfTurns = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  messages: ReadonlyArray<OfTurn>
): Effect.fn.Return<void, SqlError.SqlError> {
  for (const { id, lane, receiver, turn } of messages) {
    yield* sql`INSERT INTO outbox ${sql.insert({ ...NEW, id, lane, receiver, turn, due_at: NOT_YET })} ON CONFLICT (id) DO NOTHING`
  }
})

/** Makes messages due whose turns have ended since a moment. Nothing is written if there are none. */
export const release = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  endedSince: number,
  now: number
): Effect.fn.Return<void, SqlError.SqlError> {
  // The statuses lead the index.
  const due = yield* sql<{ readonly number: number }>`
    SELECT ${RowNumbers.read(sql, "o.number")} AS "number" FROM turns t JOIN outbox o ON o.turn = t.number
    WHERE t.status IN ('completed', 'failed', 'aborted') AND t.ended_at >= ${endedSince}
      AND o.state = 'pending' AND o.due_at = ${NOT_YET}`
  for (const { number } of due) yield* sql`UPDATE outbox SET due_at = ${now} WHERE number = CAST(${number} AS BIGINT)`
})

/** Claims due messages, the first of each lane, oldest first. */
export const claim = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  now: number,
  until: number,
  limit: number
): Effect.fn.Return<ReadonlyArray<Claimed>, Failure> {
  const lock = sql.onDialectOrElse({ pg: () => sql.literal("FOR UPDATE SKIP LOCKED"), orElse: () => sql.literal("") })
  const numbers = yield* sql<{ readonly number: number }>`
    UPDATE outbox SET claimed_until = ${until} WHERE number IN (
      SELECT o.number FROM outbox o
      WHERE o.state = 'pending' AND o.due_at <= ${now} AND o.claimed_until <= ${now} AND NOT EXISTS (
        SELECT 1 FROM outbox e WHERE e.state = 'pending' AND e.lane = o.lane AND e.number < o.number
      ) ORDER BY o.due_at, o.number LIMIT ${limit} ${lock}
    ) RETURNING ${RowNumbers.read(sql, "number")} AS "number"`
  if (numbers.length === 0) return []
  const rows = yield* sql`
    SELECT ${RowNumbers.read(sql, "o.number")} AS "number", o.id, o.receiver, o.payload, o.attempts, t.turn_id
    FROM outbox o LEFT JOIN turns t ON t.number = o.turn
    WHERE ${sql.in(
      "o.number",
      numbers.map(({ number }) => number)
    )} ORDER BY o.number`
  return (yield* decodeRows(rows)).map(({ payload, turn_id, ...row }) => ({
    ...row,
    payload: payload ?? undefined,
    turnId: turn_id ?? undefined
  }))
})

/** Ends a message. */
export const settle = (
  sql: SqlClient.SqlClient,
  number: number,
  state: "delivered" | "refused",
  now: number
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(
    sql`UPDATE outbox SET state = ${state}, settled_at = ${now}, payload = NULL WHERE number = CAST(${number} AS BIGINT)`
  )

/** Sets the next attempt of a message, and releases its claim. */
export const postpone = (
  sql: SqlClient.SqlClient,
  number: number,
  attempts: number,
  dueAt: number
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(
    sql`UPDATE outbox SET attempts = ${attempts}, due_at = ${dueAt}, claimed_until = 0
      WHERE number = CAST(${number} AS BIGINT)`
  )

/** Gives up the oldest messages of a lane beyond the newest `kept`. One that is under way may still be delivered. */
export const drop = (sql: SqlClient.SqlClient, lane: string, kept: number): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(
    sql`UPDATE outbox SET state = 'refused', settled_at = due_at, payload = NULL
      WHERE state = 'pending' AND lane = ${lane} AND number <= (
        SELECT number FROM outbox WHERE state = 'pending' AND lane = ${lane} ORDER BY number DESC LIMIT 1 OFFSET CAST(${kept} AS BIGINT)
      )`
  )

/** Deletes messages that ended long ago. */
export const forget = (sql: SqlClient.SqlClient, now: number): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(sql`DELETE FROM outbox WHERE settled_at < ${now - KEPT_MS}`)

// --- internal

const NEW = { state: "pending", attempts: 0, claimed_until: 0 } as const

const Row = Schema.Struct({
  number: Schema.Finite,
  id: Schema.String,
  receiver: Schema.String,
  payload: Schema.NullOr(Schema.String),
  attempts: Schema.Finite,
  turn_id: Schema.NullOr(Ids.TurnId)
})
const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))
