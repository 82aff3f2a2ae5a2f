/**
 * The HTTP port of an attempt: a POST, its response, and the streamed body. `Undici.ts` implements it for Node, `Fetch.ts` over the runtime's `fetch`.
 *
 * One call is one request: nothing is sent again, and no redirect is followed (C9). A connection failure carries the error that the client
 * threw, for the classifier to read (C1). It may quote the request, so it is not shown to people.
 *
 * Http.H3. After `close` the listener is not called any more, and an unfinished connection is closed. A connection whose body was read to its end
 *     is reused.
 *
 * The port has no time limits: limits on silence count content (C8). The bytes of a body are without content coding (C13); `fetch` decodes by
 * itself.
 */
import * as Context from "effect/Context"

/** The head of a response. */
export interface Head {
  readonly status: number
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
}

/** Takes a response, never before its call has returned. */
export interface Listener<H = Head> {
  readonly head: (head: H) => void
  /** Takes the bytes of one read. With `false` the connection is not read until `resume`. */
  readonly data: (bytes: Uint8Array) => boolean
  readonly end: () => void
  /** The connection failed, before or in the response. */
  readonly broken: (cause: unknown) => void
}

/** A request that was sent. */
export interface Call {
  readonly resume: () => void
  readonly close: () => void
}

/** Sends a JSON body. */
export type Post = (body: string, listener: Listener) => Call

/** Makes HTTP requests to endpoints. */
export class Http extends Context.Service<
  Http,
  {
    /** Prepares a URL that is posted to repeatedly. With an invalid URL every call fails. Header names are in lower case. */
    readonly endpoint: (url: string, headers: Readonly<Record<string, string>>) => Post
  }
>()("@holdfast/providers/Http") {}
