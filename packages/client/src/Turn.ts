/** One turn: its events, its end, and the commands that need its id alone. */
import type { TurnEvent, TurnExplanation, TurnState, Failure } from "@holdfast/wire"
import { EventStream, type StreamOptions } from "./EventStream.ts"
import type * as Cursor from "./stream/Cursor.ts"
import type { ServiceTransport } from "./transport/ServiceTransport.ts"

/** Options of a call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

/** What a client passes on to what it makes. */
export interface ClientParts {
  readonly transport: ServiceTransport
  readonly retryForMs: number
  readonly backoff: Cursor.Backoff
}

/** Makes a call that may be made again. The service is of the same protocol: its answer is not checked again. */
export const ask = <A>({ transport }: ClientParts, path: string, signal: AbortSignal | undefined, body?: unknown) =>
  transport.call({ method: body === undefined ? "GET" : "POST", path, body, isRepeatable: true, signal }) as Promise<A>

/**
 * A turn of the service. It runs whether or not a client reads it.
 *
 * **Details**
 *
 * As an async iterable it has the turn's events from the first one to `turn-end`, whenever the iteration begins. Each iteration has a connection
 * of its own.
 */
export class Turn implements AsyncIterable<TurnEvent.TurnEvent> {
  readonly id: string
  /** Of a turn that was submitted: false where the same turn was submitted before, and nothing was added. */
  readonly isNew: boolean | undefined
  readonly #shared: ClientParts
  #conversationId: string | undefined

  constructor(
    shared: ClientParts,
    id: string,
    { conversationId, isNew }: { readonly conversationId?: string; readonly isNew?: boolean } = {}
  ) {
    this.#shared = shared
    this.id = id
    this.isNew = isNew
    this.#conversationId = conversationId
  }

  /** Its conversation; absent where only the turn's id is known so far. */
  get conversationId(): string | undefined {
    return this.#conversationId
  }

  [Symbol.asyncIterator](): AsyncIterator<TurnEvent.TurnEvent> {
    return this.events()[Symbol.asyncIterator]()
  }

  /** The same events, with options. */
  events(options: StreamOptions = {}): AsyncIterable<TurnEvent.TurnEvent> {
    return {
      [Symbol.asyncIterator]: () => this.#events(options)
    }
  }

  /** Waits for the turn's end, after all its retries. A turn that fails is a result too. */
  async result(options: StreamOptions = {}): Promise<TurnResult> {
    let text = ""
    for await (const event of this.events(options)) {
      text = answerOf(event) ?? text
      if (event.type === "turn-end") return resultOf(event, text)
    }
    throw new Error("a stream of a turn ends with its end")
  }

  /** Reads its state: what it waits for, or how it ended. */
  async getState({ signal }: CallOptions = {}): Promise<TurnState.TurnState> {
    return await ask(this.#shared, `/v1/turns/${encodeURIComponent(this.id)}`, signal)
  }

  /** Explains it: every attempt, decision and wait. */
  async explain({ signal }: CallOptions = {}): Promise<TurnExplanation.TurnExplanation> {
    const conversation = encodeURIComponent(await this.#conversation(signal))
    const path = `/v1/conversations/${conversation}/turns/${encodeURIComponent(this.id)}/explain`
    return await ask(this.#shared, path, signal)
  }

  /** Ends it: its wait first, then the turn. Without effect on a turn that has ended. */
  async abort({ signal }: CallOptions = {}): Promise<void> {
    const path = `/v1/turns/${encodeURIComponent(this.id)}/abort`
    await this.#shared.transport.call({ method: "POST", path, isRepeatable: true, signal })
  }

  async *#events(options: StreamOptions): AsyncGenerator<TurnEvent.TurnEvent, void> {
    const conversationId = await this.#conversation(options.signal)
    const subscription = { conversationId, turnId: this.id, after: 0 }
    yield* new EventStream({ ...this.#shared, ...options, subscription })
  }

  async #conversation(signal: AbortSignal | undefined): Promise<string> {
    this.#conversationId ??= (await this.getState({ signal })).conversationId
    return this.#conversationId
  }
}

/** How a turn ended. */
export interface TurnResult {
  readonly turnId: string
  readonly status: TurnEvent.TurnStatus
  /** The text of its last answer. */
  readonly text: string
  /** Set on `failed`. */
  readonly error?: Failure.Failure
  /** The event of the end: attempts, waits, usage, report. */
  readonly end: TurnEvent.TurnEnd
}

/** The text of the answer that an event has; absent where it has none. */
export const answerOf = (event: TurnEvent.TurnEvent): string | undefined =>
  event.type === "message" && event.message.role === "assistant"
    ? event.message.content.map((part) => (part.type === "text" ? part.text : "")).join("")
    : undefined

/** The result of a turn, from its end and its last answer. */
export const resultOf = (end: TurnEvent.TurnEnd, text: string): TurnResult => {
  const { error, status, turnId } = end
  return { turnId, status, text, ...(error === undefined ? undefined : { error }), end }
}
