/**
 * A provider on a socket of its own: it answers calls of one wire format, and fails them as it was told.
 *
 * Endpoint.E1. Each call that a test counts takes the next step of the plan. With no step left it answers so, which no client may show.
 * Endpoint.E2. Calls beside a turn, such as for its title, take no step. They are answered, or refused: an answer ends the wait of their turn.
 * Endpoint.E3. "refused" is a port on which nothing listens: the endpoint closes it with the step before, and `listen` opens it again.
 */
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { zstdDecompressSync } from "node:zlib"
import * as Ports from "../../tools/src/acceptance/Ports.ts"
import { type Answer, type Asked, type Format, modelOf } from "./formats/Format.ts"

/** The ways in which an attempt fails. */
export const FAILURES = [
  "rate limit",
  "overload",
  "error in a 200",
  "cut",
  "page",
  "empty",
  "stall",
  "refused"
] as const

/** What the endpoint does with a call. */
export type Step =
  | (typeof FAILURES)[number]
  | { readonly answer: Answer }
  | { readonly begins: string }
  | { readonly limitUntil: () => number }

/** A call that has arrived. */
export interface Call extends Asked {
  readonly step: Step
  /** When it arrived, by the endpoint's clock. */
  readonly at: number
  /** The connection is closed. */
  readonly closed: Promise<void>
}

/** An endpoint. */
export interface Endpoint {
  readonly url: string
  /** The calls that took a step. */
  readonly calls: ReadonlyArray<Call>
  readonly plan: (...steps: ReadonlyArray<Step>) => void
  /** While it is down, every call of any kind fails so, and takes no step. */
  down: Step | undefined
  /** Whether calls beside a turn are answered (E2). */
  answersBeside: boolean
  /** Its clock, in epoch milliseconds. */
  now: () => number
  /** The first call of any kind has arrived. */
  readonly reached: Promise<void>
  /** The first call that took a step. */
  readonly first: Promise<Call>
  /** Listens again (E3). */
  readonly listen: () => Promise<void>
  readonly close: () => void
}

/** Starts an endpoint. `isCounted`: whether a call takes a step (E2). `isGood`: whether its credential is taken; if not, it takes no step. */
export const start = async (
  format: Format,
  isCounted: (asked: Asked) => boolean = () => true,
  isGood: (authorization: string | undefined) => boolean = () => true
): Promise<Endpoint> => {
  const steps: Array<Step> = []
  const calls: Array<Call> = []
  const reached = Promise.withResolvers<void>()
  const first = Promise.withResolvers<Call>()
  const server = createServer((request, response) => void take(request, response))
  const port = await Ports.free()
  const listen = async (): Promise<void> => {
    server.listen(port, "127.0.0.1")
    await once(server, "listening")
  }
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? ""
    const closed = new Promise<void>((resolve) => void response.once("close", () => resolve()))
    const text = await textOf(request)
    if (request.method !== "POST" || !format.isCall(path))
      return document(response, 404, format.error(404, "Not found"))
    const asked: Asked = { path, body: JSON.parse(text) }
    reached.resolve()
    if (!isGood(request.headers.authorization))
      return document(response, 401, format.error(401, "The token is expired"))
    if (endpoint.down !== undefined) return perform(format, asked, response, endpoint.down, endpoint.now())
    // E2
    if (!isCounted(asked)) {
      if (!endpoint.answersBeside) return document(response, 400, format.error(400, "No calls beside the turn"))
      return perform(format, asked, response, { answer: { text: "Beside" } }, endpoint.now())
    }
    const step = steps.shift() ?? unplanned(calls, endpoint.now())
    const call: Call = { ...asked, step, closed, at: endpoint.now() }
    calls.push(call)
    // E3: what is under way stays open.
    if (steps[0] === "refused") {
      steps.shift()
      server.close()
    }
    perform(format, asked, response, step, endpoint.now())
    first.resolve(call)
  }
  await listen()
  const endpoint: Endpoint = {
    url: `http://127.0.0.1:${port}`,
    calls,
    down: undefined,
    answersBeside: true,
    now: Date.now,
    plan: (...more) => void steps.push(...more),
    first: first.promise,
    reached: reached.promise,
    listen,
    close: () => {
      server.close()
      server.closeAllConnections()
    }
  }
  return endpoint
}

/** Calls that were answered. */
export const answered = ({ calls }: Endpoint): ReadonlyArray<Call> =>
  calls.filter(({ step }) => typeof step === "object" && "answer" in step)

// --- internal

/** The answer to a call that was not planned, with what a reader needs to find out why it came. */
const unplanned = (calls: ReadonlyArray<Call>, now: number): Step => {
  const before = calls.map(({ at, step }) => `${(now - at) / 1000} s after ${JSON.stringify(step).slice(0, 100)}`)
  return { answer: { text: `An answer that nobody planned: ${before.join("; ") || "the first call"}.` } }
}

const textOf = async (request: IncomingMessage): Promise<string> => {
  const parts: Array<Buffer> = []
  for await (const part of request) parts.push(part as Buffer)
  const body = Buffer.concat(parts)
  return (request.headers["content-encoding"] === "zstd" ? zstdDecompressSync(body) : body).toString()
}

/** A limit of a plan, with the time at which it ends. */
const limit = (format: Format, response: ServerResponse, until: number, now: number): void => {
  const { body, headers } = format.limit(until, now)
  response.writeHead(429, { "content-type": "application/json", ...headers })
  response.end(JSON.stringify(body))
}

const document = (response: ServerResponse, status: number, json: object): void => {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify(json))
}

const perform = (format: Format, asked: Asked, response: ServerResponse, step: Step, now: number): void => {
  const isStream = format.isStream(asked)
  const type = isStream ? "text/event-stream" : "application/json"
  const frames = (answer: Answer): ReadonlyArray<string> =>
    isStream ? format.frames(answer, modelOf(asked)) : [JSON.stringify(format.document(answer, modelOf(asked)))]
  if (typeof step === "object" && "answer" in step) {
    response.writeHead(200, { "content-type": type })
    return void response.end(frames(step.answer).join(""))
  }
  if (typeof step === "object" && "limitUntil" in step) return limit(format, response, step.limitUntil(), now)
  if (typeof step === "object") {
    // All but its end: a stream up to its last piece of text, half of a document.
    const whole = frames({ text: step.begins }).join("")
    response.writeHead(200, { "content-type": type })
    return void response.write(whole.slice(0, whole.lastIndexOf("\n\n", whole.length * 0.75) + 2 || whole.length / 2))
  }
  const opening = isStream ? format.opening(modelOf(asked)) : "{"
  switch (step) {
    case "rate limit":
      return document(response, 429, format.error(429, "Too many requests"))
    case "overload":
      return document(response, 503, format.error(503, "The service is overloaded"))
    case "error in a 200":
      response.writeHead(200, { "content-type": type })
      return void response.end(isStream ? format.errorFrame : JSON.stringify(format.error(503, "Overloaded")))
    case "cut":
      response.writeHead(200, { "content-type": type })
      return void response.write(opening, () => setImmediate(() => response.destroy()))
    case "page":
      response.writeHead(200, { "content-type": "text/html" })
      return void response.end("<!doctype html><title>Bad gateway</title><h1>502 Bad gateway</h1>")
    case "empty":
      response.writeHead(200, { "content-type": type })
      return void response.end()
    case "stall":
      response.writeHead(200, { "content-type": type })
      return void response.write(opening)
    case "refused":
      return void response.destroy()
    default:
      return step satisfies never
  }
}
