/** One conversation: its turns, its events, and the commands on its wait. */
import type { ConversationState, Labels, Message, Prompt, TurnEvent } from "@holdfast/wire"
import * as CommandMethods from "./CommandMethods.ts"
import { EventStream, type StreamOptions } from "./EventStream.ts"
import type { ConversationCommand } from "./transport/ServiceTransport.ts"
import { randomId } from "./transport/Runtime.ts"
import { ask, type CallOptions, type ClientParts, Turn } from "./Turn.ts"

/** Options of a turn. */
export interface TurnOptions extends CallOptions {
  /** Your own id: the same id again is the same turn. */
  readonly turnId?: string
  /** Names to find it by in lists; 16 at most. */
  readonly tags?: Labels.Labels["tags"]
  readonly metadata?: Labels.Labels["metadata"]
  /** An address that gets the turn's end, signed. */
  readonly webhook?: string
}

/** Options of a turn that is run and streamed. */
export interface RunOptions extends StreamOptions {
  /** Your own id: the same id again is the same turn. */
  readonly turnId?: string
}

/** Options of a command on a wait. */
export interface SteerOptions extends CallOptions {
  /** The same id again has no second effect, not even on a later wait. By default each command has one of its own. */
  readonly commandId?: string
}

/** Where a stream of a conversation begins. */
export interface EventOptions extends StreamOptions {
  /** The last event that is known (`lastEventId`); by default the stream begins with the first event. */
  readonly after?: number
}

/** Options and results of the commands. */
interface Calls extends CommandMethods.Shape {
  readonly abort: readonly [CallOptions, Promise<void>]
  readonly setting: readonly [CallOptions, Promise<void>]
  readonly steering: readonly [SteerOptions, Promise<void>]
}

/** A conversation of the service. Commands resolve once they are on disk; where there is nothing to change they do nothing. */
export class Conversation extends CommandMethods.base<Calls>() implements CommandMethods.Sender<Calls> {
  readonly id: string
  readonly #shared: ClientParts

  constructor(shared: ClientParts, id: string) {
    super()
    this.#shared = shared
    this.id = id
  }

  /** Runs a turn; on a conversation that is busy the turn is queued. Resolves once the turn is on disk. */
  async prompt(prompt: Prompt.Prompt, options: TurnOptions = {}): Promise<Turn> {
    const { metadata, signal, tags, turnId = randomId(), webhook } = options
    const isLabelled = tags !== undefined || metadata !== undefined || webhook !== undefined
    if (!isLabelled && typeof prompt === "string" && prompt.length <= MOST_OF_COMMAND) {
      await this.command({ type: "prompt", prompt, turnId }, signal)
    } else {
      const body = { prompt, turnId, tags, metadata, webhook }
      const headers = { prefer: "respond-async" }
      const call = { method: "POST", path: `${this.#path}/turns`, body, headers, isRepeatable: true, signal } as const
      await this.#shared.transport.call(call)
    }
    return this.turn(turnId)
  }

  /** Runs a turn and streams it by one call, so no event after its acceptance is missed. Its options are those of a turn and of a stream. */
  run(prompt: Prompt.Prompt, { turnId = randomId(), ...options }: RunOptions = {}): AsyncIterable<TurnEvent.TurnEvent> {
    const subscription = { conversationId: this.id, turnId, after: 0, body: { prompt, turnId } }
    return new EventStream({ ...this.#shared, ...options, subscription })
  }

  /** Runs the model again from the last prompt, after an error or an abort. */
  async retry({ signal, turnId = randomId() }: Pick<TurnOptions, "signal" | "turnId"> = {}): Promise<Turn> {
    await this.command({ type: "retry", turnId }, signal)
    return this.turn(turnId)
  }

  /** A turn of this conversation, by its id. Makes no call. */
  turn(turnId: string): Turn {
    return new Turn(this.#shared, turnId, { conversationId: this.id })
  }

  /** Its events: those that are persisted, then live ones without end, over any number of reconnects. */
  events({ after = 0, ...options }: EventOptions = {}): EventStream {
    const subscription = { conversationId: this.id, turnId: undefined, after }
    return new EventStream({ ...this.#shared, ...options, subscription })
  }

  /** Reads its state; while it waits, the error and when the next attempt is due. */
  async getState(options: CallOptions = {}): Promise<ConversationState.ConversationState> {
    return await ask(this.#shared, this.#path, options.signal)
  }

  /** Reads its history, oldest message first. */
  async getMessages(options: CallOptions = {}): Promise<ReadonlyArray<Message.Message>> {
    return (await ask<Messages>(this.#shared, `${this.#path}/messages`, options.signal)).messages
  }

  /** Sets its title, for lists. */
  async setTitle(title: string, { signal }: CallOptions = {}): Promise<void> {
    const call = { method: "PUT", path: `${this.#path}/title`, body: { title }, isRepeatable: true, signal } as const
    await this.#shared.transport.call(call)
  }

  /** Aborts its turns, and deletes it with all of them. */
  async delete({ signal }: CallOptions = {}): Promise<void> {
    await this.#shared.transport.call({ method: "DELETE", path: this.#path, isRepeatable: false, signal })
  }

  /** Sends a command by its name in `holdfast rpc`. Over a WebSocket it resolves to the data of the response. */
  command(command: ConversationCommand, signal?: AbortSignal): Promise<unknown> {
    return this.#shared.transport.command(this.id, command, signal)
  }

  /** Sends the command of a method. With an id of its own it can be sent again when its response is lost. */
  async [CommandMethods.deliver](
    command: CommandMethods.SentLine,
    { commandId = randomId(), signal }: SteerOptions,
    kind: keyof Calls
  ): Promise<void> {
    const once = kind === "steering" ? { commandId } : {}
    await this.command({ ...command, ...once } as CommandMethods.SentLine, signal)
  }

  get #path(): string {
    return `/v1/conversations/${encodeURIComponent(this.id)}`
  }
}

// --- internal

/** A longer prompt, or one with files, is a call: a message that is too long would cost a WebSocket its connection. */
const MOST_OF_COMMAND = 64 * 1024

type Messages = { readonly messages: ReadonlyArray<Message.Message> }
