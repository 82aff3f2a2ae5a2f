/**
 * The port to incidents and causes of failed turns, which all runners of a database share (rule X12).
 *
 * IncidentStates.S1. A change reads all rows, decides, and writes rows and messages in one transaction. Changes of all runners follow one
 *     another, so a notice is in the outbox if and only if its transition is on disk.
 * IncidentStates.S2. A failed turn is uncounted from its end, in the same write, until a change counts it. So each is counted once, whatever
 *     became of the process that ran it.
 */
import type { StorageError } from "@holdfast/journal"
import type { Ids, Target, TurnEvent } from "@holdfast/wire"
import { Context, type Effect } from "effect"
import type { NewMessage } from "./Outbox.ts"

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
  readonly messages: ReadonlyArray<NewMessage>
}

/** Stores incidents. */
export class IncidentStates extends Context.Service<
  IncidentStates,
  {
    /** All rows. */
    readonly load: Effect.Effect<ReadonlyArray<IncidentRow>, StorageError>
    /** Whether a turn that has not ended waits for an endpoint, or calls it. */
    readonly hasOpenTurn: (target: Target.Target) => Effect.Effect<boolean, StorageError>
    /** Uncounted turns that ended between two moments in epoch milliseconds, oldest first, at most `limit` (IncidentStates.S2). */
    readonly uncounted: (
      from: number,
      before: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<FailedTurn>, StorageError>
    /**
     * Writes what `decide` makes of the rows (IncidentStates.S1), and counts these turns, without those that were counted before. `decide` is called
     * again if the transaction is.
     */
    readonly change: (decide: Decide, turns: ReadonlyArray<Ids.TurnId>) => Effect.Effect<void, StorageError>
  }
>()("@holdfast/session-orchestrator/storage/IncidentStates") {}
