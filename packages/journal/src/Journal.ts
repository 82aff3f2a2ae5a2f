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
import * as Schema from "effect/Schema"
import type { StorageError } from "./StorageError.ts"

/** Records of a turn. */
export interface Append {
  readonly turnId: Ids.TurnId
  /** The number of the first record in its turn, 0-based; without records, the number of records that the turn has. */
  readonly seq: number
  readonly records: ReadonlyArray<Records.Stored>
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
