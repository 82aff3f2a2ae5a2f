/**
 * The port to incidents and causes of failed turns, which all runners of a database share (rule X12).
 *
 * IncidentStates.S1. A change reads all rows, decides, and writes rows and messages in one transaction. Changes of all runners follow one
 *     another, so a notice is in the outbox if and only if its transition is on disk.
 */
import type { StorageError } from "@holdfast/journal"
import { Context, type Effect } from "effect"
import type { NewMessage } from "./Outbox.ts"

/** The state of one endpoint, in the words of its writer. */
export interface IncidentRow {
  readonly endpoint: string
  readonly state: string
}

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
    /** Whether a turn that was accepted up to a moment, in epoch milliseconds, has not ended. */
    readonly hasOpenTurn: (acceptedUntil: number) => Effect.Effect<boolean, StorageError>
    /** Writes what `decide` makes of the rows (IncidentStates.S1). It is called again if the transaction is. */
    readonly change: (decide: (rows: ReadonlyArray<IncidentRow>) => IncidentChange) => Effect.Effect<void, StorageError>
  }
>()("@holdfast/session-orchestrator/storage/IncidentStates") {}
