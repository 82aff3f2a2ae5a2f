/** Conversations, turns and events as they are stored. */
import type { Interruption } from "@holdfast/journal"
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
import type { Schema } from "effect"

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
   * The parts of a prompt with files. It may have megabytes, so only `TurnLog.accept` and `resumption` have it (`Store.prompt`); for other reads of the same
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
