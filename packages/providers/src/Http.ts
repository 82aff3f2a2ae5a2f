/**
 * The port to HTTP: what one attempt needs of it, and nothing else. A POST, what it is answered with, and the body as it comes.
 *
 * H1. One call is one request: nothing is sent again, and no redirect is followed (C9).
 * H2. What happens to the connection comes as what the client threw, for the classifier to look into (C1).
 * H3. When the scope closes, an unfinished connection is closed. One whose body has been read to its end is used again.
 * H4. Nothing here limits time: silence is judged by content (C8).
 *
 * `Undici.ts` implements it for Node; `layerClient` over any client of `effect/http`, at three times the cost of a call.
 */
import type { Opening } from "@holdfast/kernel"
import { type Array as Arr, Channel, Context, Data, Effect, Layer, type Pull, Scope, Stream } from "effect"
import { FetchHttpClient, Headers, HttpBody, HttpClient, HttpClientRequest } from "effect/http"
import type { HttpClientError } from "effect/http"

/** What has come since the last pull, in reads of the socket. It ends with the body. */
export type BytePull = Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>, Broken>

/** What a request is answered with. */
export interface Answer {
  readonly status: number
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: BytePull
  /** Whether the body is here to its end, so that reading it cannot take time. `false` where the client cannot tell. */
  readonly isWhole: () => boolean
}

/** What happened to the connection, as it was thrown. It may quote the request: it is not for people. */
export class Broken extends Data.TaggedClass("Broken")<{ readonly cause: unknown }> {}

/** Sends a body, as JSON. */
export interface Post {
  (body: string, scope: Scope.Scope): Effect.Effect<Answer, Broken>
  /** The same without a fiber. Absent where the client cannot. */
  readonly begin?: Begin
}

/** The listener of a request: one of the functions is called, once, and none after the request was cancelled. */
export interface Heard {
  /** Its stream may begin. The listener reads the bytes, or closes the answer. */
  readonly answered: (answer: Answer, close: () => void) => void
  /** Another status than of success; `text` is the body, as far as `Body.text` reads one. */
  readonly refused: (answer: Pick<Answer, "status" | "headers">, text: string) => void
  readonly broken: (broken: Broken) => void
}

/** Sends a body, as JSON, and returns what cancels the request. */
export type Begin = (body: string, world: Pick<Opening.World, "after" | "elapsed">, heard: Heard) => () => void

export class Http extends Context.Service<
  Http,
  {
    /** An address that is posted to again and again. One that is none fails every call. Names of headers are in lower case. */
    readonly endpoint: (url: string, headers: Readonly<Record<string, string>>) => Post
  }
>()("@holdfast/providers/Http") {}

/**
 * Over a client of `effect/http`.
 *
 * **Gotchas**
 *
 * C9 holds as long as that client retries nothing itself. `fetch` must send again after a 421, by its standard.
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
            // `fetch` would follow redirects by itself; the other clients never do.
            Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" })
          )
    }
  }))
)

// --- internal

const broken = (error: HttpClientError.HttpClientError): Broken => new Broken({ cause: error })

/** A body that is missing is one that has ended. */
const ended = (error: HttpClientError.HttpClientError): Stream.Stream<never, Broken> =>
  error.reason._tag === "EmptyBodyError" ? Stream.empty : Stream.fail(broken(error))
