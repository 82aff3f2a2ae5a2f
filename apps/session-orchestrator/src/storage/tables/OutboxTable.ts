/** Reads and writes messages for receivers outside (`Outbox`). */
import { Rows, type TableError } from "@holdfast/journal/sql"
import { Ids } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import { type Claimed, KEPT_MS, type NewMessage } from "../Outbox.ts"
import * as Keyset from "./Keyset.ts"

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
export const add = (
  sql: SqlClient.SqlClient,
  messages: ReadonlyArray<NewMessage>
): Effect.Effect<void, SqlError.SqlError> =>
  insert(
    sql,
    messages.map(({ dueAt, id, lane, payload, receiver }) => ({ id, lane, receiver, payload, due_at: dueAt }))
  )

/** Adds messages about the ends of turns that are added in the same transaction. */
export const addOfTurns = (
  sql: SqlClient.SqlClient,
  messages: ReadonlyArray<OfTurn>
): Effect.Effect<void, SqlError.SqlError> =>
  insert(
    sql,
    messages.map(({ id, lane, receiver, turn }) => ({ id, lane, receiver, turn, due_at: NOT_YET }))
  )

/** Makes messages due whose turns have ended since a moment. Nothing is written if there are none. */
export const release = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  endedSince: number,
  now: number
): Effect.fn.Return<void, SqlError.SqlError> {
  const due = yield* sql<{ readonly number: number }>`${ofEnded(sql, endedSince)}`
  if (due.length === 0) return
  yield* sql`UPDATE outbox SET due_at = ${now} WHERE number IN (${Keyset.numbers(sql, due)})`
})

/** Reads the messages of turns that have ended since a moment, and that are not due yet: what tests ask the plan of. */
export const ofEnded = (sql: SqlClient.SqlClient, endedSince: number): Statement.Fragment =>
  // The statuses lead the index. SQLite joins in this order: it would read the messages of all open turns otherwise.
  sql`SELECT ${Rows.number(sql, "o.number")} AS "number" FROM turns t CROSS JOIN outbox o
    WHERE t.status IN ('completed', 'failed', 'aborted') AND t.ended_at >= ${endedSince}
      AND o.turn = t.number AND o.state = 'pending' AND o.due_at = ${NOT_YET}`

/** Claims due messages, the first of each lane, oldest first; none of the receivers in `except`. */
export const claim = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  now: number,
  until: number,
  limit: number,
  except: ReadonlyArray<string> = []
): Effect.fn.Return<ReadonlyArray<Claimed>, TableError> {
  const lock = sql.onDialectOrElse({ pg: () => sql.literal("FOR UPDATE SKIP LOCKED"), orElse: () => sql.literal("") })
  const others = except.length === 0 ? sql.literal("") : sql`AND NOT (${sql.in("o.receiver", except)})`
  const numbers = yield* sql<{ readonly number: number }>`
    UPDATE outbox SET claimed_until = ${until} WHERE number IN (
      SELECT o.number FROM outbox o
      WHERE o.state = 'pending' AND o.due_at <= ${now} AND o.claimed_until <= ${now} ${others} AND NOT EXISTS (
        SELECT 1 FROM outbox e WHERE e.state = 'pending' AND e.lane = o.lane AND e.number < o.number
      ) ORDER BY o.due_at, o.number LIMIT ${limit} ${lock}
    ) RETURNING ${Rows.number(sql, "number")} AS "number"`
  if (numbers.length === 0) return []
  const rows = yield* sql`
    SELECT ${Rows.number(sql, "o.number")} AS "number", o.id, o.receiver, o.payload, o.attempts, t.turn_id
    FROM outbox o LEFT JOIN turns t ON t.number = o.turn
    WHERE o.number IN (${Keyset.numbers(sql, numbers)}) ORDER BY o.number`
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

/** Gives up all pending messages of a lane but the newest `kept`. A message that is being sent may still arrive. */
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

const insert = (
  sql: SqlClient.SqlClient,
  messages: ReadonlyArray<Record<string, string | number>>
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(
    Rows.insertAll(
      sql,
      "outbox",
      messages.map((message) => ({ ...message, state: "pending", attempts: 0, claimed_until: 0 })),
      sql`ON CONFLICT (id) DO NOTHING`
    )
  )

const Row = Schema.Struct({
  number: Schema.Finite,
  id: Schema.String,
  receiver: Schema.String,
  payload: Schema.NullOr(Schema.String),
  attempts: Schema.Finite,
  turn_id: Schema.NullOr(Ids.TurnId)
})
const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))
