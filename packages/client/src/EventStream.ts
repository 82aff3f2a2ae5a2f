/**
 * One stream of events over any number of connections: the shell of `Cursor`.
 *
 * It reconnects until it is over, its signal aborts, or the service refuses it. Only the first connection has a limit of time: a service
 * that was there comes back. The end of an iteration closes its connection. Nothing is read ahead of the reader.
 */
import type { TurnEvent } from "@holdfast/wire"
import { ClientError } from "./ClientError.ts"
import * as Cursor from "./stream/Cursor.ts"
import { ConnectionLost, type Subscription, type ServiceTransport } from "./transport/ServiceTransport.ts"
import { sleep } from "./transport/Runtime.ts"
import * as ConversationView from "./view/ConversationView.ts"
import * as ClockSkew from "./stream/ClockSkew.ts"

/** How a stream is connected. */
export type Connection =
  | { readonly state: "open" }
  /** `message` is why; the next connection is made at `retryAt`. */
  | { readonly state: "lost"; readonly message: string; readonly retryAt: Date }

/** Options of a stream. */
export interface StreamOptions {
  /** Ends the stream: the iteration fails with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Receives each change of the connection. */
  readonly onConnection?: ((connection: Connection) => void) | undefined
}

/** What a stream is made of. */
export interface StreamSource extends StreamOptions {
  readonly transport: ServiceTransport
  readonly subscription: Subscription
  /** How long the first connection is tried. */
  readonly retryForMs: number
  readonly backoff: Cursor.Backoff
}

/** Events, in order, each persisted one once. An iteration continues behind the last event of the one before it. */
export class EventStream implements AsyncIterable<TurnEvent.TurnEvent> {
  readonly #source: StreamSource
  #lastEventId: number

  constructor(source: StreamSource) {
    this.#source = source
    this.#lastEventId = source.subscription.after
  }

  /** The id of the last persisted event that was read: the option `after` of a later stream continues behind it. */
  get lastEventId(): number {
    return this.#lastEventId
  }

  /** The server's clock minus this client's, in milliseconds, as far as it is known: what `ConversationView.withClockSkew` takes. */
  get clockSkewMs(): number {
    return ClockSkew.estimate(this.#source.transport.skew())
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TurnEvent.TurnEvent, void> {
    for await (const { frames } of this.#reads()) {
      for (const { event, id } of frames) {
        this.#lastEventId = id ?? this.#lastEventId
        yield event
      }
    }
  }

  /**
   * What a screen shows, after each read that changed it.
   *
   * **Gotchas**
   *
   * The view begins empty: use it on a stream that begins with the conversation's first event.
   */
  async *views(): AsyncGenerator<ConversationView.ConversationView, void> {
    let view = ConversationView.empty
    let last = 0
    for await (const { connection, frames } of this.#reads()) {
      if (connection !== last) view = ConversationView.reconnected(view)
      last = connection
      view = ConversationView.withClockSkew(view, this.clockSkewMs)
      view = ConversationView.applyAll(
        view,
        frames.map(({ event }) => event)
      )
      this.#lastEventId = frames.findLast(({ id }) => id !== undefined)?.id ?? this.#lastEventId
      yield view
    }
  }

  /** The frames of each read that has some, with the number of its connection. */
  async *#reads(): AsyncGenerator<Read, void> {
    const { backoff, onConnection, retryForMs, signal = NEVER, subscription, transport } = this.#source
    const { turnId } = subscription
    const beganAt = Date.now()
    let current = Cursor.start({ after: this.#lastEventId, ...(turnId === undefined ? undefined : { turnId }) })
    let connection = 0
    while (!current.isOver) {
      signal.throwIfAborted()
      let openedAt: number | undefined
      let why: ConnectionLost
      try {
        for await (const frames of transport.open({ ...subscription, after: current.after }, signal)) {
          if (openedAt === undefined) {
            openedAt = Date.now()
            connection++
            onConnection?.({ state: "open" })
          }
          const { cursor, passed, then } = Cursor.received(current, frames)
          current = cursor
          if (passed.length > 0) yield { connection, frames: passed }
          if (then === "over") return
          if (then === "reconnect") throw new ConnectionLost("The connection left an event out.")
          if (then === "restored") throw new ClientError("restored", RESTORED)
        }
        why = new ConnectionLost("The connection was closed.")
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
        why = error
      }
      const now = Date.now()
      const openMs = openedAt === undefined ? 0 : now - openedAt
      const { code, retryAfterMs } = why
      const { cursor, delayMs } = Cursor.ended(current, { openMs, code, retryAfterMs, spread: Math.random() }, backoff)
      current = cursor
      if (connection === 0 && now + delayMs - beganAt > retryForMs) {
        throw new ClientError("unreachable", `The service does not answer: ${why.message}`, { cause: why })
      }
      onConnection?.({ state: "lost", message: why.message, retryAt: new Date(now + delayMs) })
      await sleep(delayMs, signal)
    }
  }
}

// --- internal

interface Read {
  readonly connection: number
  readonly frames: ReadonlyArray<Cursor.EventFrame>
}

const NEVER = new AbortController().signal

const RESTORED =
  "The conversation has fewer events than this client has read: the service runs on an earlier copy. Begin again with its first event."
