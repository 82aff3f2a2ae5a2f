/**
 * The port that transports call: conversations and their turns, on any runner.
 *
 * - One turn runs at a time per conversation; the others queue, in the order in which they were accepted.
 * - An accepted turn runs, with or without a client; only `abort` ends it.
 * - `abort` and `steer` return `false` if there is nothing to do. Otherwise their effect is on disk when they succeed.
 */
import type { StorageError } from "@holdfast/journal"
import type { TurnStopped } from "@holdfast/kernel"
import {
  type Command,
  type ConversationState,
  Ids,
  type Labels,
  type Message,
  type Prompt,
  type TurnEvent
} from "@holdfast/wire"
import { Context, type Effect, Schema, type Stream } from "effect"

/** No conversation has this id. */
export class ConversationNotFound extends Schema.TaggedError<ConversationNotFound>()("ConversationNotFound", {
  conversationId: Schema.String
}) {
  override get message(): string {
    return `There is no conversation ${this.conversationId}.`
  }
}

/** The request cannot be met as it stands; `message` names the fault and the expected value. */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("InvalidRequest", {
  message: Schema.String,
  /** Each fault by itself, where the faulty keys are known; `message` names the first ones. */
  faults: Schema.optionalKey(Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })))
}) {}

/** The turn id belongs to another turn, or there is nothing to retry. */
export class TurnConflict extends Schema.TaggedError<TurnConflict>()("TurnConflict", {
  message: Schema.String
}) {}

/** The service is shutting down and accepts no new turns. */
export class ShuttingDown extends Schema.TaggedError<ShuttingDown>()("ShuttingDown", {}) {
  override get message(): string {
    return "Holdfast is shutting down and takes no new turns. Try again once it is back."
  }
}

/** A client fell so far behind that its stream was ended. It reconnects with the id of the last event it received. */
export class SubscriberTooSlow extends Schema.TaggedError<SubscriberTooSlow>()("SubscriberTooSlow", {
  message: Schema.String
}) {}

/** One event on its way to clients, encoded once for all of them. */
export interface Frame {
  readonly event: TurnEvent.TurnEvent
  /** The event as JSON, without a newline. */
  readonly json: string
  /** The event's place in the conversation; persisted events only. */
  readonly id: number | undefined
}

/** Settings of a new conversation. */
export interface CreateOptions {
  /** If absent, a new id. An id that is taken fails with the error of the database. */
  readonly conversationId?: Ids.ConversationId | undefined
  readonly labels?: Labels.Labels | undefined
  /** `provider/model`; if absent, the configured default. */
  readonly model?: string | undefined
  /** A text, or the name of one in the configuration's `systemPrompts`. */
  readonly system?: string | { readonly name: string } | undefined
  /** Names of the tool servers that its turns may use; if absent, all. */
  readonly tools?: ReadonlyArray<string> | undefined
  readonly title?: string | undefined
  /** Settings that override the configuration's `retry`; validated on creation. */
  readonly retry?: Schema.Json | undefined
}

/** What a prompt is sent with. */
export interface PromptOptions {
  readonly prompt: Prompt.Prompt
  readonly turnId?: Ids.TurnId | undefined
  readonly labels?: Labels.Labels | undefined
  /** An address that gets the turn's end; it was checked. */
  readonly webhook?: string | undefined
  readonly isSubmitted?: boolean | undefined
}

/** How a turn ended, with the text of its last answer. */
export interface TurnResult {
  readonly turnId: Ids.TurnId
  readonly end: TurnEvent.TurnEnd
  readonly text: string
}

/** The number of turns in each status. */
export interface TurnCounts {
  readonly running: number
  /** Waiting for a provider. */
  readonly retrying: number
  /** Turns behind another turn of their conversation. */
  readonly queued: number
}

/** `ConversationNotFound`: it was deleted meanwhile. */
type WatchError = StorageError | SubscriberTooSlow | TurnStopped.TurnStopped | ConversationNotFound

/** Creates, runs, watches and steers conversations. */
export class Conversations extends Context.Service<
  Conversations,
  {
    readonly create: (options: CreateOptions) => Effect.Effect<Ids.ConversationId, InvalidRequest | StorageError>

    /**
     * Accepts a prompt. Once it has succeeded the turn is on disk and will run; the same `turnId` again is the same turn.
     *
     * **Details**
     *
     * `isSubmitted`: its client does not stay for the answer. A failure after content that no client has received is then retried (rule X7).
     */
    readonly prompt: (
      id: Ids.ConversationId,
      options: PromptOptions
    ) => Effect.Effect<Ids.TurnId, ConversationNotFound | TurnConflict | ShuttingDown | StorageError>
    /** Accepts a turn that runs the model again from the last user message (rule M1). */
    readonly retry: (
      id: Ids.ConversationId,
      options: Pick<PromptOptions, "turnId" | "isSubmitted">
    ) => Effect.Effect<Ids.TurnId, ConversationNotFound | TurnConflict | ShuttingDown | StorageError>

    /**
     * Waits for a turn's seal; returns at once if the turn is sealed. Interrupting the wait does not affect the turn.
     *
     * **Details**
     *
     * With `within`, the turn's conversation, a turn that is in memory is not read from the store.
     *
     * **Gotchas**
     *
     * Fails with `TurnStopped` for a turn that has stopped unsealed: it continues when a process takes it up again, which may never happen.
     */
    readonly result: (
      id: Ids.TurnId,
      within?: Ids.ConversationId
    ) => Effect.Effect<TurnResult, StorageError | TurnStopped.TurnStopped>
    /**
     * All events of a turn from its first to its `turn-end`, whenever the client subscribes.
     *
     * **Details**
     *
     * With `within`, the turn's conversation, a turn that this process has just accepted is watched without reading the store.
     *
     * **Gotchas**
     *
     * The frames of one read of the provider arrive in one chunk; a transport that keeps chunks together writes once per read.
     */
    readonly watchTurn: (id: Ids.TurnId, within?: Ids.ConversationId) => Stream.Stream<Frame, WatchError>
    /** A conversation's persisted events after an id (0: all of them), then live events without end. */
    readonly watch: (id: Ids.ConversationId, after: number) => Stream.Stream<Frame, WatchError>
    /** Ends the streams of a conversation that was deleted, with `ConversationNotFound`. */
    readonly endStreams: (id: Ids.ConversationId) => Effect.Effect<void, StorageError>

    /**
     * Ends the running turn: its retry first, then the turn (rule P14). Returns whether there was one; its seal is on disk by then.
     *
     * **Details**
     *
     * With `meant` it ends that turn and no other.
     *
     * **Gotchas**
     *
     * Fails with `StorageError` if that takes too long, and with `TurnStopped` if the turn stopped before. In the first case the turn
     * still ends once the disk accepts the seal.
     */
    readonly abort: (
      id: Ids.ConversationId,
      meant?: Ids.TurnId
    ) => Effect.Effect<boolean, ConversationNotFound | StorageError | TurnStopped.TurnStopped>
    /**
     * Steers the turn that waits (rules P14, X4). Returns whether there was one; the command is in its record by then.
     *
     * **Gotchas**
     *
     * An answer about a tool call with `always` is on disk for the tool too by then.
     *
     * A command whose id was taken before does nothing, also if another wait has begun since, and after a restart. It fails as `abort` does.
     */
    readonly steer: (
      command: Command.Steering,
      origin: string,
      meant?: Ids.TurnId
    ) => Effect.Effect<boolean, ConversationNotFound | InvalidRequest | StorageError | TurnStopped.TurnStopped>
    /**
     * Changes the conversation: automatic retries from the next failure on (rule P15), its model for turns that are accepted from now on, the
     * answers about tools from the next step of its turns on.
     *
     * **Details**
     *
     * A turn keeps the model that it was accepted with. The conversation's own model again makes it leave a fallback target that it stays on
     * (rule P9, "never"); with `ifOther` it does nothing.
     */
    readonly change: (
      command: Command.SettingCommand,
      options?: { readonly ifOther?: boolean | undefined }
    ) => Effect.Effect<void, ConversationNotFound | InvalidRequest | StorageError>

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

/** There is no such turn, or not in this conversation. */
export class TurnNotFound extends Schema.TaggedError<TurnNotFound>()("TurnNotFound", {
  /** The conversation that was searched; absent if all were searched. */
  conversationId: Schema.optionalKey(Ids.ConversationId),
  turnId: Ids.TurnId
}) {
  override get message(): string {
    return this.conversationId === undefined
      ? `There is no turn ${this.turnId}.`
      : `Conversation ${this.conversationId} has no turn ${this.turnId}.`
  }
}
