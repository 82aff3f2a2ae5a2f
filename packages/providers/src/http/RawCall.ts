/**
 * Sends one request to a provider's endpoint, and passes on its response as it comes.
 *
 * The gateway uses it for calls of other programs, whose method, headers and body are theirs. `Undici` implements
 * `Http`, the port of attempts, over it, with decoded bodies.
 *
 * One call is one request: nothing is sent again, and no redirect is followed (rule C9). There are no limits of time here.
 *
 * RawCall.R2. After `close` the listener is not called any more, and the connection of an unfinished response is freed.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Readable } from "node:stream"
import type { Dispatcher } from "undici"
import type * as Http from "./Http.ts"
import * as Proxy from "./Proxy.ts"

/** Readers of raw bodies decode them by it. */
export * as ContentCoding from "./ContentCoding.ts"

/** Headers as on the wire: name, value, name, value … */
export type RawHeaders = ReadonlyArray<string>

/** A request as it goes up. */
export interface Request {
  /** The whole address, with its query. */
  readonly url: string
  readonly method: string
  readonly headers: RawHeaders
  readonly body: string | Buffer | Readable | null
}

/** The head of a response. */
export interface RawHead {
  readonly status: number
  readonly statusText: string
  readonly headers: RawHeaders
}

/** Takes a response: `head`, `data` for the bytes of each read, with any content coding (`false`: read no further until `resume`), and `end` or `broken`. */
export type RawListener = Http.Listener<RawHead>

/** A request that was sent: `resume` reads on, `close` gives it up. */
export type Call = Http.Call

/** Sends a request. */
export type Send = (request: Request, listener: RawListener) => Call

/** Sends over connections of its own, which close with the scope; through proxies, where given. */
export const sendVia = (proxies: Proxy.Proxies | undefined): Effect.Effect<Send, never, Scope.Scope> =>
  Effect.map(Proxy.dispatcher(proxies), sendOver)

/** Sends over a dispatcher. */
export const sendOver =
  (dispatcher: Pick<Dispatcher, "dispatch">): Send =>
  (request, listener) => {
    const handler = new Handler(listener)
    try {
      const { origin, path } = addressOf(request.url)
      const { body, headers, method } = request
      const sent = { origin, path, method, headers: [...headers], body, headersTimeout: 0, bodyTimeout: 0 }
      dispatcher.dispatch(sent, handler)
    } catch (cause) {
      handler.fail(cause)
    }
    handler.isSent = true
    return handler
  }

/** The headers by lower-case name; a repeated one is joined. */
export const record = (headers: RawHeaders): Readonly<Record<string, string>> => {
  const named: Record<string, string> = {}
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = (headers[at] ?? "").toLowerCase()
    const value = headers[at + 1] ?? ""
    const before = named[name]
    named[name] = before === undefined ? value : `${before}, ${value}`
  }
  return named
}

// --- internal

/** The origin, and the rest of the address as it is written: a URL's own reading could change escapes and dots of the path. */
const addressOf = (url: string): { readonly origin: string; readonly path: string } => {
  const { origin } = new URL(url)
  const path = /^https?:\/\/[^/?#]*([^#]*)/iu.exec(url)?.[1] ?? ""
  return { origin, path: path.startsWith("/") ? path : `/${path}` }
}

class Handler implements Dispatcher.DispatchHandler, Call {
  isSent = false
  private readonly listener: RawListener
  private controller: Dispatcher.DispatchController | undefined = undefined
  private isOver = false

  constructor(listener: RawListener) {
    this.listener = listener
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.isOver) controller.abort(new Error(OVER))
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | Array<string> | undefined>>,
    statusText?: string
  ): void {
    // 100, 102 and 103 precede the response.
    if (status < 200 || this.isOver) return
    const raw = controller.rawHeaders
    controller.rawHeaders = null // undici would keep a buffer of each until the end of the response
    this.listener.head({ status, statusText: statusText ?? "", headers: rawOf(raw, headers) })
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (!this.isOver && !this.listener.data(bytes)) controller.pause()
  }

  onResponseEnd(): void {
    if (this.isOver) return
    this.isOver = true
    this.listener.end()
  }

  onResponseError(_controller: unknown, cause: Error): void {
    this.fail(cause)
  }

  fail(cause: unknown): void {
    // undici reports what it does not send, such as an invalid header, before the call has returned; the listener gets it then.
    if (!this.isSent) return queueMicrotask(() => this.fail(cause))
    if (this.isOver) return
    this.isOver = true
    this.listener.broken(cause)
  }

  readonly resume = (): void => {
    if (this.controller?.paused === true) this.controller.resume()
  }

  close(): void {
    if (this.isOver) return
    this.isOver = true // RawCall.R2
    this.controller?.abort(new Error(OVER))
  }
}

const OVER = "The call is over."

/** HTTP/1.1 gives the bytes of the headers; HTTP/2 and proxies may give the record alone. */
const rawOf = (raw: unknown, record: Readonly<Record<string, string | Array<string> | undefined>>): RawHeaders => {
  if (Array.isArray(raw))
    return raw.map((text: unknown) => (Buffer.isBuffer(text) ? text.toString("latin1") : String(text)))
  return Object.entries(record).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().flatMap((each) => [name, each])
  )
}
