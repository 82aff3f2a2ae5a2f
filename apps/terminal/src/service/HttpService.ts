/**
 * Calls a service over HTTP.
 *
 * HttpService.H1. A stream that breaks off is opened again behind the last event that came, for as long as it takes.
 * HttpService.H2. A refusal is the problem's own words.
 */
import type { TurnEvent } from "@holdfast/wire"
import type { Arrival, Service } from "./Service.ts"

/** Where a service is. */
export interface Address {
  /** Without a slash at its end. */
  readonly url: string
  readonly token: string | undefined
}

/** The service at an address. */
export const make = ({ token, url }: Address): Service => {
  const headers = (more: Record<string, string>): Record<string, string> => ({
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...more
  })
  const send = async (
    method: string,
    path: string,
    body?: unknown,
    more: Record<string, string> = {}
  ): Promise<Response> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: headers({
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...more
      }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    }).catch((error: unknown) => {
      throw new Error(`The service at ${url} does not answer (${reasonOf(error)}).`, { cause: error })
    })
    if (!response.ok) throw await refusalOf(response)
    return response
  }
  const read = async <A>(path: string): Promise<A> => (await send("GET", path)).json() as Promise<A>
  const post = async (path: string, body?: unknown, more?: Record<string, string>): Promise<void> => {
    await (await send("POST", path, body, more)).text()
  }
  const of = (conversationId: string): string => `/v1/conversations/${encodeURIComponent(conversationId)}`

  return {
    create: async ({ model }) => {
      const response = await send("POST", "/v1/conversations", model === undefined ? {} : { model })
      return ((await response.json()) as { readonly conversationId: string }).conversationId
    },
    watch: (conversationId, signal) =>
      watch(`${url}${of(conversationId)}/events`, headers({ accept: "text/event-stream" }), signal),
    prompt: (id, prompt) => post(`${of(id)}/turns`, { prompt, turnId: crypto.randomUUID() }, ASYNC),
    retry: (id) => post(`${of(id)}/retry`, { turnId: crypto.randomUUID() }, ASYNC),
    abort: (id) => post(`${of(id)}/abort`),
    abortRetry: (id) => post(`${of(id)}/abort-retry`),
    retryNow: (id) => post(`${of(id)}/retry-now`),
    waitUntil: (id, until) => post(`${of(id)}/wait-until`, { until }),
    switchTarget: (id, model) => post(`${of(id)}/switch-target`, { model }),
    extendBudget: (id, byMs) => post(`${of(id)}/extend-budget`, { byMs }),
    setAutoRetry: async (id, enabled) => void (await send("PUT", `${of(id)}/auto-retry`, { enabled })),
    state: (id) => read(of(id)),
    conversations: async () =>
      (
        await read<{ readonly conversations: Awaited<ReturnType<Service["conversations"]>> }>(
          "/v1/conversations?limit=30"
        )
      ).conversations,
    explain: (id, turnId) => read(`${of(id)}/turns/${encodeURIComponent(turnId)}/explain`),
    explainInWords: async (id, turnId) =>
      (
        await send("GET", `${of(id)}/turns/${encodeURIComponent(turnId)}/explain`, undefined, { accept: "text/plain" })
      ).text(),
    report: (since) => read(`/v1/report${since === undefined ? "" : `?since=${since}`}`)
  }
}

// --- internal

const ASYNC = { prefer: "respond-async" }

/** The pauses between connections that fail. */
const PAUSES_MS = [200, 500, 1000, 2000, 5000]

/** A `Date` header has whole seconds, and its way takes time: a smaller difference of the clocks is none. */
const LEAST_SKEW_MS = 2500

async function* watch(url: string, headers: Record<string, string>, signal: AbortSignal): AsyncGenerator<Arrival> {
  let last = "0"
  for (let failures = 0; !signal.aborted;) {
    let why = "it ended the stream"
    try {
      const response = await fetch(url, { headers: { ...headers, "last-event-id": last }, signal })
      if (response.status >= 400 && response.status < 500) throw new Refusal((await refusalOf(response)).message)
      if (!response.ok || response.body === null) throw new Error(`status ${response.status}`)
      failures = 0
      const skew = Date.parse(response.headers.get("date") ?? "") - Date.now()
      yield { type: "connected", clockSkewMs: Math.abs(skew) >= LEAST_SKEW_MS ? skew : 0 }
      for await (const { data, id, name } of framesOf(response.body)) {
        if (id !== undefined) last = id
        if (name === undefined) yield { type: "event", event: JSON.parse(data) as TurnEvent.TurnEvent }
      }
    } catch (error) {
      if (error instanceof Refusal) throw error
      why = reasonOf(error)
    }
    if (signal.aborted) return
    if (failures > 0) yield { type: "disconnected", message: `The service does not answer (${why}). Trying again…` }
    await pause(PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)] ?? 0, signal)
    failures++
  }
}

/** The service does not want this stream: there is nothing to reconnect to. */
class Refusal extends Error {}

/** One frame of a stream of Server-Sent Events. */
interface StreamFrame {
  readonly id: string | undefined
  readonly name: string | undefined
  readonly data: string
}

async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamFrame> {
  const decoder = new TextDecoder()
  let text = ""
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true })
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n")
      text = text.slice(end + 2)
      const valueOf = (field: string): string | undefined =>
        lines.find((line) => line.startsWith(`${field}: `))?.slice(field.length + 2)
      const data = valueOf("data")
      if (data !== undefined) yield { id: valueOf("id"), name: valueOf("event"), data }
    }
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener("abort", () => {
      clearTimeout(timer)
      resolve()
    })
  })

const refusalOf = async (response: Response): Promise<Error> => {
  const text = await response.text().catch(() => "")
  try {
    const { detail, errors, title } = JSON.parse(text) as {
      readonly title?: string
      readonly detail?: string
      readonly errors?: ReadonlyArray<{ readonly path: string; readonly message: string }>
    }
    const listed = (errors ?? []).map(({ message, path }) => (path === "" ? message : `${path}: ${message}`)).join("; ")
    return new Error(listed || detail || title || `The service answered with status ${response.status}.`)
  } catch {
    return new Error(`The service answered with status ${response.status}.`)
  }
}

/** `ECONNREFUSED` and the like; `fetch` wraps it. */
const reasonOf = (error: unknown): string => {
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error
  if (typeof cause === "object" && cause !== null && "code" in cause) return String(cause.code)
  return cause instanceof Error ? cause.message : String(cause)
}
