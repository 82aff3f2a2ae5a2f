/**
 * Stores incidents and causes of failed turns, which all runners of a database share (rule X12).
 *
 * IncidentStates.S1. A change reads all rows, decides, and writes rows and messages in one transaction. Changes of all runners follow one
 *     another, so a notice is in the outbox if and only if its transition is on disk.
 * IncidentStates.S2. A failed turn is uncounted from its end, in the same write, until a change counts it. So each is counted once, whatever
 *     became of the process that ran it.
 */
import { type Ids, Target, type TurnEvent } from "@holdfast/wire"
import { Context, Effect } from "effect"
import { Rows, type SqlDatabase, type TableError } from "@holdfast/journal/sql"
import type { Records } from "@holdfast/kernel"
import { History } from "@holdfast/kernel/host"
import type { SqlClient, SqlError } from "effect/sql"
import * as Outbox from "./Outbox.ts"
import * as TurnTable from "./tables/TurnTable.ts"

/** The state of one endpoint, in the words of its writer. */
export interface IncidentRow {
  readonly endpoint: string
  readonly state: string
}

/** A failed turn that no change has counted. */
export interface FailedTurn {
  readonly conversationId: Ids.ConversationId
  /** Where its last attempt went. */
  readonly target: Target.Target
  readonly end: TurnEvent.TurnEnd
}

/** Decides what is written, from all rows and from the turns that this change counts. */
export type Decide = (rows: ReadonlyArray<IncidentRow>, counted: ReadonlySet<Ids.TurnId>) => IncidentChange

/** What a decision writes. */
export interface IncidentChange {
  /** Rows that are new or different. */
  readonly rows: ReadonlyArray<IncidentRow>
  /** Endpoints whose rows are deleted. */
  readonly removed: ReadonlyArray<string>
  readonly messages: ReadonlyArray<Outbox.NewMessage>
}

/** Stores incidents. */
export class IncidentStates extends Context.Service<IncidentStates, ReturnType<typeof make>>()(
  "@holdfast/session-orchestrator/storage/IncidentStates"
) {}

/** Makes the port. */
export const make = ({ each, read, sql }: SqlDatabase.SqlDatabase) => {
  const load = sql<IncidentRow>`SELECT endpoint, state FROM incidents ORDER BY endpoint`
  return {
    /** All rows. */
    load: load.pipe(read("incidents")),
    /** Uncounted turns that ended since a moment in epoch milliseconds, oldest first, at most `limit` (IncidentStates.S2). */
    uncounted: (from: number, limit: number) => uncounted(sql, from, limit).pipe(read("turns that have failed")),
    /**
     * Writes what `decide` makes of the rows (IncidentStates.S1), and counts these turns, without those that were counted before. `decide` is called
     * again if the transaction is.
     */
    change: each(
      "record incidents",
      Effect.fnUntraced(function* (
        decide: Decide,
        turns: ReadonlyArray<Ids.TurnId>
      ): Effect.fn.Return<void, SqlError.SqlError> {
        // Another runner's change waits for the end of this transaction. SQLite has one writer anyway.
        if (Rows.isServer(sql)) yield* sql`LOCK TABLE incidents IN SHARE ROW EXCLUSIVE MODE`
        const { messages, removed, rows } = decide(yield* load, yield* count(sql, turns))
        if (removed.length > 0) yield* sql`DELETE FROM incidents WHERE ${sql.in("endpoint", removed)}`
        const written = rows.map((row) => ({ ...row }))
        yield* Rows.insertAll(sql, "incidents", written, Rows.replacing(sql, "endpoint", ["state"]))
        yield* Outbox.add(sql, messages)
        for (const lane of new Set(messages.map(({ lane }) => lane))) yield* Outbox.drop(sql, lane, MOST_NOTICES)
      })
    )
  }
}

/** Uncounted turns that ended since a moment, oldest first. */
const uncounted = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  from: number,
  limit: number
): Effect.fn.Return<ReadonlyArray<FailedTurn>, TableError> {
  const rows = yield* sql<
    OpenRow & { readonly conversationId: Ids.ConversationId; readonly turnId: Ids.TurnId; readonly payload: string }
  >`
    SELECT ${Rows.number(sql, "t.number")} AS "number", COALESCE(t.model, c.model) AS model,
      c.conversation_id AS "conversationId", t.turn_id AS "turnId", e.payload
    FROM turns t
    JOIN conversations c ON c.number = t.conversation
    JOIN events e ON e.conversation = t.conversation AND e.event_id = t.end_event_id
    WHERE t.uncounted IS NOT NULL AND t.ended_at >= ${from}
    ORDER BY t.ended_at LIMIT ${limit}`
  const chosen = yield* targetsOf(sql, rows)
  return yield* Effect.forEach(rows, (row) =>
    Effect.map(TurnTable.endOf(row.payload, row), (end): FailedTurn => {
      const name = chosen.get(row.number) ?? row.model
      return { conversationId: row.conversationId, target: Target.parse(name) ?? { provider: "", model: name }, end }
    })
  )
})

/** A receiver that is down for a week of incidents gets the newest of them. */
const MOST_NOTICES = 100

// --- internal

interface OpenRow {
  readonly number: number
  /** `provider/model` of its conversation. */
  readonly model: string
}

/** `provider/model` of the last attempt of each turn, where a command or a router has chosen it. */
const targetsOf = (
  sql: SqlClient.SqlClient,
  turns: ReadonlyArray<{ readonly number: number }>
): Effect.Effect<ReadonlyMap<number, string | undefined>, SqlError.SqlError> => {
  const numbers = turns.map(({ number }) => number)
  return Effect.map(
    sql<Records.Stored & { readonly turn: number }>`
      SELECT ${Rows.number(sql, "j.turn")} AS "turn", j.name, j.value FROM journal j
      WHERE ${Rows.have(sql, "j.turn", numbers)}
        AND (j.name LIKE 'step/%/route' OR j.name LIKE 'step/%/decision/%' OR j.name LIKE 'step/%/sleep/%')
      ORDER BY j.turn, j.seq`,
    (rows) => {
      const records = Map.groupBy(rows, ({ turn }) => turn)
      return new Map(Array.from(records, ([turn, own]) => [turn, History.of(own).target]))
    }
  )
}

/** Counts turns, and returns those that were uncounted. */
const count = (
  sql: SqlClient.SqlClient,
  turns: ReadonlyArray<Ids.TurnId>
): Effect.Effect<ReadonlySet<Ids.TurnId>, SqlError.SqlError> =>
  Effect.map(
    sql<{ readonly turn_id: Ids.TurnId }>`UPDATE turns SET uncounted = NULL
      WHERE ${Rows.have(sql, "turn_id", turns)} AND uncounted IS NOT NULL RETURNING turn_id`,
    (rows) => new Set(rows.map(({ turn_id }) => turn_id))
  )
