/**
 * Reads the stored data of one turn, through the service's own store.
 *
 * StoredTurn.R1. No turn is woken and no owner is asked: any process that shares the database can read a turn that another one runs.
 * StoredTurn.R2. The row is read first: a turn that seals meanwhile appears as it was before.
 */
import { type Interruption, Interruptions, type StorageError } from "@holdfast/journal"
import type { Records } from "@holdfast/kernel"
import type { Ids, TurnEvent } from "@holdfast/wire"
import { Effect, Option } from "effect"
import { Journal } from "../storage/EventJournal.ts"
import { type Conversation, Store, type Turn } from "../storage/Store.ts"

/** The stored data of one turn. */
export interface StoredTurn {
  readonly turn: Turn
  readonly conversation: Conversation
  /** The turn's own, oldest first. */
  readonly events: ReadonlyArray<TurnEvent.PersistedEvent>
  readonly records: ReadonlyArray<Records.Stored>
  /** Absent for a turn that was never interrupted. */
  readonly interruption?: Interruption.Interruption | undefined
  /** Deaths of the service since its acceptance or earlier, by the moments at which they were found. Absent: there were none. */
  readonly deaths?: ReadonlyArray<number>
}

/** Removes secrets from a text. */
export type Redact = (text: string) => string

/** Reads turns from a service's storage. */
type Read = (turnId: Ids.TurnId) => Effect.Effect<Option.Option<StoredTurn>, StorageError>

/** The reader of the storage in the context. */
export const reader: Effect.Effect<Read, never, Store | Journal | Interruptions.Interruptions> = Effect.gen(
  function* () {
    const store = yield* Store
    const journal = yield* Journal
    const interruptions = yield* Interruptions.Interruptions
    return Effect.fnUntraced(function* (turnId) {
      const turn = Option.getOrUndefined(yield* store.turn(turnId)) // StoredTurn.R2
      if (turn === undefined) return Option.none()
      // A turn's row refers to it, so it exists.
      const conversation = Option.getOrThrow(yield* store.conversation(turn.conversationId))
      const events = (yield* store.turnEvents(turnId)).map(({ event }) => event)
      const records = yield* journal.load(turnId)
      const interruption = Option.getOrUndefined(yield* interruptions.find(turnId))
      const deaths = yield* store.deaths(turn.acceptedAt)
      return Option.some({ turn, conversation, events, records, interruption, deaths })
    })
  }
)
