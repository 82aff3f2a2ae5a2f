/**
 * The HTTP port of an attempt: a POST, its response, and the streamed body.
 *
 * Http.H1. One call is one request: nothing is sent again, and no redirect is followed (C9).
 * Http.H2. A connection failure carries the error that the client threw, for the classifier to read (C1).
 * Http.H3. When the scope closes, an unfinished connection is closed. A connection whose body was read to its end is reused.
 * Http.H4. The port has no time limits: limits on silence count content (C8).
 * Http.H5. The bytes of a body are without content coding (C13). `fetch` decodes by itself.
 *
 * `Undici.ts` implements it for Node, `Fetch.ts` over the runtime's `fetch`; `layerClient` over any client of `effect/http`, at three times the cost
 * of a call.
 */
import type { ProviderCall } from "@holdfast/kernel/host"
import type * as Arr from "effect/Array"
import * as Channel from "effect/Channel"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Headers from "effect/http/Headers"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"

/** The socket reads since the last pull. It ends with the body. */
export type BytePull = Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>, Broken>

/** The response to a request. */
export interface HttpResponse {
  readonly status: number
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: BytePull
  /** Whether the whole body has arrived, so that reading it takes no time. `false` where the client does not know. */
  readonly isWhole: () => boolean
}

/** A connection failure, with the error that was thrown. The error may quote the request, so it is not shown to people. */
export class Broken extends Data.TaggedClass("Broken")<{ readonly cause: unknown }> {}

/** Sends a JSON body. */
export interface Post {
  (body: string, scope: Scope.Scope): Effect.Effect<HttpResponse, Broken>
  /** The same without a fiber. Absent where the client does not support it. */
  readonly begin?: Begin
}

/** The listener of a request: exactly one function is called, once, and none after the request was cancelled. */
export interface ResponseListener {
  /** The response has a success status. The listener reads its body, or closes it. */
  readonly answered: (answer: HttpResponse, close: () => void) => void
  /** The response has an error status; `text` is the body, up to the limits of `PlainBody.text`. */
  readonly refused: (answer: Pick<HttpResponse, "status" | "headers">, text: string) => void
  readonly broken: (broken: Broken) => void
}

/** Sends a JSON body. Returns a function that cancels the request. */
export type Begin = (
  body: string,
  world: Pick<ProviderCall.World, "after" | "elapsed">,
  listener: ResponseListener
) => () => void

/** Makes HTTP requests to endpoints. */
export class Http extends Context.Service<
  Http,
  {
    /** Prepares a URL that is posted to repeatedly. With an invalid URL every call fails. Header names are in lower case. */
    readonly endpoint: (url: string, headers: Readonly<Record<string, string>>) => Post
  }
>()("@holdfast/providers/Http") {}

/**
 * Implements the port over a client of `effect/http`.
 *
 * **Gotchas**
 *
 * C9 holds only if that client retries nothing itself. `fetch` repeats a request after a 421, as its standard requires.
 */
export const layerClient: Layer.Layer<Http, never, HttpClient.HttpClient> = Layer.effect(
  Http,
  Effect.map(HttpClient.HttpClient, (client) => ({
    endpoint: (url, headers) => {
      const given = Headers.fromInput(headers)
      return (body, scope) =>
        HttpClient.withScope(client)
          .execute(HttpClientRequest.post(url, { headers: given, body: HttpBody.text(body, "application/json") }))
          .pipe(
            Effect.mapError(broken),
            Effect.flatMap(({ headers, status, stream }) =>
              Effect.map(Channel.toPullScoped(Stream.toChannel(Stream.catch(stream, ended)), scope), (bytes) => ({
                status,
                headers,
                bytes,
                isWhole: () => false
              }))
            ),
            Effect.provideService(Scope.Scope, scope),
            // Only `fetch` follows redirects by itself.
            Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" })
          )
    }
  }))
)

// --- internal

/**
 * The error that the client threw (Http.H2). The client wraps it, with the address in the message, and calls a body that was cut off a
 * body that cannot be decoded.
 */
const broken = (error: HttpClientError.HttpClientError): Broken => {
  const { reason } = error
  if (reason._tag !== "TransportError" && reason._tag !== "DecodeError") return new Broken({ cause: error })
  return new Broken({ cause: reason.cause ?? new Error(reason.description ?? "The connection failed.") })
}

/** A missing body counts as an ended body. */
const ended = (error: HttpClientError.HttpClientError): Stream.Stream<never, Broken> =>
  error.reason._tag === "EmptyBodyError" ? Stream.empty : Stream.fail(broken(error))
