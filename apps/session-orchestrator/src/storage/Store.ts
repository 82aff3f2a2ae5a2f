/**
 * The port to the disk: conversations, turns, messages and persisted events.
 *
 * W1. When a write has succeeded it survives `kill -9` and a power cut.
 * W2. Events are kept once per (turn, position), and a turn's positions have no gap; writing the same again changes nothing
 *     (EventSink, S3).
 * W3. A `message` event and the message in the history are one write; so are `turn-end` and the turn's end.
 * W4. Transient events have no way in (D6): the types do not let them.
 */
import type { Ids, Message, TurnEvent } from "@holdfast/wire"
import { type Array, Context, type Effect, type Option, Schema, type Stream } from "effect"
import type { Interruption } from "../durable/Interruption.ts"
import type { Record } from "../durable/Journal.ts"

/** The disk said no: full, read-only, locked, corrupt. Nothing of the write is there. */
export class StorageError extends Schema.TaggedError<StorageError>()("StorageError", {
  /** What was attempted, in words a person understands, and what the database said. */
  message: Schema.String,
  /** `one`: it is about this call alone. Absent: it would meet every other call too. */
  concerns: Schema.optionalKey(Schema.Literal("one"))
}) {}

/** A conversation as it is kept. */
export interface Conversation {
  readonly conversationId: Ids.ConversationId
  /** `provider/model`. */
  readonly model: string
  readonly system: string | undefined
  /** The conversation's own `retry` settings, as they were given; merged over the configuration's. */
  readonly retry: Schema.Json | undefined
  readonly autoRetryEnabled: boolean
  /** Epoch milliseconds. */
  readonly createdAt: number
}

/** A turn that was accepted. */
export interface Turn {
  readonly turnId: Ids.TurnId
  readonly conversationId: Ids.ConversationId
  /** Absent on a manual retry (M1). */
  readonly prompt: string | undefined
  /** Epoch milliseconds. */
  readonly acceptedAt: number
  /** How it ended; absent until it is sealed. */
  readonly end: TurnEvent.TurnEnd | undefined
}

/** A persisted event with its place in the conversation: 1, 2, 3 … in the order in which clients see them (X3). */
export interface StoredEvent {
  readonly id: number
  readonly event: TurnEvent.PersistedEvent
  /** The event as it was written, to the byte, so that sending it again costs no encoding. */
  readonly json: string
}

/** What a turn goes on with, from its beginning or from where it was. */
export interface Resumption {
  readonly turn: Turn
  readonly conversation: Conversation
  /** The conversation's messages without the turn's own, oldest first. */
  readonly history: ReadonlyArray<Message.Message>
  /** The types of the turn's events that are on disk, by position. */
  readonly persisted: ReadonlyArray<string>
}

/** A turn that is not sealed, as a start needs to know it: without its prompt, and without what it has been through. */
export interface Unsealed {
  readonly turnId: Ids.TurnId
  readonly conversationId: Ids.ConversationId
  /** `provider/model` of its conversation. */
  readonly model: string
  /** Its newest record; `undefined` where nothing is recorded yet. */
  readonly tail: Record | undefined
  /** How many records it has. */
  readonly records: number
  /** What has interrupted it; `undefined` where nothing has. */
  readonly interruption: Interruption | undefined
}

/** What became of a turn that a client handed in. */
export type Acceptance =
  | {
      readonly _tag: "Accepted"
      /** Its first events, where they were written with it. */
      readonly opening?: ReadonlyArray<StoredEvent>
    }
  /** The same turn was accepted before: same id, same conversation, same prompt. */
  | { readonly _tag: "Known"; readonly turn: Turn }
  /** The id is taken by another turn. */
  | { readonly _tag: "Conflict"; readonly turn: Turn }

export class Store extends Context.Service<
  Store,
  {
    readonly createConversation: (conversation: Conversation) => Effect.Effect<void, StorageError>
    readonly conversation: (id: Ids.ConversationId) => Effect.Effect<Option.Option<Conversation>, StorageError>
    readonly setAutoRetry: (id: Ids.ConversationId, enabled: boolean) => Effect.Effect<void, StorageError>

    /**
     * Records a turn before anybody is told that it was accepted; with `opening`, what it says first, in the same write. Those
     * events get the next ids of the conversation, so no other turn of it may be about to say something.
     *
     * `ahead` is called when the write is on its way, and only while the database works as usual. What is written of the turn from then
     * on is on disk together with its acceptance or after it, and never without it.
     */
    readonly acceptTurn: (
      turn: Omit<Turn, "end">,
      opening?: Array.NonEmptyReadonlyArray<TurnEvent.PersistedEvent>,
      ahead?: () => void
    ) => Effect.Effect<Acceptance, StorageError>
    readonly turn: (id: Ids.TurnId) => Effect.Effect<Option.Option<Turn>, StorageError>
    /** What a turn that is about to run needs. */
    readonly resumption: (id: Ids.TurnId) => Effect.Effect<Option.Option<Resumption>, StorageError>
    /** The newest turn of a conversation, in the order of acceptance. */
    readonly lastTurn: (id: Ids.ConversationId) => Effect.Effect<Option.Option<Turn>, StorageError>
    /** Every turn that is not sealed, oldest first: what a start has to take up. */
    readonly unsealedTurns: Effect.Effect<ReadonlyArray<Unsealed>, StorageError>
    /** Those of one conversation. */
    readonly unsealedTurnsOf: (id: Ids.ConversationId) => Effect.Effect<ReadonlyArray<Unsealed>, StorageError>

    /**
     * Appends events of one turn, all or none, and returns them with their ids; those that were there already come back with
     * the ids they have.
     */
    readonly appendEvents: (
      conversationId: Ids.ConversationId,
      turnId: Ids.TurnId,
      events: Array.NonEmptyReadonlyArray<TurnEvent.PersistedEvent>,
      position: number
    ) => Effect.Effect<ReadonlyArray<StoredEvent>, StorageError>
    /** The events of a conversation after an id (0: all), oldest first, read in pages. */
    readonly events: (id: Ids.ConversationId, after: number) => Stream.Stream<StoredEvent, StorageError>
    /** The events of one turn, oldest first. */
    readonly turnEvents: (id: Ids.TurnId) => Effect.Effect<ReadonlyArray<StoredEvent>, StorageError>
    /** The same as `messages`, quickly: what a turn goes on with that is about to be accepted. */
    readonly history: (id: Ids.ConversationId) => Effect.Effect<ReadonlyArray<Message.Message>, StorageError>
    /** The history, oldest first. */
    readonly messages: (id: Ids.ConversationId) => Effect.Effect<ReadonlyArray<Message.Message>, StorageError>

    /** Succeeds when the database can be read and written, and no damage of it is known: what `/readyz` asks. */
    readonly check: Effect.Effect<void, StorageError>
  }
>()("@holdfast/session-orchestrator/storage/Store") {}
