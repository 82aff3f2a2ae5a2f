/**
 * Stores messages for receivers outside, which are delivered at least once, over restarts and by any runner (rules X12, X15).
 *
 * Outbox.O1. A message with a known id is not added again, also after it was delivered, for `KEPT_MS`.
 * Outbox.O2. The messages of a lane are claimed one after another, in the order in which they were added. A claim lasts for a time: a
 *     message whose process dies in the meantime can be claimed again, under the same id.
 * Outbox.O3. A message about a turn's end is added with its turn, and is due once the turn has ended.
 */
import { type Ids, Moment } from "@holdfast/wire"
import { Context, Effect } from "effect"
import { Rows, type SqlDatabase } from "@holdfast/journal/sql"
import type { SqlClient, SqlError } from "effect/sql"

/** How long a message's id is known after its end. */
export const KEPT_MS = 7 * 86_400_000

/** A message to add. */
export interface NewMessage {
  /** The same message again has the same id. */
  readonly id: string
  readonly lane: string
  /** Where it goes, in the words of its sender. */
  readonly receiver: string
  /** Absent on a message about a turn's end. */
  readonly payload?: string
  /** The number of the turn that it is about, which is added in the same transaction. */
  readonly turn?: number
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
export class Outbox extends Context.Service<Outbox, ReturnType<typeof make>>()(
  "@holdfast/session-orchestrator/storage/Outbox"
) {}

/** Makes the port. */
export const make = ({ each, sql }: SqlDatabase.SqlDatabase) => {
  const write = each(
    (attempted) => attempted,
    (_attempted: string, write: Effect.Effect<unknown, SqlError.SqlError>) => Effect.asVoid(write)
  )
  return {
    /** Adds messages whose ids are not known (Outbox.O1). */
    add: (messages: ReadonlyArray<NewMessage>) => write("add messages to the outbox", add(sql, messages)),
    /** Makes messages due whose turns have ended since a moment (Outbox.O3). */
    release: (endedSince: number, now: number) =>
      write(
        "release messages of ended turns",
        Effect.flatMap(ofEnded(sql, endedSince), (due) => {
          const numbers = due.map(({ number }) => number)
          return sql`UPDATE outbox SET due_at = ${now} WHERE ${Rows.have(sql, "number", numbers)}`
        })
      ),
    /** Claims messages that are due, the first of each lane, oldest first, at most `limit`, and none of the receivers in `except` (Outbox.O2). */
    claim: each(
      "claim messages of the outbox",
      (now: number, until: number, limit: number, except: ReadonlyArray<string> = []) => {
        const others = except.length === 0 ? sql.literal("") : sql`AND NOT (${sql.in("o.receiver", except)})`
        return Effect.map(
          sql<Row>`
            UPDATE outbox SET claimed_until = ${until} WHERE number IN (
              SELECT o.number FROM outbox o
              WHERE o.state = 'pending' AND o.due_at <= ${now} AND o.claimed_until <= ${now} ${others} AND NOT EXISTS (
                SELECT 1 FROM outbox e WHERE e.state = 'pending' AND e.lane = o.lane AND e.number < o.number
              ) ORDER BY o.due_at, o.number LIMIT ${limit} ${Rows.locking(sql, "FOR UPDATE SKIP LOCKED")}
            ) RETURNING ${Rows.number(sql, "number")} AS "number", id, receiver, payload, attempts,
              (SELECT t.turn_id FROM turns t WHERE t.number = outbox.turn) AS "turnId"`,
          (rows) =>
            rows
              .map(({ payload, turnId, ...row }): Claimed => {
                return { ...row, payload: payload ?? undefined, turnId: turnId ?? undefined }
              })
              .toSorted((a, b) => a.number - b.number)
        )
      }
    ),
    /** A message was delivered, or was given up. */
    settle: (message: number, state: "delivered" | "refused", now: number) =>
      write(
        "end a message of the outbox",
        sql`UPDATE outbox SET state = ${state}, settled_at = ${now}, payload = NULL WHERE number = CAST(${message} AS BIGINT)`
      ),
    /** An attempt has failed; the next one is due later, and can be claimed then. */
    postpone: (message: number, attempts: number, dueAt: number) =>
      write(
        "postpone a message of the outbox",
        sql`UPDATE outbox SET attempts = ${attempts}, due_at = ${dueAt}, claimed_until = 0
          WHERE number = CAST(${message} AS BIGINT)`
      ),
    /** Deletes messages that ended more than `KEPT_MS` ago. */
    forget: (now: number) =>
      write("delete old messages of the outbox", sql`DELETE FROM outbox WHERE settled_at < ${now - KEPT_MS}`)
  }
}

/** The due time of a message whose turn has not ended; it is on disk. */
export const NOT_YET = Moment.LATEST

/** Adds messages. Those with a known id are left out (Outbox.O1). */
export const add = (sql: SqlClient.SqlClient, messages: ReadonlyArray<NewMessage>) =>
  Rows.insertAll(
    sql,
    "outbox",
    messages.map(({ dueAt: due_at, payload = null, turn = null, ...message }) => ({
      ...message,
      payload,
      turn,
      due_at,
      state: "pending",
      attempts: 0,
      claimed_until: 0
    })),
    sql`ON CONFLICT (id) DO NOTHING`
  )

/** Reads the messages of turns that have ended since a moment, and that are not due yet: what tests ask the plan of. */
export const ofEnded = (sql: SqlClient.SqlClient, endedSince: number) =>
  // The statuses lead the index. SQLite joins in this order: it would read the messages of all open turns otherwise.
  sql<{ readonly number: number }>`SELECT ${Rows.number(sql, "o.number")} AS "number" FROM turns t CROSS JOIN outbox o
    WHERE t.status IN ('completed', 'failed', 'aborted') AND t.ended_at >= ${endedSince}
      AND o.turn = t.number AND o.state = 'pending' AND o.due_at = ${NOT_YET}`

/** Gives up all pending messages of a lane but the newest `kept`. A message that is being sent may still arrive. */
export const drop = (sql: SqlClient.SqlClient, lane: string, kept: number): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(
    sql`UPDATE outbox SET state = 'refused', settled_at = due_at, payload = NULL
      WHERE state = 'pending' AND lane = ${lane} AND number <= (
        SELECT number FROM outbox WHERE state = 'pending' AND lane = ${lane} ORDER BY number DESC LIMIT 1 OFFSET CAST(${kept} AS BIGINT)
      )`
  )

// --- internal

/** The columns were written from these types. */
interface Row extends Omit<Claimed, "payload" | "turnId"> {
  readonly payload: string | null
  readonly turnId: Ids.TurnId | null
}
