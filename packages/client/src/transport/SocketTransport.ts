/**
 * Reaches the service over a WebSocket: commands and streams. Other calls go over HTTP.
 *
 * Streams share one socket; a second stream of a conversation has a socket of its own (SocketConnection.W1). A browser reports no reason
 * for a socket that was refused. Then a call over HTTP finds it: a wrong token, or a conversation that does not exist. A command that
 * may be sent twice is sent again while the socket is lost, for `retryForMs` at most.
 */
import type { SocketMessages } from "@holdfast/wire/rpc"
import * as ClockSkew from "../stream/ClockSkew.ts"
import * as Cursor from "../stream/Cursor.ts"
import { ClientError } from "../ClientError.ts"
import { type OpenSocket, SocketConnection } from "./SocketConnection.ts"
import {
  type Call,
  type ChosenTransport,
  ConnectionLost,
  type ConversationCommand,
  type ServiceOptions,
  type Subscription,
  type ServiceTransport,
  mayRepeat
} from "./ServiceTransport.ts"
import { sleep } from "./Runtime.ts"

interface SocketOptions extends ServiceOptions {
  readonly openSocket: OpenSocket
}

/**
 * Carries commands and streams over a WebSocket. `openSocket` opens it in the place of the runtime's `WebSocket`.
 *
 * **Example**
 *
 * ```ts
 * const client = new HoldfastClient({ url, token, transport: webSocket() })
 * ```
 */
export const webSocket =
  (openSocket: OpenSocket = (url, protocols) => new WebSocket(url, protocols)): ChosenTransport =>
  (service, http) =>
    new SocketTransport({ ...service, openSocket }, http)

// --- internal

class SocketTransport implements ServiceTransport {
  private readonly options: SocketOptions
  private readonly http: ServiceTransport
  private readonly connections = new Set<SocketConnection>()
  private known = ClockSkew.unknown
  private closed: ClientError | undefined

  constructor(options: SocketOptions, http: ServiceTransport) {
    this.options = options
    this.http = http
  }

  call(call: Call): Promise<unknown> {
    return this.http.call(call)
  }

  skew(): ClockSkew.ClockSkew {
    const { high, low } = this.http.skew()
    const both = { low: Math.max(low, this.known.low), high: Math.min(high, this.known.high) }
    return both.low <= both.high ? both : this.known
  }

  close(): void {
    this.closed = new ClientError("closed", "The client was closed.")
    this.http.close()
    for (const connection of this.connections) connection.close(this.closed)
  }

  async command(
    conversationId: string,
    command: ConversationCommand,
    signal: AbortSignal | undefined
  ): Promise<unknown> {
    const isRepeatable = mayRepeat(command)
    const beganAt = Date.now()
    let cursor = Cursor.start()
    for (;;) {
      signal?.throwIfAborted()
      const connection = this.any()
      try {
        return await abortable(connection.request({ conversationId, ...command }), signal)
      } catch (error) {
        signal?.throwIfAborted()
        if (!(error instanceof ConnectionLost)) throw error
        if (!connection.wasOpen) await this.explain(conversationId, signal)
        const { code, message } = error
        const again = Cursor.ended(cursor, { openMs: 0, code, spread: Math.random() }, this.options.backoff)
        if (!isRepeatable || Date.now() + again.delayMs - beganAt > this.options.retryForMs) {
          const { url } = this.options
          throw new ClientError("unreachable", `The service at ${url} does not answer: ${message}`, { cause: error })
        }
        cursor = again.cursor
        await sleep(again.delayMs, signal)
      }
    }
  }

  async *open(subscription: Subscription, signal: AbortSignal): AsyncGenerator<ReadonlyArray<Cursor.EventFrame>> {
    const { body, conversationId } = subscription
    if (body !== undefined) return yield* this.http.open(subscription, signal)
    const connection = this.free(conversationId)
    const { feed, subscribed } = connection.subscribe(subscription)
    const abort = () => feed.fail(signal.reason)
    signal.addEventListener("abort", abort, { once: true })
    try {
      try {
        await abortable(subscribed, signal)
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof ConnectionLost && !connection.wasOpen) await this.explain(conversationId, signal)
        throw error
      }
      yield []
      for (;;) yield await feed.next()
    } finally {
      signal.removeEventListener("abort", abort)
      // The socket's end is the end of its subscriptions.
      connection.unsubscribe(feed).catch(() => {})
    }
  }

  /** A socket for a command. */
  private any(): SocketConnection {
    const [first] = this.connections
    return first ?? this.connect()
  }

  private free(conversationId: string): SocketConnection {
    for (const connection of this.connections) if (connection.isFree(conversationId)) return connection
    return this.connect()
  }

  private connect(): SocketConnection {
    if (this.closed !== undefined) throw this.closed
    const { openSocket, token, url } = this.options
    const protocols = [SUBPROTOCOL, ...(token === undefined ? [] : [TOKEN_PREFIX + base64Url(token)])]
    const connection: SocketConnection = new SocketConnection(
      openSocket(url.replace(/^http/, "ws") + PATH, protocols),
      {
        clock: (now, sentAt) => {
          const observation = { from: now, to: now, sentAt, receivedAt: Date.now() }
          this.known = ClockSkew.observed(this.known, observation)
        },
        over: () => void this.connections.delete(connection)
      }
    )
    this.connections.add(connection)
    return connection
  }

  /** Rejects with the reason for which the service refuses this client, if it does. */
  private async explain(conversationId: string, signal: AbortSignal | undefined): Promise<void> {
    const path = `/v1/conversations/${encodeURIComponent(conversationId)}`
    try {
      await this.http.call({ method: "GET", path, isRepeatable: false, signal })
    } catch (error) {
      if (error instanceof ClientError && error.status !== undefined && error.status < 500) throw error
    }
  }
}

const PATH: typeof SocketMessages.PATH = "/v1/ws"
const SUBPROTOCOL: typeof SocketMessages.SUBPROTOCOL = "holdfast.v1"
const TOKEN_PREFIX: typeof SocketMessages.TOKEN_PREFIX = "holdfast.bearer."

const base64Url = (text: string): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(text)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")

/** Rejects with the signal's reason as soon as it aborts. */
const abortable = <A>(work: Promise<A>, signal: AbortSignal | undefined): Promise<A> => {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) return abort()
    signal.addEventListener("abort", abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort))
  })
}
