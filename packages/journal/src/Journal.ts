/**
 * The port to a turn's records, in the order in which the kernel's `Checkpoint` wrote them.
 *
 * Journal.J1. When an append has succeeded it survives `kill -9` and a power cut, in a driver that has a disk.
 * Journal.J2. (turn, seq) is the fence: of two processes that believe they run a turn, one collides on its next append, even if both
 *     append the same.
 */
import type { Records } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import type * as Array from "effect/Array"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import type { StorageError } from "./StorageError.ts"

/** Records of a turn, and the number of the first of them. */
export interface Append {
  readonly turnId: Ids.TurnId
  /** The number of the first record in its turn, 0-based. */
  readonly seq: number
  readonly records: Array.NonEmptyReadonlyArray<Records.Stored>
}

/** Another process has written this turn's next record, so this process does not own the turn any more. */
export class JournalConflict extends Schema.TaggedError<JournalConflict>()("JournalConflict", {
  turnId: Schema.String
}) {
  override get message(): string {
    return `Turn ${this.turnId} is being run elsewhere.`
  }
}

/** Keeps the records of turns. */
export class Journal extends Context.Service<
  Journal,
  {
    /** All records of a turn, oldest first; none for a turn that is not known. */
    readonly load: (turnId: Ids.TurnId) => Effect.Effect<ReadonlyArray<Records.Stored>, StorageError>
    /**
     * Appends records, the first of them with number `seq` (0-based), all or none. The same append again, by the same process, changes
     * nothing: its first result may have been lost.
     */
    readonly append: (
      turnId: Ids.TurnId,
      seq: number,
      ...records: Array.NonEmptyReadonlyArray<Records.Stored>
    ) => Effect.Effect<void, StorageError | JournalConflict>
    /**
     * Deletes the records of turns that were sealed before a moment, in epoch milliseconds; a few turns a call. `next` is the turn after
     * which the following call continues; `undefined` when all turns have been read.
     */
    readonly forget: (
      sealedBefore: number,
      after: Ids.TurnId | undefined
    ) => Effect.Effect<{ readonly forgotten: number; readonly next: Ids.TurnId | undefined }, StorageError>
  }
>()("@holdfast/journal/Journal") {}

/** Why an append may be refused. */
export type AppendError = StorageError | JournalConflict

/** Records of a turn, none or some, and an application's statements. */
export interface AppendWith<In> extends Omit<Append, "records"> {
  readonly records: ReadonlyArray<Records.Stored>
  readonly statements?: In | undefined
}

/** A journal that commits an application's own statements together with records; `In` describes the statements of one append. */
export interface JournalWith<In, Out, E = AppendError> {
  /** Appends records, and runs the statements: all or none of both. The same append again changes nothing, as for `Journal.append`. */
  readonly appendWith: (
    turnId: Ids.TurnId,
    seq: number,
    records: Array.NonEmptyReadonlyArray<Records.Stored>,
    statements: In
  ) => Effect.Effect<Out, E>
  /** Appends for several turns, each with its own outcome: a refused append leaves the others alone. */
  readonly appendAll: (
    appends: ReadonlyArray<AppendWith<In>>
  ) => Effect.Effect<ReadonlyArray<Exit.Exit<Out | undefined, E>>>
}
