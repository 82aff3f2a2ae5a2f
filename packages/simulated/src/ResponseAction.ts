/**
 * Turns the outcome of a request into actions, in order.
 *
 * The actions are the same for a stream of events in this process and for frames on a socket.
 *
 * The last action ends the request: `Respond`, `Reset`, `Silence`, `Fail`, `Cut`, `End` or `Finish`. `Open` precedes every action of a
 * stream, and is absent where there is no stream.
 */
import * as Data from "effect/Data"
import type { Message } from "@holdfast/wire"
import * as AnswerText from "./AnswerText.ts"
import type { ErrorBody, ErrorName } from "./ErrorBody.ts"
import type { Outcome, Delivery } from "./script/Script.ts"

/** One step of a response. */
export type ResponseAction = Data.TaggedEnum<{
  /** Sends a whole response that is no stream. */
  Respond: {
    readonly status: number
    readonly headers: ReadonlyArray<readonly [name: string, value: string]>
    readonly body: ErrorBody
  }
  /** Resets the connection before any response. */
  Reset: {}
  /** Keeps the connection open and sends nothing more; with `pings`, only keep-alives. */
  Silence: { readonly pings: boolean }
  /** Begins the stream: status 200 and the frames that a provider sends before content. */
  Open: {}
  Wait: { readonly ms: number }
  Reasoning: { readonly token: string }
  Text: { readonly token: string }
  ToolCall: { readonly name: string; readonly input: string }
  /** Sends the beginning of a tool call that never ends. */
  HalfToolCall: { readonly name: string }
  /** Ends the stream with an error inside it. */
  Fail: { readonly error: ErrorName }
  /** Cuts the connection. */
  Cut: {}
  /** Ends the body properly, without the terminal event. */
  End: {}
  /** Completes the stream. */
  Finish: { readonly finishReason: Message.FinishReason; readonly usage: Message.Usage }
}>
/** Constructors of the actions. */
export const ResponseAction = Data.taggedEnum<ResponseAction>()

/** The facts of a request that its response depends on. */
export interface ResponseContext {
  readonly delivery: Delivery
  readonly facts: AnswerText.AnswerFacts
  /** Names of the tools that the request offers. */
  readonly tools: ReadonlyArray<string>
  /** The number of tokens of the request. */
  readonly inputTokens: () => number
}

/** The actions of an outcome. */
export function* actionsOf(outcome: Outcome, context: ResponseContext): Generator<ResponseAction, void> {
  switch (outcome._tag) {
    case "Status":
      return yield ResponseAction.Respond(outcome)
    case "Down":
      return yield ResponseAction.Respond({ status: 503, headers: [], body: "unavailable" })
    case "NoStream":
      return yield ResponseAction.Respond({ status: 200, headers: [], body: outcome.body })
    case "Reset":
      return yield ResponseAction.Reset()
    case "Pings":
      yield ResponseAction.Open()
      return yield ResponseAction.Silence({ pings: true })
    case "Stall":
      if (outcome.after !== undefined) yield* sendContent(context, outcome.after)
      return yield ResponseAction.Silence({ pings: false })
    case "StreamError":
      yield* sendContent(context, outcome.after)
      return yield ResponseAction.Fail({ error: outcome.error })
    case "Cut":
      yield* sendContent(context, outcome.after)
      return yield ResponseAction.Cut()
    case "Ends":
      yield* sendContent(context, outcome.after)
      return yield ResponseAction.End()
    case "Answer": {
      const sent = yield* sendContent(context)
      return yield finish(context, "stop", sent)
    }
    case "Refusal": {
      yield ResponseAction.Open()
      yield* paced(AnswerText.refusal, context.delivery)
      return yield finish(context, "content-filter", { text: AnswerText.refusal.length, reasoning: 0 })
    }
    case "ToolCall":
    case "HalfToolCall": {
      const sent = yield* sendContent(context, 0, true)
      const name = (outcome._tag === "ToolCall" ? outcome.name : undefined) ?? context.tools[0] ?? DEFAULT_TOOL
      if (outcome._tag === "HalfToolCall") {
        yield ResponseAction.HalfToolCall({ name })
        return yield ResponseAction.Cut()
      }
      yield ResponseAction.ToolCall({ name, input: outcome.input })
      return yield finish(context, "tool-calls", { ...sent, text: AnswerText.tokens(outcome.input).length })
    }
    default:
      return outcome satisfies never
  }
}

// --- internal

/** The tool that is called where a request offers none; an agent must handle such a call, too. */
const DEFAULT_TOOL = "get_time"

interface TokenCounts {
  readonly text: number
  readonly reasoning: number
}

/** Opens the stream and sends reasoning and text, up to `limit` tokens of text. With limit 0 it sends neither. */
function* sendContent(
  context: ResponseContext,
  limit?: number,
  thinks = limit !== 0
): Generator<ResponseAction, TokenCounts> {
  yield ResponseAction.Open()
  const thoughts = context.delivery.reasoning && thinks ? AnswerText.reasoning(context.facts) : []
  const text = limit === 0 ? [] : AnswerText.answer(context.facts, context.delivery.tokens).slice(0, limit)
  yield* paced([...thoughts, ...text], context.delivery, thoughts.length)
  return { text: text.length, reasoning: thoughts.length }
}

/** The tokens of an answer, the first `thoughts` of them reasoning. They may be ten thousand. */
function* paced(
  tokens: ReadonlyArray<string>,
  { firstTokenMs, gapMs }: Delivery,
  thoughts = 0
): Generator<ResponseAction, void> {
  const gap = ResponseAction.Wait({ ms: gapMs })
  for (const [n, token] of tokens.entries()) {
    if (n === 0 && firstTokenMs > 0) yield ResponseAction.Wait({ ms: firstTokenMs })
    if (n > 0 && gapMs > 0) yield gap
    yield { _tag: n < thoughts ? "Reasoning" : "Text", token }
  }
}

const finish = (
  context: ResponseContext,
  finishReason: Message.FinishReason,
  { text, reasoning }: TokenCounts
): ResponseAction =>
  ResponseAction.Finish({
    finishReason,
    usage: {
      inputTokens: context.inputTokens(),
      outputTokens: text + reasoning,
      ...(reasoning > 0 ? { reasoningTokens: reasoning } : {})
    }
  })
