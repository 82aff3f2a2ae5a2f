/**
 * The port to the disk: conversations, turns, messages and persisted events.
 *
 * Store.W1. When a write has succeeded it survives `kill -9` and a power cut.
 * Store.W2. Events are stored once per (turn, position), and a turn's positions have no gap; writing an event again changes nothing
 *     (`EventSink.S3` of the kernel).
 * Store.W3. A `message` event and the message in the history are one write; so are `turn-end` and the turn's end.
 * Store.W4. Transient events cannot be stored (rule D6): the types refuse them.
 */
import type { Interruption, StorageError } from "@holdfast/journal"
import { type Records, Turn as KernelTurn } from "@holdfast/kernel"
import {
  type ConversationState,
  defined,
  type Ids,
  type Labels,
  type Message,
  Prompt,
  type TurnEvent
} from "@holdfast/wire"
import { type Array, Context, type Effect, type Option, type Schema, type Stream } from "effect"

/** A conversation as it is stored. */
export interface Conversation {
  readonly conversationId: Ids.ConversationId
  /** `provider/model`. */
  readonly model: string
  /** When the model was last changed, in epoch milliseconds; absent: never. */
  readonly modelSince?: number | undefined
  readonly system: string | undefined
  /** The conversation's own `retry` settings, as the client sent them; merged over the configuration's. */
  readonly retry: Schema.Json | undefined
  /** Automatic retries are on (rule P15). */
  readonly autoRetryEnabled: boolean
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** The tool servers that its turns may use; absent: all. */
  readonly tools?: ReadonlyArray<string> | undefined
  /** A person's answers that hold for every call of a tool; absent: there are none. */
  readonly toolAnswers?: ConversationState.ToolAnswers | undefined
  /** A title of the client's. It is written with the conversation, and read by `Lists` alone. */
  readonly title?: string | undefined
  /** Labels of the client. They are written with the conversation, and read by `Lists` alone. */
  readonly labels?: Labels.Labels | undefined
}

/** A turn that was accepted. */
export interface Turn {
  readonly turnId: Ids.TurnId
  readonly conversationId: Ids.ConversationId
  /** As text, with a placeholder for each file. Absent on a manual retry (M1). */
  readonly prompt: string | undefined
  /**
   * The parts of a prompt with files. It may have megabytes, so only `acceptTurn` and `resumption` have it (`Store.prompt`); for other reads of the same
   * turn it is absent.
   */
  readonly content?: Prompt.Parts | undefined
  /** Epoch milliseconds. */
  readonly acceptedAt: number
  /** `provider/model` that it was accepted with, if the conversation's was changed since. */
  readonly model?: string | undefined
  /** Its client did not stay for the answer (rule X15). Absent: it did. */
  readonly isSubmitted?: true | undefined
  /** Labels of the client. They are written with the turn, and read by `Lists` alone. */
  readonly labels?: Labels.Labels | undefined
  /** Receivers of the turn's end. They are written with the turn, and read by `Outbox` alone. */
  readonly notify?: ReadonlyArray<string> | undefined
  /** How it ended; absent until it is sealed. */
  readonly end: TurnEvent.TurnEnd | undefined
}

/** The characters of a prompt with files that a turn has as text, for lists. */
const MOST_TEXT = 4_096

/** A prompt as a turn has it. */
export const storedPrompt = (prompt: Prompt.Prompt | undefined): Pick<Turn, "prompt" | "content"> => {
  const plain = prompt === undefined ? undefined : Prompt.plain(prompt)
  if (typeof plain !== "object") return { prompt: plain }
  return { prompt: Prompt.textOf(plain).slice(0, MOST_TEXT).toWellFormed(), content: plain }
}

/** The prompt of a turn for the kernel. */
export const promptOf = ({ content, prompt }: Pick<Turn, "prompt" | "content">): Prompt.Prompt | undefined =>
  content ?? prompt

/** The first events of a turn, which follow from its row (Acceptance.A2). */
export const openingOf = ({ acceptedAt, content, conversationId, prompt, turnId }: Omit<Turn, "end">) =>
  KernelTurn.firstEvents({
    conversationId,
    turnId,
    startedAt: acceptedAt,
    ...defined({ prompt: promptOf({ content, prompt }) })
  })

/** A persisted event with its id. */
export interface StoredEvent {
  /** Its number in the conversation: 1, 2, 3 … in the order in which clients see the events (rule X3). */
  readonly id: number
  readonly event: TurnEvent.PersistedEvent
  /** The event's JSON exactly as it was written, so that sending it again needs no encoding. */
  readonly json: string
}

/** Everything that a turn needs to start or to resume. */
export interface Resumption {
  readonly turn: Turn
  readonly conversation: Conversation
  /** The conversation's messages without the turn's own, oldest first. */
  readonly history: ReadonlyArray<Message.Message>
  /** The types of the turn's events that are on disk, by position. */
  readonly persisted: ReadonlyArray<string>
}

/** The facts that a start needs of a turn without a seal; its prompt and its journal are left out. */
export interface Unsealed {
  readonly turnId: Ids.TurnId
  readonly conversationId: Ids.ConversationId
  /** `provider/model` of its conversation. */
  readonly model: string
  /** Its newest record; `undefined` before the first. */
  readonly tail: Records.Stored | undefined
  /** The number of its records. */
  readonly records: number
  /** Its interruptions; `undefined` for a turn that was never interrupted. */
  readonly interruption: Interruption.Interruption | undefined
}

/** The outcome of accepting a turn. */
export type Acceptance =
  | {
      readonly _tag: "Accepted"
      /** Its first events, if they were written with it. */
      readonly opening?: ReadonlyArray<StoredEvent>
    }
  /** The same turn was accepted before: same id, same conversation, same prompt. */
  | { readonly _tag: "Known"; readonly turn: Turn }
  /** Another turn has the id. */
  | { readonly _tag: "Conflict"; readonly turn: Turn }

/** Stores conversations, their turns, messages and events. */
export class Store extends Context.Service<
  Store,
  {
    /** Adds a conversation. Fails if its id is taken. */
    readonly createConversation: (conversation: Conversation) => Effect.Effect<void, StorageError>
    /** A conversation by its id. */
    readonly conversation: (id: Ids.ConversationId) => Effect.Effect<Option.Option<Conversation>, StorageError>
    /** Switches automatic retries of a conversation (rule P15). Does nothing for an unknown conversation. */
    readonly setAutoRetry: (id: Ids.ConversationId, enabled: boolean) => Effect.Effect<void, StorageError>

    /**
     * Changes the model of a conversation; the turns that it has by then keep theirs (`Turn.model`). Does nothing for an unknown conversation.
     *
     * @param at the present, in epoch milliseconds
     */
    readonly setModel: (id: Ids.ConversationId, model: string, at: number) => Effect.Effect<void, StorageError>

    /** Replaces a conversation's answers that hold for every call of a tool. Does nothing for an unknown conversation. */
    readonly setToolAnswers: (
      id: Ids.ConversationId,
      answers: ConversationState.ToolAnswers
    ) => Effect.Effect<void, StorageError>

    /**
     * Stores a turn, before the client receives its acceptance; with `isOpened`, its first events too, in the same write. Those events get the
     * next ids of the conversation, so no other turn of it may be about to write events.
     *
     * With `isNew` the id is new, and no stored turn is looked for.
     */
    readonly acceptTurn: (
      turn: Omit<Turn, "end">,
      options?: { readonly isOpened?: boolean | undefined; readonly isNew?: boolean }
    ) => Effect.Effect<Acceptance, StorageError>
    /** A turn by its id. */
    readonly turn: (id: Ids.TurnId) => Effect.Effect<Option.Option<Turn>, StorageError>
    /** The whole prompt of a turn, with its files; none on a manual retry, and for an unknown turn. */
    readonly prompt: (id: Ids.TurnId) => Effect.Effect<Prompt.Prompt | undefined, StorageError>
    /** Everything that a turn needs to run; none for an unknown turn. */
    readonly resumption: (id: Ids.TurnId) => Effect.Effect<Option.Option<Resumption>, StorageError>
    /** The newest turn of a conversation, in the order of acceptance. */
    readonly lastTurn: (id: Ids.ConversationId) => Effect.Effect<Option.Option<Turn>, StorageError>
    /** Every turn without a seal, oldest first: a start takes these up. */
    readonly unsealedTurns: Effect.Effect<ReadonlyArray<Unsealed>, StorageError>
    /** The turns without a seal of one conversation, oldest first. */
    readonly unsealedTurnsOf: (id: Ids.ConversationId) => Effect.Effect<ReadonlyArray<Unsealed>, StorageError>

    /**
     * Appends events of one turn, all or none, and returns them with their ids; events that were stored before keep their ids.
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
    /** The same without the messages of the user and of tools, which may have files. */
    readonly turnOutline: (id: Ids.TurnId) => Effect.Effect<ReadonlyArray<StoredEvent>, StorageError>
    /** Its start, changes of its model and, once it has ended, its last answer: what the turn's state needs of its events. */
    readonly turnDigest: (id: Ids.TurnId) => Effect.Effect<ReadonlyArray<StoredEvent>, StorageError>
    /** The records of a turn without the results of tools and the content of long answers; the journal has them whole. */
    readonly recordOutline: (id: Ids.TurnId) => Effect.Effect<ReadonlyArray<Records.Stored>, StorageError>
    /** The history, oldest first. */
    readonly messages: (id: Ids.ConversationId) => Effect.Effect<ReadonlyArray<Message.Message>, StorageError>

    /** Records that the process before this one died, and when this one found that, in epoch milliseconds. */
    readonly noteDeath: (foundAt: number) => Effect.Effect<void, StorageError>
    /** The deaths that were found from a moment on, in epoch milliseconds, earliest first. */
    readonly deaths: (since: number) => Effect.Effect<ReadonlyArray<number>, StorageError>

    /** Succeeds when the database can be read and written, and no damage of it is known; `/readyz` calls it. */
    readonly check: Effect.Effect<void, StorageError>
  }
>()("@holdfast/session-orchestrator/storage/Store") {}
