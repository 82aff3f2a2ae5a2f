/**
 * Serves the simulated provider over HTTP, in OpenAI's and Anthropic's formats.
 *
 * The calls are `POST /v1/chat/completions` (OpenAI), `POST /v1/messages` (Anthropic) and `GET /v1/models`, so any client can use it as
 * its provider. Only this folder needs Node; a program that does not import it does not load it.
 *
 * Keys are neither required nor read.
 *
 * A turn is identified by its format, its model and its messages up to the last prompt, so every attempt, and every step after a tool call,
 * belongs to the same turn. Two turns with identical text count as one while they fail.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { createHash } from "node:crypto"
import * as AnthropicDialect from "./AnthropicDialect.ts"
import * as AnswerText from "../AnswerText.ts"
import type { ResponseAction } from "../ResponseAction.ts"
import { readRequest, textOf, toolsOf } from "./ServerDialect.ts"
import type { Meta, ServerDialect, WholeResponse, WireRequest } from "./ServerDialect.ts"
import * as ErrorBody from "../ErrorBody.ts"
import { type Exchange, type ListenError, listen, type RunningServer, type ListenOptions } from "./LoopbackServer.ts"
import * as OpenAiDialect from "./OpenAiDialect.ts"
import * as Responder from "../Responder.ts"
import * as Description from "../script/Description.ts"
import * as Syntax from "../script/Syntax.ts"

/** A response that the server has chosen. */
export interface Responded {
  /** The model that the request names. */
  readonly model: string
  /** The outcome in words, such as "a 529 (overloaded)". */
  readonly outcome: string
  /** The number of the request since the start, from 1. */
  readonly request: number
}

/** How the server listens and responds. */
export interface Options extends ListenOptions {
  /**
   * The script of every model whose name does not begin with `simulated/`. Without it a model's name must be a script.
   * `Simulated.describe` checks it.
   */
  readonly script?: string
  /** Called for each model request with a valid script, before the response is sent. */
  readonly onResponse?: (responded: Responded) => void
}

/** Serves until the scope closes. */
export const start = (options: Options = {}): Effect.Effect<RunningServer, ListenError, Scope.Scope> =>
  Effect.suspend(() => {
    const respond = Responder.make({ forgetsAnswered: true })
    let requests = 0
    const responder: Responder.Responder = ({ model, ...request }, now) => {
      const script = options.script === undefined || model.startsWith(Syntax.PREFIX) ? model : options.script
      const response = respond({ ...request, model: script }, now)
      if (Result.isSuccess(response)) {
        const outcome = Description.outcomeInWords(response.success.outcome)
        options.onResponse?.({ model, outcome, request: ++requests })
      }
      return response
    }
    return listen(options, (exchange) => route(exchange, responder))
  })

// --- internal

const route = (exchange: Exchange, responder: Responder.Responder): Effect.Effect<void> => {
  switch (`${exchange.request.method} ${exchange.request.path}`) {
    case "POST /v1/chat/completions":
      return answer(exchange, OpenAiDialect.dialect, responder)
    case "POST /v1/messages":
      return answer(exchange, AnthropicDialect.dialect, responder)
    case "GET /v1/models":
      return json(exchange, 200, models)
    default: {
      const message = `There is no ${exchange.request.method} ${exchange.request.path} here.`
      return json(exchange, 404, ErrorBody.envelope("bad-request", "openai", message))
    }
  }
}

const answer = (exchange: Exchange, dialect: ServerDialect, responder: Responder.Responder): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const wire = readRequest(exchange.request.body)
    if (Result.isFailure(wire)) return refuse(exchange, dialect, 400, "bad-request", wire.failure)
    const request = turnRequestOf(wire.success, dialect, now, exchange.request.body)
    const response = responder(request, now)
    if (Result.isFailure(response)) return refuse(exchange, dialect, 404, "model", response.failure.message)
    const { actions } = response.success
    const meta: Meta = {
      id: `simulated-${request.turn.slice(0, 12)}-${wire.success.messages.length}`,
      model: wire.success.model,
      createdAt: now,
      inputTokens: request.inputTokens(),
      includeUsage: wire.success.stream_options?.include_usage === true
    }
    return wire.success.stream === true
      ? stream(exchange, dialect, actions, meta)
      : whole(exchange, dialect, actions, meta)
  })

const turnRequestOf = (
  wire: WireRequest,
  dialect: ServerDialect,
  now: number,
  body: string
): Responder.SimulatedRequest => {
  const asked = wire.messages.findLastIndex(dialect.isPrompt)
  const texts = [textOf(wire.system), ...wire.messages.map((message) => textOf(message.content))]
  const inputTokens = texts.reduce((sum, text) => sum + AnswerText.tokens(text).length, 0)
  const turn = JSON.stringify([dialect.format, wire.model, wire.system, wire.messages.slice(0, asked + 1)])
  return {
    turn: createHash("sha256").update(turn).digest("hex"),
    model: wire.model,
    prompt: textOf(wire.messages[asked]?.content),
    afterTool: asked < wire.messages.length - 1,
    tools: toolsOf(wire),
    inputTokens: () => inputTokens,
    bytes: () => Buffer.byteLength(body),
    origin: { startedAt: now, attempts: 0 }
  }
}

// --- internal: a stream

const stream = Effect.fnUntraced(function* (
  exchange: Exchange,
  dialect: ServerDialect,
  actions: Iterable<ResponseAction>,
  meta: Meta
) {
  const frames = dialect.frames(meta)
  for (const action of actions) {
    switch (action._tag) {
      case "Open":
        yield* exchange.head(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" })
        yield* exchange.write(frames(action))
        break
      case "Reasoning":
      case "Text":
      case "ToolCall":
      case "HalfToolCall":
        yield* exchange.write(frames(action))
        break
      case "Fail":
      case "Finish":
        yield* exchange.write(frames(action))
        yield* exchange.end
        break
      case "End":
        yield* exchange.end
        break
      default:
        yield* common(exchange, dialect, action)
    }
  }
})

/** Performs the actions that are the same with and without a stream. */
const common = (
  exchange: Exchange,
  dialect: ServerDialect,
  action: Extract<ResponseAction, { readonly _tag: "Respond" | "Reset" | "Cut" | "Silence" | "Wait" }>
): Effect.Effect<void> => {
  switch (action._tag) {
    case "Respond":
      return respond(
        exchange,
        action.status,
        ErrorBody.render(action.body, action.status, dialect.format),
        action.headers
      )
    case "Reset":
      return exchange.reset
    case "Cut":
      return exchange.cut
    case "Wait":
      return Effect.sleep(action.ms)
    case "Silence":
      return action.pings ? Effect.forever(Effect.delay(exchange.write(dialect.ping), PING_INTERVAL)) : Effect.never
    default:
      return action satisfies never
  }
}

/** About the interval of Anthropic's pings and OpenRouter's comments. */
const PING_INTERVAL = "1 second"

// --- internal: a response that does not stream

/** Without a stream a failure inside the stream becomes a failure before the response. */
const whole = Effect.fnUntraced(function* (
  exchange: Exchange,
  dialect: ServerDialect,
  actions: Iterable<ResponseAction>,
  meta: Meta
) {
  let text = ""
  let reasoning = ""
  let toolCall: WholeResponse["toolCall"]
  for (const action of actions) {
    switch (action._tag) {
      case "Open":
      case "HalfToolCall":
        break
      case "Text":
        text += action.token
        break
      case "Reasoning":
        reasoning += action.token
        break
      case "ToolCall":
        toolCall = action
        break
      case "Fail": {
        const status = ErrorBody.statusOf(action.error)
        yield* json(exchange, status, ErrorBody.envelope(action.error, dialect.format))
        break
      }
      case "Finish":
        yield* json(exchange, 200, dialect.whole({ ...action, text, reasoning, toolCall }, meta))
        break
      case "End":
        yield* respond(exchange, 200, { contentType: "application/json", text: "" })
        break
      default:
        yield* common(exchange, dialect, action)
    }
  }
})

// --- internal: responses

const respond = (
  exchange: Exchange,
  status: number,
  { contentType, text }: ErrorBody.Rendered,
  headers: ReadonlyArray<readonly [name: string, value: string]> = []
): Effect.Effect<void> =>
  exchange
    .head(status, { "content-type": contentType, ...Object.fromEntries(headers) })
    .pipe(Effect.andThen(exchange.write(text)), Effect.andThen(exchange.end))

const json = (exchange: Exchange, status: number, body: Schema.JsonObject): Effect.Effect<void> =>
  respond(exchange, status, { contentType: "application/json", text: JSON.stringify(body) })

const refuse = (
  exchange: Exchange,
  dialect: ServerDialect,
  status: number,
  error: ErrorBody.ErrorName,
  message: string
): Effect.Effect<void> => json(exchange, status, ErrorBody.envelope(error, dialect.format, message))

/** Some example models; every script is a model. */
const models: Schema.JsonObject = {
  object: "list",
  data: [Syntax.DEFAULT, "steady", "429x2;retry-after=7,502", "error-in-stream", "cut-after-12", "stall", "down"].map(
    (id) => ({ id: Syntax.PREFIX + id, object: "model", created: 0, owned_by: "holdfast" })
  )
}
