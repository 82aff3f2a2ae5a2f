/**
 * Reaches the service over HTTP, with server-sent events for streams.
 *
 * A call that may be made twice is made again while the service cannot be reached or is about to be back (503), for `retryForMs` at
 * most. The token is in a header alone: in no address, and in no message of an error. A connection that is silent for longer than two
 * intervals of keep-alives is cut. Time in which the reader is busy does not count.
 */
import { Commands, type Sse } from "@holdfast/wire"
import { ClientError, type ProblemCode, type ProblemDetails, wordsOf } from "../ClientError.ts"
import * as ClockSkew from "../stream/ClockSkew.ts"
import * as Cursor from "../stream/Cursor.ts"
import {
  type Call,
  ConnectionLost,
  type ConversationCommand,
  type ServiceOptions,
  SILENCE_MS,
  type Subscription,
  type ServiceTransport,
  mayRepeat
} from "./ServiceTransport.ts"
import { sleep } from "./Runtime.ts"

/** The part of `fetch` that is used. */
export type Fetch = (
  url: string,
  init: {
    readonly method: string
    readonly headers: Record<string, string>
    readonly body?: string
    readonly signal: AbortSignal | null
    readonly cache: "no-store"
  }
) => Promise<FetchResponse>

/** The part of a `Response` that is used. */
export interface FetchResponse {
  readonly ok: boolean
  readonly status: number
  readonly headers: { readonly get: (name: string) => string | null }
  readonly text: () => Promise<string>
  readonly body: { readonly getReader: () => BodyReader } | null
}

interface BodyReader {
  readonly read: () => Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
  readonly cancel: () => Promise<void>
}

/** Where the service is, and what makes requests. */
export interface HttpOptions extends ServiceOptions {
  readonly fetch: Fetch
}

/** Makes the transport. */
export const make = (options: HttpOptions): ServiceTransport => new HttpTransport(options)

// Cuts a stream of server-sent events into its frames, wherever the text was cut.
//
// A line ends with `\n`, `\r\n` or `\r`; a frame ends with an empty line. A frame that has no end is no frame.

/** One frame. Comments are none. */
export interface SseFrame {
  /** The frame's `event`; absent for the events of turns. */
  readonly name: string | undefined
  readonly id: string | undefined
  readonly data: string
}

/** Reads one stream. */
export class SseReader {
  private rest = ""
  private name: string | undefined = undefined
  private id: string | undefined = undefined
  private data: Array<string> = []
  private isBehindReturn = false

  /** Takes the next text; returns the frames that it ends. */
  push(text: string): ReadonlyArray<SseFrame> {
    const frames: Array<SseFrame> = []
    // A line feed right behind a carriage return ends the same line.
    const since = this.isBehindReturn && text.startsWith("\n") ? text.slice(1) : text
    if (text !== "") this.isBehindReturn = text.endsWith("\r")
    const lines = (this.rest + since).split(/\r\n|\n|\r/)
    this.rest = lines.pop() ?? ""
    for (const line of lines) {
      if (line !== "") this.field(line)
      else if (this.data.length > 0) frames.push(this.ended())
      else this.clear()
    }
    return frames
  }

  private field(line: string): void {
    const colon = line.indexOf(":")
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? "" : line.slice(line.startsWith(" ", colon + 1) ? colon + 2 : colon + 1)
    if (name === "data") this.data.push(value)
    else if (name === "event") this.name = value
    else if (name === "id") this.id = value
  }

  private ended(): SseFrame {
    const frame = { name: this.name, id: this.id, data: this.data.join("\n") }
    this.clear()
    return frame
  }

  private clear(): void {
    this.name = undefined
    this.id = undefined
    this.data = []
  }
}

// --- internal

class HttpTransport implements ServiceTransport {
  private readonly options: HttpOptions
  private known = ClockSkew.unknown
  private readonly closing = new AbortController()

  constructor(options: HttpOptions) {
    this.options = options
  }

  skew(): ClockSkew.ClockSkew {
    return this.known
  }

  close(): void {
    this.closing.abort(new ClientError("closed", "The client was closed."))
  }

  async call(call: Call): Promise<unknown> {
    const signal = either(call.signal, this.closing.signal)
    const beganAt = Date.now()
    let cursor = Cursor.start()
    for (;;) {
      try {
        const response = await this.request(call.method, call.path, signal, {
          accept: "application/json",
          ...call.headers,
          ...(call.body === undefined ? undefined : { body: JSON.stringify(call.body) })
        })
        const text = await response.text()
        return text.trim() === "" ? undefined : parsed(text, this.options.url)
      } catch (error) {
        signal.throwIfAborted()
        if (!isPassing(error) || !call.isRepeatable) throw finalOf(error, this.options.url)
        const { cursor: next, delayMs } = Cursor.ended(cursor, endingOf(error, 0), this.options.backoff)
        if (Date.now() + delayMs - beganAt > this.options.retryForMs) throw finalOf(error, this.options.url)
        cursor = next
        await sleep(delayMs, signal)
      }
    }
  }

  async command(id: string, command: ConversationCommand, signal: AbortSignal | undefined): Promise<unknown> {
    const { type, ...rest } = command
    const at = `/v1/conversations/${encodeURIComponent(id)}`
    const [method, path] = ROUTES.get(type) ?? ["POST", type]
    const body = Object.keys(rest).length === 0 ? undefined : rest
    const headers = type === "prompt" || type === "retry" ? { headers: SUBMITTED } : undefined
    const isRepeatable = mayRepeat(command)
    return await this.call({ method, path: `${at}/${path}`, body, isRepeatable, signal, ...headers })
  }

  async *open(subscription: Subscription, outer: AbortSignal): AsyncGenerator<ReadonlyArray<Cursor.EventFrame>> {
    const connection = new AbortController()
    const signal = either(either(outer, this.closing.signal), connection.signal)
    const lively = async <A>(work: Promise<A>): Promise<A> => {
      const silence = setTimeout(() => connection.abort(new ConnectionLost("The connection was silent.")), SILENCE_MS)
      try {
        return await work
      } catch (error) {
        if (outer.aborted) throw outer.reason
        throw connection.signal.aborted ? connection.signal.reason : error
      } finally {
        clearTimeout(silence)
      }
    }
    let reader: BodyReader | undefined
    try {
      const { body } = await lively(this.subscribe(subscription, signal))
      yield []
      reader = body?.getReader()
      const frames = new SseReader()
      const text = new TextDecoder()
      if (reader === undefined) return
      for (;;) {
        const { done, value } = await lively(reader.read())
        if (done) return
        const read = frames.push(text.decode(value, { stream: true }))
        const last = read.findIndex(({ name }) => name === "reconnect")
        const events = (last < 0 ? read : read.slice(0, last)).flatMap(eventOf)
        if (events.length > 0) yield events
        if (last >= 0) throw lostOf(read[last])
      }
    } catch (error) {
      outer.throwIfAborted()
      this.closing.signal.throwIfAborted()
      throw isPassing(error) ? lost(error) : error
    } finally {
      reader?.cancel().catch(() => {})
      connection.abort()
    }
  }

  private subscribe(subscription: Subscription, signal: AbortSignal): Promise<FetchResponse> {
    const { after, body, conversationId } = subscription
    const head = { accept: "text/event-stream" }
    if (body === undefined || after > 0) return this.request("GET", pathOf(subscription), signal, head)
    // The same turn again is the same turn.
    const path = `/v1/conversations/${encodeURIComponent(conversationId)}/turns`
    return this.request("POST", path, signal, { ...head, body: JSON.stringify(body) })
  }

  /** One request. Rejects with a `ClientError` for a response that is no success. */
  private async request(
    method: Call["method"],
    path: string,
    signal: AbortSignal,
    { body, ...headers }: { readonly body?: string; readonly [name: string]: string | undefined }
  ): Promise<FetchResponse> {
    const { fetch, token, url } = this.options
    const sentAt = Date.now()
    const response = await fetch(url + path, {
      method,
      signal,
      cache: "no-store",
      headers: {
        ...(headers as Record<string, string>),
        ...(token === undefined ? undefined : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? undefined : { "content-type": "application/json" })
      },
      ...(body === undefined ? undefined : { body })
    })
    const shown = ClockSkew.ofDate(response.headers.get("date"), sentAt, Date.now())
    if (shown !== undefined) this.known = ClockSkew.observed(this.known, shown)
    if (!response.ok) throw await refusalOf(response, method, path)
    return response
  }
}

const SUBMITTED = { prefer: "respond-async" }

const ROUTES: ReadonlyMap<string, readonly ["POST" | "PUT", string]> = new Map(
  Commands.names().map((name) => [Commands.snake(name), Commands.routeOf(name)])
)

const pathOf = ({ after, conversationId, turnId }: Subscription): string =>
  turnId === undefined
    ? `/v1/conversations/${encodeURIComponent(conversationId)}/events?after=${after}`
    : `/v1/turns/${encodeURIComponent(turnId)}/events`

const either = (a: AbortSignal | undefined, b: AbortSignal): AbortSignal =>
  a === undefined ? b : AbortSignal.any([a, b])

/** A response with this status may be a success later. */
const isPassingStatus = (status: number): boolean => status >= 500 || status === 408 || status === 425 || status === 429

/** Whether the same request may succeed later: the service was not reached, or it was not ready. */
const isPassing = (error: unknown): boolean =>
  !(error instanceof ClientError) || (error.status !== undefined && isPassingStatus(error.status))

const retryAfters = new WeakMap<ClientError, number>()

const endingOf = (error: unknown, openMs: number): Cursor.Ending => ({
  openMs,
  spread: Math.random(),
  retryAfterMs: error instanceof ClientError ? retryAfters.get(error) : undefined
})

const lost = (error: unknown): ConnectionLost =>
  error instanceof ConnectionLost
    ? error
    : new ConnectionLost(messageOf(error), {
        cause: error,
        retryAfterMs: error instanceof ClientError ? retryAfters.get(error) : undefined
      })

const lostOf = (frame: SseFrame | undefined): ConnectionLost | ClientError => {
  const { code, message } = parsed(frame?.data ?? "{}", "the stream") as Partial<Sse.Reconnect>
  if (code === "conversation-deleted") return new ClientError("conversation-not-found", message ?? "It was deleted.")
  return new ConnectionLost(message ?? "The service closed the stream.", code === undefined ? {} : { code })
}

const finalOf = (error: unknown, url: string): unknown =>
  error instanceof ClientError
    ? error
    : new ClientError("unreachable", `The service at ${url} does not answer: ${messageOf(error)}`, { cause: error })

/** `fetch failed` is no reason; its cause is. */
const messageOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return cause instanceof Error ? cause.message || cause.name : String(cause)
}

const parsed = (text: string, from: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ClientError("invalid-response", `What answers at ${from} is no Holdfast service of this version.`, {
      cause
    })
  }
}

const eventOf = ({ data, id, name }: SseFrame): ReadonlyArray<Cursor.EventFrame> => {
  if (name !== undefined) return [] // a name that a later version adds
  const position = id === undefined ? undefined : Number(id)
  // The service is of the same protocol: its events are not checked again.
  return [{ id: position, event: parsed(data, "the stream") as Cursor.EventFrame["event"] }]
}

const refusalOf = async (response: FetchResponse, method: string, path: string): Promise<ClientError> => {
  const { status } = response
  const text = await response.text().catch(() => "")
  const problem = problemOf(text)
  const words = problem === undefined ? undefined : wordsOf(problem)
  const [at] = path.split("?")
  const error = new ClientError(
    (problem?.type.replace(/^.*#problem-/, "") as ProblemCode | undefined) ?? "invalid-response",
    `${method} ${at}: ${words ?? `status ${status}, and no problem of a Holdfast service`}`,
    { status, ...(problem === undefined ? undefined : { problem }) }
  )
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN)
  if (seconds > 0) retryAfters.set(error, seconds * 1_000)
  return error
}

const problemOf = (text: string): ProblemDetails | undefined => {
  try {
    const value = JSON.parse(text)
    return typeof value?.type === "string" && typeof value.title === "string" ? value : undefined
  } catch {
    return undefined
  }
}
