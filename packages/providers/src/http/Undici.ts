/**
 * Implements the HTTP port on Node, over undici's dispatcher, and decodes content codings.
 *
 * It creates no stream, signal or promise for a request.
 *
 * Turns that wake together do not queue for each other: over HTTP/1.1 there are as many connections as requests; over HTTP/2, used where an
 * endpoint offers it, there are enough connections to run all requests at once.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Dispatcher } from "undici"
import * as ContentCoding from "./ContentCoding.ts"
import { type Call, Http, type Listener } from "./Http.ts"
import * as Proxy from "./Proxy.ts"
import * as RawCall from "./RawCall.ts"

/** Implements the port over a given dispatcher: a proxy's, or one with other limits. */
export const make = (dispatcher: Pick<Dispatcher, "dispatch">): Http["Service"] => {
  const send = RawCall.sendOver(dispatcher)
  return {
    endpoint: (address, headers) => {
      const url = URL.parse(address)?.href ?? address
      const sent = Object.entries({ ...headers, "content-type": "application/json" }).flat()
      return (body, listener) => decoded((raw) => send({ url, method: "POST", headers: sent, body }, raw), listener)
    }
  }
}

/** The port over its own connections, which close with the scope; through proxies, where given. */
export const layerVia = (proxies: Proxy.Proxies | undefined): Layer.Layer<Http> =>
  Layer.effect(Http, Effect.map(Proxy.dispatcher(proxies), make))

/** The port over its own connections, without a proxy. */
export const layer: Layer.Layer<Http> = layerVia(undefined)

/**
 * `fetch` over connections of its own, which close with the scope; through proxies, where given. For libraries that make their requests by `fetch`.
 *
 * **Details**
 *
 * It has no limits of time, and follows no redirect: one call is one request.
 */
export const fetchVia = (proxies: Proxy.Proxies | undefined): Effect.Effect<typeof fetch, never, Scope.Scope> =>
  Effect.gen(function* () {
    const agent = yield* Proxy.dispatcher(proxies)
    const { fetch: plain } = yield* Effect.promise(() => import("undici"))
    const dispatcher = agent.compose(
      (dispatch) => (options, handler) => dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler)
    )
    // The runtime's `fetch` is an older undici: the types differ, and the values do not.
    const send = plain as unknown as (input: unknown, init: object) => Promise<Response>
    return (input, init) => send(input, { redirect: "manual", ...init, dispatcher })
  })

// --- internal

/** Makes a call whose listener gets the decoded body. */
const decoded = (send: (listener: RawCall.RawListener) => Call, listener: Listener): Call => {
  let decoding: ContentCoding.Decoding | undefined
  /** The connection's failure, which counts once the bytes before it are decoded. */
  let cut: { readonly cause: unknown } | undefined
  const end = () => (cut === undefined ? listener.end() : listener.broken(cut.cause))
  const call = send({
    head: ({ headers: raw, status }) => {
      const headers = RawCall.record(raw)
      const coding = ContentCoding.of(headers["content-encoding"], status)
      const broken = (cause: unknown): void => {
        call.close()
        listener.broken(cause)
      }
      if (typeof coding === "object") return broken(coding)
      decoding = coding?.({
        data: (bytes) => void (listener.data(bytes) || decoding?.pause()),
        end,
        broken,
        drained: call.resume
      })
      listener.head({ status, headers })
    },
    data: (bytes) => (decoding === undefined ? listener.data(bytes) : decoding.write(bytes)),
    end: () => (decoding === undefined ? end() : decoding.end()),
    broken: (cause) => {
      cut = { cause }
      if (decoding === undefined) end()
      else decoding.end()
    }
  })
  return {
    resume: () => (decoding === undefined ? call.resume() : decoding.resume()),
    close: () => {
      decoding?.close()
      call.close()
    }
  }
}
