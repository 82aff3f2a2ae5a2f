/** An HTTP client for tests on the lowest level of Node: any header, raw bytes, disconnects. */
import { Data, Effect, Queue } from "effect"
import * as Http from "node:http"
import * as Net from "node:net"

export interface Request {
  readonly method?: string
  readonly path: string
  readonly headers?: Http.OutgoingHttpHeaders
  readonly body?: unknown
  /** A body in pieces, without a length. */
  readonly chunks?: ReadonlyArray<string>
}

export interface Answer {
  readonly status: number
  readonly headers: Http.IncomingHttpHeaders
  readonly text: string
}

const send = (
  port: number,
  { body, chunks, headers, method, path }: Request,
  onResponse: (r: Http.IncomingMessage) => void
) => {
  const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body)
  const request = Http.request({
    port,
    host: "127.0.0.1",
    path,
    method: method ?? (text === undefined ? "GET" : "POST"),
    agent: false,
    headers: {
      ...(text === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
      ...headers
    }
  })
  request.on("response", onResponse)
  for (const chunk of chunks ?? []) request.write(chunk)
  request.end(text)
  return request
}

/** Makes a call and reads its whole answer. */
export const call = (port: number, request: Request): Effect.Effect<Answer, Error> =>
  Effect.callback((resume) => {
    const sent = send(port, request, (response) => {
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => (text += chunk))
      response.on("end", () =>
        resume(Effect.succeed({ status: response.statusCode ?? 0, headers: response.headers, text }))
      )
      response.on("error", (error) => resume(Effect.fail(error)))
    })
    sent.on("error", (error) => resume(Effect.fail(error)))
    return Effect.sync(() => sent.destroy())
  })

export interface Live {
  readonly status: number
  readonly headers: Http.IncomingHttpHeaders
  /** The bytes of the next read. */
  readonly next: Effect.Effect<string, Error>
  /** Reads until the text contains this; returns the whole text. */
  readonly until: (part: string) => Effect.Effect<string, Error>
  /** Reads up to the end; fails if the answer broke off. */
  readonly rest: Effect.Effect<string, Error>
  readonly hangUp: Effect.Effect<void>
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
}

const END = Symbol("end")

/** The server ended the answer before what a test waits for. */
export class AnswerIsOver extends Data.TaggedError("AnswerIsOver")<{ readonly text: string }> {
  override readonly message = "the answer is over"
}

/** Makes a call and returns its answer as it arrives. */
export const open = Effect.fnUntraced(function* (port: number, request: Request) {
  const chunks = yield* Queue.unbounded<string | typeof END, Error>()
  const response = yield* Effect.callback<Http.IncomingMessage, Error>((resume) => {
    const sent = send(port, request, (response) => {
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => Queue.offerUnsafe(chunks, chunk))
      response.on("end", () => Queue.offerUnsafe(chunks, END))
      response.on("error", (error) => Effect.runSync(Queue.fail(chunks, error)))
      resume(Effect.succeed(response))
    })
    sent.on("error", (error) => resume(Effect.fail(error)))
  })
  yield* Effect.addFinalizer(() => Effect.sync(() => response.destroy()))
  let text = ""
  const next = Effect.flatMap(Queue.take(chunks), (chunk) => {
    if (chunk === END) return Effect.fail(new AnswerIsOver({ text }))
    text += chunk
    return Effect.succeed(chunk)
  })
  const until = (part: string): Effect.Effect<string, Error> =>
    Effect.suspend(() => (text.includes(part) ? Effect.succeed(text) : Effect.andThen(next, until(part))))
  const rest: Effect.Effect<string, Error> = Effect.flatMap(Queue.take(chunks), (chunk) => {
    if (chunk === END) return Effect.succeed(text)
    text += chunk
    return rest
  })
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    next,
    until,
    rest,
    hangUp: Effect.sync(() => void response.destroy()),
    pause: Effect.sync(() => void response.pause()),
    resume: Effect.sync(() => void response.resume())
  } satisfies Live
})

/** Sends bytes as they are and reads until the other side closes. */
export const raw = (port: number, text: string): Effect.Effect<string, Error> =>
  Effect.callback((resume) => {
    let received = ""
    const socket = Net.connect(port, "127.0.0.1", () => socket.write(text))
    socket.setEncoding("utf8")
    socket.on("data", (chunk: string) => (received += chunk))
    socket.on("close", () => resume(Effect.succeed(received)))
    socket.on("error", (error) => resume(Effect.fail(error)))
    return Effect.sync(() => socket.destroy())
  })

/** The JSON of each line. */
export const jsonLines = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
