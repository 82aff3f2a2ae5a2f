/**
 * One WebSocket of the service: commands with their responses, and the events of conversations.
 *
 * The end of the socket, and a silence of `SILENCE_MS`, is the end of all that waits for it.
 *
 * SocketConnection.W1. A conversation has one subscription on a socket, so an event belongs to it by its conversation alone. A
 *     subscription's place is free again when the service has answered its end.
 * SocketConnection.W3. A browser reads a socket whether or not the program does: a subscription that is `MOST_BEHIND` frames behind is
 *     given up, and begins again behind the last event that was passed on.
 */
import type { Sse } from "@holdfast/wire"
import type { SocketMessages } from "@holdfast/wire/rpc"
import { ClientError, type ProblemCode } from "../ClientError.ts"
import type { EventFrame } from "../stream/Cursor.ts"
import { Pushed } from "../stream/Pushed.ts"
import { ConnectionLost, SILENCE_MS, type Subscription } from "./ServiceTransport.ts"

/** The part of a `WebSocket` that is used. */
export interface Socket {
  readonly send: (text: string) => void
  readonly close: () => void
  addEventListener(type: "open" | "message" | "close" | "error", listener: (event: object) => void): void
}

/** Opens a socket. */
export type OpenSocket = (url: string, protocols: Array<string>) => Socket

/** The most frames that a reader may be behind (SocketConnection.W3). */
const MOST_BEHIND = 20_000

/** The service takes 1,024 subscriptions of a socket. */
const MOST_FEEDS = 1_000

/** How long a socket without work stays open: the next command is likely to come soon. */
const IDLE_MS = 2_000

/** One subscription: frames are pushed by the socket, and pulled by the reader. */
export class Feed extends Pushed<EventFrame> {
  readonly subscription: Subscription

  constructor(subscription: Subscription) {
    super(MOST_BEHIND, () => new ConnectionLost("The reader was too far behind.", { code: "too-slow" }))
    this.subscription = subscription
  }
}

/** What a connection reports. */
interface Events {
  /** The server's clock, at a moment after the socket was asked for. */
  readonly clock: (now: number, sentAt: number) => void
  readonly over: () => void
}

/** A socket, from its request to its end. */
export class SocketConnection {
  private readonly socket: Socket
  private readonly events: Events
  private readonly feeds = new Map<string, Feed>()
  private readonly byCommand = new Map<number, Feed>()
  private readonly pending = new Map<number, PromiseWithResolvers<unknown>>()
  private readonly opened = Promise.withResolvers<void>()
  private readonly sentAt = Date.now()
  private lastId = 0
  private failure: ConnectionLost | undefined
  private isOpen = false
  private silence: ReturnType<typeof setTimeout> | undefined
  private idle: ReturnType<typeof setTimeout> | undefined

  constructor(socket: Socket, events: Events) {
    this.socket = socket
    this.events = events
    socket.addEventListener("open", () => {
      this.isOpen = true
      this.opened.resolve()
    })
    socket.addEventListener("message", (event) => this.receive("data" in event ? event.data : undefined))
    const closed = () => this.close(new ConnectionLost("The WebSocket was closed."))
    socket.addEventListener("close", closed)
    socket.addEventListener("error", closed)
    // A failure before the socket is open reaches those that wait for it by their own call.
    this.opened.promise.catch(() => {})
    this.listen()
  }

  /** Whether the socket was open. */
  get wasOpen(): boolean {
    return this.isOpen
  }

  /** Whether a subscription of the conversation has a place (SocketConnection.W1). */
  isFree(conversationId: string): boolean {
    return this.feeds.size < MOST_FEEDS && !this.feeds.has(conversationId)
  }

  /** Sends a command; resolves with the data of its response. */
  async request(command: { readonly type: string; readonly [key: string]: unknown }, feed?: Feed): Promise<unknown> {
    const id = ++this.lastId
    const answer = Promise.withResolvers<unknown>()
    // While the socket opens, its failure reaches the caller by `opened` alone.
    answer.promise.catch(() => {})
    this.pending.set(id, answer)
    clearTimeout(this.idle)
    if (feed !== undefined) this.byCommand.set(id, feed)
    try {
      if (this.failure !== undefined) throw this.failure
      await this.opened.promise
      this.socket.send(JSON.stringify({ id, ...command }))
      return await answer.promise
    } finally {
      this.pending.delete(id)
      this.rest()
    }
  }

  /** Takes the place of a conversation. `subscribed` resolves when the service has accepted it. */
  subscribe(subscription: Subscription): { readonly feed: Feed; readonly subscribed: Promise<unknown> } {
    const { after, conversationId, turnId } = subscription
    const feed = new Feed(subscription)
    this.feeds.set(conversationId, feed)
    const of = turnId === undefined ? {} : { turnId, deltas: "bare" }
    return { feed, subscribed: this.request({ type: "subscribe", conversationId, after, ...of }, feed) }
  }

  /** Gives the place back, once no event of the subscription can come any more. */
  async unsubscribe(feed: Feed): Promise<void> {
    const { conversationId, turnId } = feed.subscription
    try {
      await this.request({ type: "unsubscribe", conversationId, ...(turnId === undefined ? {} : { turnId }) })
    } finally {
      this.feeds.delete(conversationId)
      for (const [id, of] of this.byCommand) if (of === feed) this.byCommand.delete(id)
      this.rest()
    }
  }

  /** Ends it, with the error for all that waits. */
  close(error: unknown): void {
    if (this.failure !== undefined) return
    this.failure = error instanceof ConnectionLost ? error : new ConnectionLost("The WebSocket was closed.")
    clearTimeout(this.silence)
    clearTimeout(this.idle)
    this.opened.reject(error)
    for (const { reject } of this.pending.values()) reject(error)
    for (const feed of this.feeds.values()) feed.fail(error)
    this.socket.close()
    this.events.over()
  }

  private receive(data: unknown): void {
    if (this.failure !== undefined) return
    this.listen()
    let message: Incoming
    try {
      message = JSON.parse(String(data)) as Incoming
    } catch (cause) {
      return this.close(new ClientError("invalid-response", "The WebSocket sent a text that is no JSON.", { cause }))
    }
    switch (message.type) {
      case "response":
        return this.respond(message)
      case "keep-alive":
        return this.events.clock(message.now, this.sentAt)
      case "unsubscribed":
        return this.feeds.get(message.conversationId)?.fail(endOf(message))
      case "reconnect":
        return this.close(new ConnectionLost(message.message, { code: message.code }))
      default:
        return this.pass(message)
    }
  }

  private pass(message: SocketEvent | BareDelta): void {
    if (!("conversationId" in message)) {
      const feed = this.byCommand.get(message.id)
      if (feed === undefined) return
      const { conversationId, turnId } = feed.subscription
      const { delta, type } = message
      return feed.push({ id: undefined, event: { type, conversationId, turnId, delta } as EventFrame["event"] })
    }
    const { eventId, ...event } = message
    this.feeds.get(event.conversationId)?.push({ id: eventId, event: event as EventFrame["event"] })
  }

  private respond({ code, data, error, id, success }: Response): void {
    const pending = this.pending.get(Number(id))
    if (success) pending?.resolve(data)
    else pending?.reject(refusalOf(code, error))
  }

  private listen(): void {
    clearTimeout(this.silence)
    this.silence = setTimeout(() => this.close(new ConnectionLost("The WebSocket was silent.")), SILENCE_MS)
  }

  private rest(): void {
    clearTimeout(this.idle)
    if (this.failure !== undefined || this.pending.size > 0 || this.feeds.size > 0) return
    this.idle = setTimeout(() => this.close(new ConnectionLost("The WebSocket was not used.")), IDLE_MS)
  }
}

// --- internal

type Response = SocketMessages.SocketResponse
type SocketEvent = SocketMessages.SocketEvent
type BareDelta = { readonly id: number; readonly type: "text-delta" | "reasoning-delta"; readonly delta: string }
type Incoming = Exclude<SocketMessages.SocketMessage, SocketMessages.BareDelta> | BareDelta

/** Codes of commands that may succeed later. */
const PASSING: ReadonlySet<string> = new Set([
  "turn-stopped",
  "shutting-down",
  "storage-unavailable",
  "starting",
  "unexpected"
])

/** The error of a refused command: final, or mended by another connection. */
const refusalOf = (code: string | undefined, error = "The command was refused."): Error =>
  code !== undefined && PASSING.has(code)
    ? new ConnectionLost(error, isReconnect(code) ? { code } : {})
    : new ClientError((code as ProblemCode | undefined) ?? "invalid-response", error)

const isReconnect = (code: string): code is Sse.Reconnect["code"] => code !== "starting"

const endOf = ({ code, message }: Pick<SocketMessages.Unsubscribed, "code" | "message">): Error =>
  code === "conversation-deleted"
    ? new ClientError("conversation-not-found", message)
    : new ConnectionLost(message, { code })
