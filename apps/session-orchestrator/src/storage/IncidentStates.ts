/**
 * Stores incidents and causes of failed turns, which all runners of a database share (rule X12).
 *
 * IncidentStates.S1. A change reads all rows, decides, and writes rows and messages in one transaction. Changes of all runners follow one
 *     another, so a notice is in the outbox if and only if its transition is on disk.
 * IncidentStates.S2. A failed turn is uncounted from its end, in the same write, until a change counts it (`Lists` has those that are). So
 *     each is counted once, whatever became of the process that ran it.
 */
import type { Ids } from "@holdfast/wire"
import { Context, Effect } from "effect"
import { Rows, type SqlDatabase } from "@holdfast/journal/sql"
import type { SqlClient, SqlError } from "effect/sql"
import * as Outbox from "./Outbox.ts"

/** The state of one endpoint, in the words of its writer. */
export interface IncidentRow {
  readonly endpoint: string
  readonly state: string
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

/** A receiver that is down for a week of incidents gets the newest of them. */
const MOST_NOTICES = 100

// --- internal

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
