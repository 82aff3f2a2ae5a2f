/**
 * The port to a turn's records: what the kernel's `Checkpoint` has recorded, in the order in which it did.
 *
 * J1. When an append has succeeded it survives `kill -9` and a power cut.
 * J2. (turn, seq) is the fence: of two processes that believe they run a turn, one collides on its next append, even if both
 *     append the same.
 */
import type { Ids, TurnEvent } from "@holdfast/wire"
import { type Array, Context, type Effect, type Exit, Schema } from "effect"
import type { StorageError, StoredEvent } from "../storage/Store.ts"

/** One record, its value as JSON text. */
export interface Record {
  readonly name: string
  readonly value: string
}

/** Records of a turn, and the number of the first of them. */
export interface Append {
  readonly turnId: Ids.TurnId
  readonly seq: number
  readonly records: Array.NonEmptyReadonlyArray<Record>
}

/** Events of a turn. */
export interface Events {
  readonly conversationId: Ids.ConversationId
  readonly events: Array.NonEmptyReadonlyArray<TurnEvent.PersistedEvent>
  /** The place of the first of them among the events of the turn. */
  readonly position: number
}

/** Somebody else has written this turn's next record: it is not ours any more. */
export class JournalConflict extends Schema.TaggedError<JournalConflict>()("JournalConflict", {
  turnId: Schema.String
}) {
  override get message(): string {
    return `Turn ${this.turnId} is being run elsewhere.`
  }
}

export class Journal extends Context.Service<
  Journal,
  {
    /** Everything recorded of a turn, oldest first. */
    readonly load: (turnId: Ids.TurnId) => Effect.Effect<ReadonlyArray<Record>, StorageError>
    /**
     * Appends records, the first of them with number `seq` (0-based), all or none. The same again, by the same process, changes
     * nothing: it may not have heard that it succeeded.
     */
    readonly append: (
      turnId: Ids.TurnId,
      seq: number,
      ...records: Array.NonEmptyReadonlyArray<Record>
    ) => Effect.Effect<void, StorageError | JournalConflict>
    /** The same for several turns, each with an outcome of its own: what one is refused another is not. */
    readonly appendAll: (
      appends: ReadonlyArray<Append>
    ) => Effect.Effect<ReadonlyArray<Exit.Exit<void, StorageError | JournalConflict>>>
    /**
     * Appends records, and the events that follow from them: all or none of both. Gives the events with their ids
     * (`Store.appendEvents`).
     */
    readonly appendWith: (
      turnId: Ids.TurnId,
      seq: number,
      records: Array.NonEmptyReadonlyArray<Record>,
      events: Events
    ) => Effect.Effect<ReadonlyArray<StoredEvent>, StorageError | JournalConflict>
    /**
     * Deletes the records of turns that were sealed before a moment, of a few turns at a time, and gives the turn to go on
     * after; `undefined` once it has been through all. History and events stay.
     */
    readonly forget: (
      sealedBefore: number,
      after: Ids.TurnId | undefined
    ) => Effect.Effect<{ readonly forgotten: number; readonly next: Ids.TurnId | undefined }, StorageError>
  }
>()("@holdfast/session-orchestrator/storage/Journal") {}
