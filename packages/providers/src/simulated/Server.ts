/**
 * The simulated provider on a socket: `POST /v1/chat/completions` as OpenAI, `POST /v1/messages` as Anthropic, and
 * `GET /v1/models`, so that it stands in for a provider to any client.
 *
 * The only file of the provider, with those under it, that needs Node; a program loads it by naming it.
 *
 * W1. A turn is known by its format, its model and its messages up to the last prompt, so every attempt, and every step that follows
 *     a tool call, is counted as the same turn. Two that are word for word the same are one while they fail.
 * W2. Keys are neither asked for nor looked at.
 */
import { Clock, Effect, Result, type Schema, type Scope } from "effect"
import { createHash } from "node:crypto"
import * as AnthropicDialect from "./AnthropicDialect.ts"
import * as Conversation from "./Conversation.ts"
import type { Cue } from "./Cue.ts"
import * as Dialect from "./Dialect.ts"
import * as ErrorBody from "./ErrorBody.ts"
import { type Exchange, type ListenError, listen, type Listening, type ListenOptions } from "./Loopback.ts"
import * as OpenAiDialect from "./OpenAiDialect.ts"
import * as Performance from "./Performance.ts"
import * as Syntax from "./Syntax.ts"

/** Serves until the scope closes. */
export const start = (options: ListenOptions = {}): Effect.Effect<Listening, ListenError, Scope.Scope> =>
  Effect.suspend(() => {
    const begin = Performance.make({ forgetsAnswered: true })
    return listen(options, (exchange) => route(exchange, begin))
  })

// --- internal

const route = (exchange: Exchange, begin: Performance.Begin): Effect.Effect<void> => {
  switch (`${exchange.request.method} ${exchange.request.path}`) {
    case "POST /v1/chat/completions":
      return answer(exchange, OpenAiDialect.dialect, begin)
    case "POST /v1/messages":
      return answer(exchange, AnthropicDialect.dialect, begin)
    case "GET /v1/models":
      return json(exchange, 200, models)
    default: {
      const message = `There is no ${exchange.request.method} ${exchange.request.path} here.`
      return json(exchange, 404, ErrorBody.envelope("bad-request", "openai", message))
    }
  }
}

const answer = (exchange: Exchange, dialect: Dialect.Dialect, begin: Performance.Begin): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const wire = Dialect.readRequest(exchange.request.body)
    if (Result.isFailure(wire)) return refuse(exchange, dialect, 400, "bad-request", wire.failure)
    const request = readRequest(wire.success, dialect, now)
    const cues = begin(request, now)
    if (Result.isFailure(cues)) return refuse(exchange, dialect, 404, "model", cues.failure.message)
    const meta: Dialect.Meta = {
      id: `simulated-${request.turn.slice(0, 12)}-${wire.success.messages.length}`,
      model: wire.success.model,
      createdAt: now,
      inputTokens: request.inputTokens(),
      includeUsage: wire.success.stream_options?.include_usage === true
    }
    return wire.success.stream === true
      ? stream(exchange, dialect, cues.success, meta)
      : whole(exchange, dialect, cues.success, meta)
  })

const readRequest = (wire: Dialect.WireRequest, dialect: Dialect.Dialect, now: number): Performance.Request => {
  const asked = wire.messages.findLastIndex(dialect.isPrompt)
  const texts = [Dialect.textOf(wire.system), ...wire.messages.map((message) => Dialect.textOf(message.content))]
  const inputTokens = texts.reduce((sum, text) => sum + Conversation.tokens(text).length, 0)
  const turn = JSON.stringify([dialect.format, wire.model, wire.system, wire.messages.slice(0, asked + 1)])
  return {
    turn: createHash("sha256").update(turn).digest("hex"), // W1
    model: wire.model,
    prompt: Dialect.textOf(wire.messages[asked]?.content),
    afterTool: asked < wire.messages.length - 1,
    tools: Dialect.toolsOf(wire),
    inputTokens: () => inputTokens,
    origin: { startedAt: now, attempts: 0 }
  }
}

// --- internal: a stream

const stream = Effect.fnUntraced(function* (
  exchange: Exchange,
  dialect: Dialect.Dialect,
  cues: Iterable<Cue>,
  meta: Dialect.Meta
) {
  const frames = dialect.frames(meta)
  for (const cue of cues) {
    switch (cue._tag) {
      case "Open":
        yield* exchange.head(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" })
        yield* exchange.write(frames(cue))
        break
      case "Reasoning":
      case "Text":
      case "ToolCall":
      case "HalfToolCall":
        yield* exchange.write(frames(cue))
        break
      case "Fail":
      case "Finish":
        yield* exchange.write(frames(cue))
        yield* exchange.end
        break
      case "End":
        yield* exchange.end
        break
      default:
        yield* common(exchange, dialect, cue)
    }
  }
})

/** The cues that mean the same to a response that streams and to one that does not. */
const common = (
  exchange: Exchange,
  dialect: Dialect.Dialect,
  cue: Extract<Cue, { readonly _tag: "Respond" | "Reset" | "Cut" | "Silence" | "Wait" }>
): Effect.Effect<void> => {
  switch (cue._tag) {
    case "Respond":
      return respond(exchange, cue.status, ErrorBody.render(cue.body, cue.status, dialect.format), cue.headers)
    case "Reset":
      return exchange.reset
    case "Cut":
      return exchange.cut
    case "Wait":
      return Effect.sleep(cue.ms)
    case "Silence":
      return cue.pings ? Effect.forever(Effect.delay(exchange.write(dialect.ping), PING_INTERVAL)) : Effect.never
    default:
      return cue satisfies never
  }
}

/** As often as Anthropic's pings and OpenRouter's comments come, roughly. */
const PING_INTERVAL = "1 second"

// --- internal: a response that does not stream

/** What fails within a stream has nothing to come after here: it fails before the response. */
const whole = Effect.fnUntraced(function* (
  exchange: Exchange,
  dialect: Dialect.Dialect,
  cues: Iterable<Cue>,
  meta: Dialect.Meta
) {
  let text = ""
  let reasoning = ""
  let toolCall: Dialect.Said["toolCall"]
  for (const cue of cues) {
    switch (cue._tag) {
      case "Open":
      case "HalfToolCall":
        break
      case "Text":
        text += cue.token
        break
      case "Reasoning":
        reasoning += cue.token
        break
      case "ToolCall":
        toolCall = cue
        break
      case "Fail": {
        const status = ErrorBody.statusOf(cue.error)
        yield* json(exchange, status, ErrorBody.envelope(cue.error, dialect.format))
        break
      }
      case "Finish":
        yield* json(exchange, 200, dialect.whole({ ...cue, text, reasoning, toolCall }, meta))
        break
      case "End":
        yield* respond(exchange, 200, { contentType: "application/json", text: "" })
        break
      default:
        yield* common(exchange, dialect, cue)
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
  dialect: Dialect.Dialect,
  status: number,
  error: ErrorBody.Name,
  message: string
): Effect.Effect<void> => json(exchange, status, ErrorBody.envelope(error, dialect.format, message))

/** A few of the models that there are: their names are endless. */
const models: Schema.JsonObject = {
  object: "list",
  data: [Syntax.DEFAULT, "steady", "429x2;retry-after=7,502", "error-in-stream", "cut-after-12", "stall", "down"].map(
    (id) => ({ id: Syntax.PREFIX + id, object: "model", created: 0, owned_by: "holdfast" })
  )
}
