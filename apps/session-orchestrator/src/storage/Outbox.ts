/**
 * Stores messages for receivers outside, which are delivered at least once, over restarts and by any runner (X12, X15).
 *
 * Outbox.X1. A message with a known id is not added again, also after it was delivered, for `KEPT_MS`.
 * Outbox.X2. The messages of a lane are claimed one after another, in the order in which they were added.
 * Outbox.X3. A claim lasts for a time. A message whose process dies in the meantime can be claimed again, under the same id.
 * Outbox.X4. A message about a turn's end is added with its turn, and is due once the turn has ended.
 */
import type { StorageError } from "@holdfast/journal"
import { Ids } from "@holdfast/wire"
import { Context, Effect, Schema } from "effect"
import { Rows, type SqlDatabase, type TableError } from "@holdfast/journal/sql"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import * as Keyset from "./tables/Keyset.ts"

/** How long a message's id is known after its end. */
export const KEPT_MS = 7 * 86_400_000

/** A message to add. */
export interface NewMessage {
  /** The same message again has the same id. */
  readonly id: string
  readonly lane: string
  /** Where it goes, in the words of its sender. */
  readonly receiver: string
  readonly payload: string
  /** Epoch milliseconds. */
  readonly dueAt: number
}

/** A message that this process delivers. */
export interface Claimed {
  readonly number: number
  readonly id: string
  readonly receiver: string
  /** Absent on a message about a turn's end. */
  readonly payload: string | undefined
  readonly turnId: Ids.TurnId | undefined
  /** Attempts that have failed. */
  readonly attempts: number
}

/** Messages of one database. */
export class Outbox extends Context.Service<
  Outbox,
  {
    /** Adds messages whose ids are not known (Outbox.X1). */
    readonly add: (messages: ReadonlyArray<NewMessage>) => Effect.Effect<void, StorageError>
    /** Makes messages due whose turns have ended since a moment (Outbox.X4). */
    readonly release: (endedSince: number, now: number) => Effect.Effect<void, StorageError>
    /** Claims messages that are due, at most `limit`, and none of the receivers in `except` (Outbox.X2, Outbox.X3). */
    readonly claim: (
      now: number,
      until: number,
      limit: number,
      except?: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<Claimed>, StorageError>
    /** A message was delivered, or was given up. */
    readonly settle: (message: number, state: "delivered" | "refused", now: number) => Effect.Effect<void, StorageError>
    /** An attempt has failed; the next one is due later. */
    readonly postpone: (message: number, attempts: number, dueAt: number) => Effect.Effect<void, StorageError>
    /** Deletes messages that ended more than `KEPT_MS` ago. */
    readonly forget: (now: number) => Effect.Effect<void, StorageError>
  }
>()("@holdfast/session-orchestrator/storage/Outbox") {}

/** The messages in a database. */
export const make = ({ failed, lane, sql }: SqlDatabase.SqlDatabase): Outbox["Service"] => {
  /** One effect each, within the transaction that their group has. */
  const write = lane((writes: ReadonlyArray<Effect.Effect<void, SqlError.SqlError>>) => Effect.all(writes))
  const claims = lane((queries: ReadonlyArray<Parameters<Outbox["Service"]["claim"]>>) =>
    Effect.forEach(queries, (query) => claim(sql, ...query))
  )
  return {
    add: (messages) => write(add(sql, messages)).pipe(failed("add messages to the outbox")),
    release: (since, now) => write(release(sql, since, now)).pipe(failed("release messages of ended turns")),
    claim: (...query) => claims(query).pipe(failed("claim messages of the outbox")),
    settle: (...change) => write(settle(sql, ...change)).pipe(failed("end a message of the outbox")),
    postpone: (...change) => write(postpone(sql, ...change)).pipe(failed("postpone a message of the outbox")),
    forget: (now) => write(forget(sql, now)).pipe(failed("delete old messages of the outbox"))
  }
}

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
const release = Effect.fnUntraced(function* (
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
const claim = Effect.fnUntraced(function* (
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
const settle = (
  sql: SqlClient.SqlClient,
  number: number,
  state: "delivered" | "refused",
  now: number
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(
    sql`UPDATE outbox SET state = ${state}, settled_at = ${now}, payload = NULL WHERE number = CAST(${number} AS BIGINT)`
  )

/** Sets the next attempt of a message, and releases its claim. */
const postpone = (
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
const forget = (sql: SqlClient.SqlClient, now: number): Effect.Effect<void, SqlError.SqlError> =>
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
