/**
 * Reads the stored data of one turn, through the service's own store.
 *
 * StoredTurn.R1. No turn is woken and no owner is asked: any process that shares the database can read a turn that another one runs.
 * StoredTurn.R2. The row is read first: a turn that seals meanwhile appears as it was before.
 * StoredTurn.R3. The conversation is read last. A conversation is deleted as a whole, so all that was read before belongs together if it still
 *     exists, and there is no such turn if it does not.
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
  /** Deaths of the service, by the moments at which they were found; some may be older than the turn. Absent: they were not read. */
  readonly deaths?: ReadonlyArray<number>
}

/** Removes secrets from a text. */
export type Redact = (text: string) => string

/** Reads turns from a service's storage. */
type Read<A> = (turnId: Ids.TurnId) => Effect.Effect<Option.Option<A>, StorageError>

/** The reader of the storage in the context. */
export const reader: Effect.Effect<Read<StoredTurn>, never, Store | Journal | Interruptions.Interruptions> = Effect.gen(
  function* () {
    const store = yield* Store
    const journal = yield* Journal
    const interruptions = yield* Interruptions.Interruptions
    return existing(store, ({ acceptedAt, turnId }) =>
      Effect.all({
        events: eventsBy(store.turnEvents(turnId)),
        records: journal.load(turnId),
        interruption: Effect.map(interruptions.find(turnId), Option.getOrUndefined),
        deaths: store.deaths(acceptedAt)
      })
    )
  }
)

/** The same without interruptions and deaths, and of the events the outline: without messages of users and tools, which may have files. */
export const outlineReader: Effect.Effect<Read<Omit<StoredTurn, "interruption">>, never, Store | Journal> = Effect.gen(
  function* () {
    const store = yield* Store
    const journal = yield* Journal
    return existing(store, ({ turnId }) =>
      Effect.all({ events: eventsBy(store.turnOutline(turnId)), records: journal.load(turnId) })
    )
  }
)

/** What the state of a turn is made of, and no more: of the events the digest, and of the records the outline. */
export const digestReader: Effect.Effect<Read<Omit<StoredTurn, "interruption">>, never, Store> = Effect.map(
  Store,
  (store) =>
    existing(store, ({ turnId }) =>
      Effect.all({ events: eventsBy(store.turnDigest(turnId)), records: store.recordOutline(turnId) })
    )
)

// --- internal

/** The row and the conversation of a turn, and what is read between them. */
const existing = <A extends object>(
  store: Pick<Store["Service"], "turn" | "conversation">,
  more: (turn: Turn) => Effect.Effect<A, StorageError>
) =>
  Effect.fnUntraced(function* (turnId: Ids.TurnId) {
    const turn = Option.getOrUndefined(yield* store.turn(turnId)) // StoredTurn.R2
    if (turn === undefined) return Option.none()
    const read = yield* more(turn)
    const conversation = yield* store.conversation(turn.conversationId) // StoredTurn.R3
    return Option.map(conversation, (conversation) => ({ ...read, turn, conversation }))
  })

const eventsBy = (read: ReturnType<Store["Service"]["turnEvents"]>) =>
  Effect.map(read, (stored) => stored.map(({ event }) => event))
