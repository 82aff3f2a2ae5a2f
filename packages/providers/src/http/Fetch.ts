/**
 * Implements the HTTP port over the runtime's own `fetch`, for browsers, workers, Deno and Bun, and for small bundles.
 *
 * One call of `fetch` is one attempt, and a redirect is not followed. `fetch` itself repeats a request after a 421, as its standard
 * requires; some runtimes repeat a request whose reused connection was cut. `broken` gets the error of `fetch`, or of the reader of its
 * body, as it was thrown.
 */
import * as Layer from "effect/Layer"
import { type Call, type Head, Http, type Listener } from "./Http.ts"

/** The part of `fetch` that is used here. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>

/** Implements the port over a function like `fetch`, such as that of a service binding. */
export const make = (send: FetchFunction): Http["Service"] => ({
  endpoint: (url, headers) => {
    const sent = { ...headers, "content-type": "application/json" }
    return (body, listener) =>
      read((signal) => send(url, { method: "POST", headers: sent, body, redirect: "manual", signal }), listener)
  }
})

/** The port over the global `fetch`, which is looked up at each call. */
export const layer: Layer.Layer<Http> = Layer.succeed(
  Http,
  make((url, init) => fetch(url, init))
)

// --- internal

const read = (ask: (signal: AbortSignal) => Promise<Response>, listener: Listener): Call => {
  const over = new AbortController()
  const { signal } = over
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  let resume = (): void => {}
  const all = async (): Promise<void> => {
    await undefined // the listener is not called before this call has returned
    const response = await ask(signal)
    reader = response.body?.getReader()
    if (signal.aborted) return reader?.cancel() // what fails of it is caught below
    listener.head(headOf(response))
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
      if (signal.aborted) return
      if (next.value.length > 0 && !listener.data(next.value)) await new Promise<void>((go) => (resume = go))
    }
    if (!signal.aborted) listener.end()
  }
  all().catch((cause: unknown) => signal.aborted || listener.broken(cause))
  return {
    resume: () => resume(),
    // Without effect on a response that was read to its end (Http.H3). A function of the caller may not know the signal.
    close: () => {
      over.abort()
      reader?.cancel().catch(() => {})
    }
  }
}

const headOf = ({ headers, status, type }: Response): Head => ({
  // A browser hides a redirect's own status and address.
  status: type === "opaqueredirect" ? 302 : status,
  headers: Object.fromEntries(headers)
})
