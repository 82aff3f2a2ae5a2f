/**
 * A server on a real socket that answers with exactly what a test scripted, in order: the provider of integration tests.
 *
 * R1. Responses are used up in the order in which they were given, one by one, whatever a request asks for.
 * R2. A request that finds none left gets a 400 that says so: an attempt too many ends a turn instead of prolonging it.
 * R3. Frames go out verbatim, each in a write of its own. Half a frame is a frame.
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
import { Effect, Latch, type Schema, type Scope } from "effect"
import * as AnthropicDialect from "./AnthropicDialect.ts"
import * as Conversation from "./Conversation.ts"
import { Cue } from "./Cue.ts"
import type { StreamCue } from "./Dialect.ts"
import type * as ErrorBody from "./ErrorBody.ts"
import {
  type Exchange,
  type ListenError,
  listen,
  type Listening,
  type ListenOptions,
  type RecordedRequest
} from "./Loopback.ts"
import * as OpenAiDialect from "./OpenAiDialect.ts"

export * as ErrorBody from "./ErrorBody.ts"
export type { ListenOptions, RecordedRequest } from "./Loopback.ts"

/** A point that a response does not pass until the test says so. */
export interface Gate {
  /** Waits until a response has come here; everything before has been written. */
  readonly reached: Effect.Effect<void>
  /** Lets every response pass, now and later. */
  readonly open: Effect.Effect<void>
  /** For the server: arrives, and waits. */
  readonly pass: Effect.Effect<void>
}

/** Makes a gate that is closed. */
export const gate = (): Gate => {
  const arrival = Latch.makeUnsafe()
  const way = Latch.makeUnsafe()
  return {
    reached: arrival.await,
    open: Effect.asVoid(way.open),
    pass: Effect.andThen(arrival.open, way.await)
  }
}

/** A response as a whole. */
export interface WholeResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Anything but a string is sent as JSON. */
  readonly body?: string | Schema.Json
  /** Nothing is sent before it is open. */
  readonly hold?: Gate
}

/** A response as a stream, 200 and `text/event-stream` unless it says otherwise. */
export interface StreamedResponse {
  readonly frames: ReadonlyArray<string | Gate>
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Cuts the connection when this many frames, gates not counted, have been written. */
  readonly cutAfter?: number
  /** Falls silent for ever when this many frames, gates not counted, have been written. */
  readonly stallAfter?: number
  /** Nothing is sent before it is open. */
  readonly hold?: Gate
}

/** A connection that is reset before there is a response, or one that never gets any. */
export type NoResponse = "reset" | "never"

export type ScriptedResponse = WholeResponse | StreamedResponse | NoResponse

export interface ScriptedServer extends Listening {
  /** Adds responses behind those that are left. */
  readonly respond: (...responses: ReadonlyArray<ScriptedResponse>) => void
  /** What every request gets that finds no response left, instead of the 400; where they differ, by the request. */
  readonly otherwise: (response: ScriptedResponse | ((request: RecordedRequest) => ScriptedResponse)) => void
  /** Responses that nobody has asked for yet. */
  readonly left: () => number
}

/** Serves until the scope closes, on a free port of loopback unless told otherwise. */
export const start = (options: ListenOptions = {}): Effect.Effect<ScriptedServer, ListenError, Scope.Scope> =>
  Effect.gen(function* () {
    const queue: Array<ScriptedResponse> = []
    let fallback: Parameters<ScriptedServer["otherwise"]>[0] | undefined
    let answered = 0
    const listening = yield* listen(options, (exchange) =>
      Effect.suspend(() => {
        answered += 1
        const next = queue.shift() ?? (typeof fallback === "function" ? fallback(exchange.request) : fallback)
        return play(exchange, next ?? noneLeft(exchange, answered)) // R1
      })
    )
    return {
      ...listening,
      respond: (...responses) => {
        queue.push(...responses)
      },
      otherwise: (response) => {
        fallback = response
      },
      left: () => queue.length
    }
  })

// --- frames

/** Recorded chunks, one JSON a line, as the frames in which an OpenAI-compatible provider sent them. */
export const openAiFrames = (chunks: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...chunks.map((chunk) => `data: ${chunk}\n\n`),
  "data: [DONE]\n\n"
]

/** Recorded chunks, one JSON a line, as the frames in which Anthropic sent them: each is named by its `type`. */
export const anthropicFrames = (chunks: ReadonlyArray<string>): ReadonlyArray<string> =>
  chunks.map((chunk) => `event: ${/"type"\s*:\s*"([^"]*)"/.exec(chunk)?.[1] ?? "message"}\ndata: ${chunk}\n\n`)

/** A whole answer: the preamble is the first frame, each word one more, and the last one ends the stream. */
export const answerFrames = (format: ErrorBody.Format, text: string): ReadonlyArray<string> => {
  const tokens = Conversation.tokens(text)
  const usage = { inputTokens: 1, outputTokens: tokens.length }
  return render(format, [
    Cue.Open(),
    ...tokens.map((token) => Cue.Text({ token })),
    Cue.Finish({ finishReason: "stop", usage })
  ])
}

/** A whole response that calls a tool: preamble, call, end. `inputTokens` is what the request is said to have been. */
export const toolCallFrames = (
  format: ErrorBody.Format,
  name: string,
  input: Schema.Json,
  inputTokens = 1
): ReadonlyArray<string> =>
  render(
    format,
    [
      Cue.Open(),
      Cue.ToolCall({ name, input: JSON.stringify(input) }),
      Cue.Finish({ finishReason: "tool-calls", usage: { inputTokens, outputTokens: 1 } })
    ],
    inputTokens
  )

/** An error inside a stream, as one frame (C3). */
export const errorFrame = (format: ErrorBody.Format, error: ErrorBody.Name): string =>
  render(format, [Cue.Fail({ error })]).join("")

// --- internal

const render = (format: ErrorBody.Format, cues: ReadonlyArray<StreamCue>, inputTokens = 1): ReadonlyArray<string> => {
  const { dialect } = format === "openai" ? OpenAiDialect : AnthropicDialect
  const meta = { id: "scripted", model: "scripted", createdAt: 0, inputTokens, includeUsage: true }
  return cues.map(dialect.frames(meta))
}

/** R2 */
const noneLeft = ({ request }: Exchange, nth: number): WholeResponse => ({
  status: 400,
  body: { error: { message: `No response is scripted for request ${nth}, ${request.method} ${request.path}.` } }
})

const play = (exchange: Exchange, response: ScriptedResponse): Effect.Effect<void> => {
  if (response === "reset") return exchange.reset
  if (response === "never") return Effect.never
  const held = response.hold?.pass ?? Effect.void
  return Effect.andThen(held, "frames" in response ? stream(exchange, response) : whole(exchange, response))
}

const whole = (exchange: Exchange, { status, headers, body }: WholeResponse): Effect.Effect<void> => {
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
