/**
 * A provider for integration tests: sends prepared responses over a real socket.
 *
 * ScriptedServer.R1. Each request gets the next response in the order given, whatever the request is.
 * ScriptedServer.R2. A request without a response left gets a 400 with that reason, so a surplus attempt ends a turn early.
 * ScriptedServer.R3. Frames are sent verbatim, each in its own write. Half a frame is a frame, too.
 */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as AnthropicDialect from "../src/server/AnthropicDialect.ts"
import * as AnswerText from "../src/AnswerText.ts"
import { ResponseAction } from "../src/ResponseAction.ts"
import type { StreamAction } from "../src/server/ServerDialect.ts"
import type * as ErrorBody from "../src/ErrorBody.ts"
import {
  type Exchange,
  type ListenError,
  listen,
  type RunningServer,
  type ListenOptions,
  type RecordedRequest
} from "../src/server/LoopbackServer.ts"
import * as OpenAiDialect from "../src/server/OpenAiDialect.ts"

export * as ErrorBody from "../src/ErrorBody.ts"
export type { ListenOptions, RecordedRequest } from "../src/server/LoopbackServer.ts"

/** A point in a response that is passed only after the test opens it. */
export interface ResponseGate {
  /** Waits until a response has reached the gate; everything before it has been written. */
  readonly reached: Effect.Effect<void>
  /** Lets every response pass, now and later. */
  readonly open: Effect.Effect<void>
  /** For the server: marks the gate as reached, and waits until it is open. */
  readonly pass: Effect.Effect<void>
}

/** Makes a closed gate. */
export const gate = (): ResponseGate => {
  const arrival = Latch.makeUnsafe()
  const way = Latch.makeUnsafe()
  return {
    reached: arrival.await,
    open: Effect.asVoid(way.open),
    pass: Effect.andThen(arrival.open, way.await)
  }
}

/** A response as a whole. */
export interface PreparedResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** A string is sent as text, any other value as JSON. */
  readonly body?: string | Schema.Json
  /** The response is sent after this gate is open. */
  readonly hold?: ResponseGate
}

/** A response as a stream; by default 200 and `text/event-stream`. */
export interface StreamedResponse {
  readonly frames: ReadonlyArray<string | ResponseGate>
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Cuts the connection when this many frames, gates not counted, have been written. */
  readonly cutAfter?: number
  /** Sends nothing more after this many frames, gates not counted, and keeps the connection open. */
  readonly stallAfter?: number
  /** The response is sent after this gate is open. */
  readonly hold?: ResponseGate
}

/** A connection that is reset before any response, or that never gets one. */
export type NoResponse = "reset" | "never"

/** Any prepared response. */
export type ScriptedResponse = PreparedResponse | StreamedResponse | NoResponse

/** A running server with its queue of responses. */
export interface ScriptedServer extends RunningServer {
  /** Appends responses to the queue. */
  readonly respond: (...responses: ReadonlyArray<ScriptedResponse>) => void
  /**
   * Sets the response to requests without one in the queue, in place of the 400. A function chooses it by the request; an effect may wait
   * before it does.
   */
  readonly fallback: (
    response: ScriptedResponse | ((request: RecordedRequest) => ScriptedResponse | Effect.Effect<ScriptedResponse>)
  ) => void
  /** The number of responses in the queue. */
  readonly left: () => number
}

/**
 * Serves until the scope closes, by default on a free port of loopback.
 *
 * **Example** (Two failures, an answer that is cut, an answer)
 *
 * ```ts
 * const server = yield* ScriptedServer.start()
 * const gate = ScriptedServer.gate()
 * server.respond(
 *   { status: 429, body: ErrorBody.envelope("overloaded", "anthropic") },
 *   { status: 502, headers: { "content-type": "text/html" }, body: ErrorBody.page(502) },
 *   { frames: ScriptedServer.answerFrames("openai", "Hello there"), cutAfter: 2 },
 *   { frames: ["data: {}\n\n", gate, ...ScriptedServer.answerFrames("openai", "Hello there")] }
 * )
 * // ... drive a client against server.url, then:
 * yield* gate.reached
 * yield* gate.open
 * server.count("/v1/chat/completions") // 4
 * ```
 */
export const start = (options: ListenOptions = {}): Effect.Effect<ScriptedServer, ListenError, Scope.Scope> =>
  Effect.gen(function* () {
    const queue: Array<ScriptedResponse> = []
    let fallback: Parameters<ScriptedServer["fallback"]>[0] | undefined
    let answered = 0
    const listening = yield* listen(options, (exchange) =>
      Effect.suspend(() => {
        answered += 1
        const next = queue.shift() ?? (typeof fallback === "function" ? fallback(exchange.request) : fallback)
        return Effect.isEffect(next)
          ? Effect.flatMap(next, (response) => send(exchange, response))
          : send(exchange, next ?? noneLeft(exchange, answered)) // ScriptedServer.R1
      })
    )
    return {
      ...listening,
      respond: (...responses) => {
        queue.push(...responses)
      },
      fallback: (response) => {
        fallback = response
      },
      left: () => queue.length
    }
  })

// --- frames

/** Recorded chunks, one JSON text each, as the frames of an OpenAI-compatible provider. */
export const openAiFrames = (chunks: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...chunks.map((chunk) => `data: ${chunk}\n\n`),
  "data: [DONE]\n\n"
]

/** Recorded chunks, one JSON text each, as Anthropic's frames: each has its `type` as name. */
export const anthropicFrames = (chunks: ReadonlyArray<string>): ReadonlyArray<string> =>
  chunks.map((chunk) => `event: ${/"type"\s*:\s*"([^"]*)"/.exec(chunk)?.[1] ?? "message"}\ndata: ${chunk}\n\n`)

/** A complete answer: the first frame is the preamble, each word has a frame, and the last one ends the stream. */
export const answerFrames = (format: ErrorBody.ErrorFormat, text: string): ReadonlyArray<string> => {
  const tokens = AnswerText.tokens(text)
  const usage = { inputTokens: 1, outputTokens: tokens.length }
  return render(format, [
    ResponseAction.Open(),
    ...tokens.map((token) => ResponseAction.Text({ token })),
    ResponseAction.Finish({ finishReason: "stop", usage })
  ])
}

/** A complete response that calls a tool: preamble, call, end. `inputTokens` is the reported size of the request. */
export const toolCallFrames = (
  format: ErrorBody.ErrorFormat,
  name: string,
  input: Schema.Json,
  inputTokens = 1
): ReadonlyArray<string> =>
  render(
    format,
    [
      ResponseAction.Open(),
      ResponseAction.ToolCall({ name, input: JSON.stringify(input) }),
      ResponseAction.Finish({ finishReason: "tool-calls", usage: { inputTokens, outputTokens: 1 } })
    ],
    inputTokens
  )

/** An error inside a stream, as one frame (C3). */
export const errorFrame = (format: ErrorBody.ErrorFormat, error: ErrorBody.ErrorName): string =>
  render(format, [ResponseAction.Fail({ error })]).join("")

// --- internal

const render = (
  format: ErrorBody.ErrorFormat,
  actions: ReadonlyArray<StreamAction>,
  inputTokens = 1
): ReadonlyArray<string> => {
  const { dialect } = format === "openai" ? OpenAiDialect : AnthropicDialect
  const meta = { id: "scripted", model: "scripted", createdAt: 0, inputTokens, includeUsage: true }
  return actions.map(dialect.frames(meta))
}

/** ScriptedServer.R2 */
const noneLeft = ({ request }: Exchange, nth: number): ScriptedResponse => ({
  status: 400,
  body: { error: { message: `No response is scripted for request ${nth}, ${request.method} ${request.path}.` } }
})

const send = (exchange: Exchange, response: ScriptedResponse): Effect.Effect<void> => {
  if (response === "reset") return exchange.reset
  if (response === "never") return Effect.never
  const held = response.hold?.pass ?? Effect.void
  return Effect.andThen(held, "frames" in response ? stream(exchange, response) : whole(exchange, response))
}

const whole = (exchange: Exchange, { status, headers, body }: PreparedResponse): Effect.Effect<void> => {
  const text = typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body)
  const contentType = typeof body === "string" ? "text/plain" : "application/json"
  return exchange
    .head(status, { "content-type": contentType, ...headers })
    .pipe(Effect.andThen(exchange.write(text)), Effect.andThen(exchange.end))
}

const stream = Effect.fnUntraced(function* (exchange: Exchange, response: StreamedResponse) {
  yield* exchange.head(response.status ?? 200, { "content-type": "text/event-stream", ...response.headers })
  let written = 0
  const stops = Effect.suspend(() => {
    if (written === response.cutAfter) return Effect.andThen(exchange.cut, Effect.never)
    return written === response.stallAfter ? Effect.never : Effect.void
  })
  yield* stops
  for (const frame of response.frames) {
    if (typeof frame !== "string") {
      yield* frame.pass
      continue
    }
    yield* exchange.write(frame)
    written += 1
    yield* stops
  }
  yield* exchange.end
})
