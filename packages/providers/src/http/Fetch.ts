/**
 * Implements the HTTP port over the runtime's own `fetch`, for browsers, workers, Deno and Bun, and for small bundles.
 *
 * Fetch.F1. One call of `fetch` is one attempt, and a redirect is not followed. `fetch` itself repeats a request after a 421, as its standard
 *     requires; some runtimes repeat a request whose reused connection was cut.
 * Fetch.F2. `Broken` has the error of `fetch`, or of the reader of its body, as it was thrown.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { Broken, type BytePull, Http, type HttpResponse } from "./Http.ts"

/** The part of `fetch` that is used here. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>

/** Implements the port over a function like `fetch`, such as that of a service binding. */
export const make = (send: FetchFunction): Http["Service"] => ({
  endpoint: (url, headers) => {
    const sent = { ...headers, "content-type": "application/json" }
    return (body, scope) =>
      Effect.suspend(() => {
        const over = new AbortController()
        const init: RequestInit = { method: "POST", headers: sent, body, redirect: "manual", signal: over.signal }
        return Effect.andThen(
          Scope.addFinalizer(
            scope,
            Effect.sync(() => over.abort()) // Http.H3: without effect on a response that was read to its end
          ),
          Effect.map(
            attempt(() => send(url, init)),
            answerOf
          )
        )
      })
  }
})

/** The port over the global `fetch`, which is looked up at each call. */
export const layer: Layer.Layer<Http> = Layer.succeed(
  Http,
  make((url, init) => fetch(url, init))
)

// --- internal

const attempt = <A>(act: () => Promise<A>): Effect.Effect<A, Broken> =>
  Effect.tryPromise({ try: act, catch: (cause) => new Broken({ cause }) })

const answerOf = ({ body, headers, status, type }: Response): HttpResponse => ({
  // A browser hides a redirect's own status and address.
  status: type === "opaqueredirect" ? 302 : status,
  headers: Object.fromEntries(headers),
  bytes: body === null ? Cause.done() : bytesOf(body.getReader()),
  isWhole: () => false
})

const bytesOf = (reader: ReadableStreamDefaultReader<Uint8Array>): BytePull => {
  const bytes: BytePull = Effect.flatMap(
    attempt(() => reader.read()),
    ({ done, value }): BytePull => (done ? Cause.done() : value.length === 0 ? bytes : Effect.succeed([value]))
  )
  return bytes
}
