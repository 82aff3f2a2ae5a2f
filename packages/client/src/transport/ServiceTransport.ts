/** How a client reaches the service: what HTTP with server-sent events and a WebSocket have in common. */
import type { Sse } from "@holdfast/wire"
import type { SentLine } from "../CommandMethods.ts"
import type * as ClockSkew from "../stream/ClockSkew.ts"
import type { Backoff, EventFrame } from "../stream/Cursor.ts"

/** One call of the API. */
export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  /** From `/v1` on. */
  readonly path: string
  readonly body?: unknown
  /** A call that may be made again if its response is lost. */
  readonly isRepeatable: boolean
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

/** A command on a conversation, by the names of `holdfast rpc`. */
export type ConversationCommand =
  | SentLine
  | { readonly type: "prompt"; readonly prompt: unknown; readonly turnId: string }
  | { readonly type: "retry"; readonly turnId: string }

/** Whether a command may be sent again if its response is lost. A repeated abort that names no turn could end the turn behind its own. */
export const mayRepeat = (command: ConversationCommand): boolean =>
  command.type !== "abort" || ("turnId" in command && command.turnId !== undefined)

/** What a stream is of. */
export interface Subscription {
  readonly conversationId: string
  /** This turn alone; absent: the whole conversation. */
  readonly turnId: string | undefined
  /** The last event that the client has. */
  readonly after: number
  /** The prompt of the turn, with its id: the first connection hands it in. */
  readonly body?: { readonly prompt: unknown; readonly turnId: string }
}

/** Carries calls and streams. */
export interface ServiceTransport {
  /** Makes a call, and again where it may; resolves to the body of its response. */
  readonly call: (call: Call) => Promise<unknown>
  /** Sends a command; resolves once it is on disk, over a WebSocket to the data of its response. */
  readonly command: (
    conversationId: string,
    command: ConversationCommand,
    signal: AbortSignal | undefined
  ) => Promise<unknown>
  /**
   * One connection to a stream: the frames of each read, an empty read first when it is open. Ends or throws when the connection does; a throw
   * of `ConnectionLost` may be followed by another connection, any other error is final.
   */
  readonly open: (subscription: Subscription, signal: AbortSignal) => AsyncIterable<ReadonlyArray<EventFrame>>
  /** The server's clock, as far as responses have shown it. */
  readonly skew: () => ClockSkew.ClockSkew
  readonly close: () => void
}

/** Where the service is, and how patient the client is with it. */
export interface ServiceOptions {
  /** Without a slash at its end. */
  readonly url: string
  readonly token: string | undefined
  readonly retryForMs: number
  readonly backoff: Backoff
}

/** Makes a transport over the one for calls. */
export type ChosenTransport = (service: ServiceOptions, http: ServiceTransport) => ServiceTransport

/** A connection has ended before its stream, and another may do better. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost"
  /** The reason that the server gave. */
  readonly code: Sse.Reconnect["code"] | undefined
  readonly retryAfterMs: number | undefined

  constructor(
    message: string,
    {
      code,
      retryAfterMs,
      ...options
    }: {
      readonly code?: Sse.Reconnect["code"]
      readonly retryAfterMs?: number | undefined
      readonly cause?: unknown
    } = {}
  ) {
    super(message, options)
    this.code = code
    this.retryAfterMs = retryAfterMs
  }
}

/** Longer than two intervals of keep-alives: a connection that is silent for so long is dead. */
export const SILENCE_MS = 45_000
