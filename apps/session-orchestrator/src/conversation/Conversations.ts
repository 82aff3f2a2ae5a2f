/**
 * What the transports call: conversations and their turns, whoever runs them.
 *
 * C1. One turn at a time per conversation; the others queue, in the order in which they were accepted.
 * C2. A turn that was accepted runs, whether or not anybody listens; only `abort` ends it.
 * C3. `abort` and `steer` do nothing where there is nothing to do, and say so. Where there is, what they did is on disk when
 *     they have succeeded.
 */
import type { TurnStopped } from "@holdfast/kernel"
import type { Command, ConversationState, Ids, Message, TurnEvent } from "@holdfast/wire"
import { Context, type Effect, Schema, type Stream } from "effect"
import type { StorageError } from "../storage/Store.ts"

export class ConversationNotFound extends Schema.TaggedError<ConversationNotFound>()("ConversationNotFound", {
  conversationId: Schema.String
}) {
  override get message(): string {
    return `There is no conversation ${this.conversationId}.`
  }
}

/** The request cannot be met as it stands; `message` says what was wrong and what was expected. */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("InvalidRequest", {
  message: Schema.String
}) {}

/** The turn id belongs to another turn, or there is nothing to retry. */
export class TurnConflict extends Schema.TaggedError<TurnConflict>()("TurnConflict", {
  message: Schema.String
}) {}

/** The service is going down and takes no new turns. */
export class ShuttingDown extends Schema.TaggedError<ShuttingDown>()("ShuttingDown", {}) {
  override get message(): string {
    return "Holdfast is shutting down and takes no new turns. Try again once it is back."
  }
}

/** A client fell so far behind that its events were let go of. It reconnects with the id of the last event it saw. */
export class SubscriberTooSlow extends Schema.TaggedError<SubscriberTooSlow>()("SubscriberTooSlow", {
  message: Schema.String
}) {}

/** One event on its way to clients, encoded once for all of them. */
export interface Frame {
  readonly event: TurnEvent.TurnEvent
  /** The event as JSON, without a newline. */
  readonly json: string
  /** Its place in the conversation; persisted events only. */
  readonly id: number | undefined
}

export interface CreateOptions {
  /** Otherwise a new id. One that is taken fails as the database reports it. */
  readonly conversationId?: Ids.ConversationId | undefined
  /** `provider/model`; otherwise the configuration's. */
  readonly model?: string | undefined
  readonly system?: string | undefined
  /** Settings over the configuration's `retry`; checked here. */
  readonly retry?: Schema.Json | undefined
}

/** How a turn ended, with the text of its last answer. */
export interface TurnResult {
  readonly turnId: Ids.TurnId
  readonly end: TurnEvent.TurnEnd
  readonly text: string
}

/** How many turns are doing what. */
export interface TurnCounts {
  readonly running: number
  /** Waiting for a provider. */
  readonly retrying: number
  /** Behind another turn of their conversation. */
  readonly queued: number
}

type WatchError = StorageError | SubscriberTooSlow | TurnStopped.TurnStopped

export class Conversations extends Context.Service<
  Conversations,
  {
    readonly create: (options: CreateOptions) => Effect.Effect<Ids.ConversationId, InvalidRequest | StorageError>

    /** Accepts a prompt. Once it has succeeded the turn is on disk and will run; the same `turnId` again is the same turn. */
    readonly prompt: (
      id: Ids.ConversationId,
      options: { readonly prompt: string; readonly turnId?: Ids.TurnId | undefined }
    ) => Effect.Effect<Ids.TurnId, ConversationNotFound | TurnConflict | ShuttingDown | StorageError>
    /** Accepts a turn that runs the model again from the last user message (M1). */
    readonly retry: (
      id: Ids.ConversationId,
      options: { readonly turnId?: Ids.TurnId | undefined }
    ) => Effect.Effect<Ids.TurnId, ConversationNotFound | TurnConflict | ShuttingDown | StorageError>

    /**
     * Waits for a turn's seal; answers at once for one that is sealed. Interrupting the wait leaves the turn alone.
     *
     * **Details**
     *
     * With `within`, its conversation, a turn that is in memory is not looked up.
     *
     * **Gotchas**
     *
     * Fails with `TurnStopped` for a turn that has stopped unsealed: it goes on when somebody takes it up again, and the wait
     * for that might never end.
     */
    readonly result: (
      id: Ids.TurnId,
      within?: Ids.ConversationId
    ) => Effect.Effect<TurnResult, StorageError | TurnStopped.TurnStopped>
    /**
     * A turn's events from its first to its `turn-end`, whenever one begins to watch.
     *
     * **Details**
     *
     * With `within`, its conversation, a turn that this process has just accepted is watched without reading anything.
     *
     * **Gotchas**
     *
     * The frames of one read of the provider come in one chunk; a transport that keeps chunks together writes once a read.
     */
    readonly watchTurn: (id: Ids.TurnId, within?: Ids.ConversationId) => Stream.Stream<Frame, WatchError>
    /** A conversation's persisted events after an id (0: all of them), then live ones without end. */
    readonly watch: (id: Ids.ConversationId, after: number) => Stream.Stream<Frame, ConversationNotFound | WatchError>

    /**
     * Ends the running turn: its retry first, then the turn (P14). Whether there was one; its seal is on disk by then.
     *
     * **Details**
     *
     * With `meant` it ends that turn and no other.
     *
     * **Gotchas**
     *
     * Fails with `StorageError` where that takes too long, and with `TurnStopped` where the turn stopped before. In the first
     * case the turn still ends when the disk takes it.
     */
    readonly abort: (
      id: Ids.ConversationId,
      meant?: Ids.TurnId
    ) => Effect.Effect<boolean, ConversationNotFound | StorageError | TurnStopped.TurnStopped>
    /**
     * Steers the turn that waits (P14, X4). Whether there was one; the command is in its record by then.
     *
     * **Gotchas**
     *
     * A command whose id was taken before does nothing, also when another wait has begun since, and after a restart. It fails as
     * `abort` does.
     */
    readonly steer: (
      command: Command.Steering,
      origin: string,
      meant?: Ids.TurnId
    ) => Effect.Effect<boolean, ConversationNotFound | InvalidRequest | StorageError | TurnStopped.TurnStopped>
    /** Switches automatic retries (P15). It counts from the next failure on. */
    readonly setAutoRetry: (
      id: Ids.ConversationId,
      enabled: boolean
    ) => Effect.Effect<void, ConversationNotFound | StorageError>

    /** The turns of this process that are not sealed. Cheap, however many there are. */
    readonly counts: Effect.Effect<TurnCounts>
    readonly state: (
      id: Ids.ConversationId
    ) => Effect.Effect<ConversationState.ConversationState, ConversationNotFound | StorageError>
    readonly messages: (
      id: Ids.ConversationId
    ) => Effect.Effect<ReadonlyArray<Message.Message>, ConversationNotFound | StorageError>
  }
>()("@holdfast/session-orchestrator/conversation/Conversations") {}
