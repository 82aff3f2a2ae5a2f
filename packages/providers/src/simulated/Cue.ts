/**
 * A scene as it is played: cues in order, the same for a stream of events in this process and for frames on a socket.
 *
 * Q1. The last cue is the end of the request: `Respond`, `Reset`, `Silence`, `Fail`, `Cut`, `End` or `Finish`. Nothing
 *     follows it.
 * Q2. `Open` comes before everything that a stream says, and before nothing that is said without one.
 */
import { Data } from "effect"
import type { Message } from "@holdfast/wire"
import * as Conversation from "./Conversation.ts"
import type { ErrorBody, Name } from "./ErrorBody.ts"
import type { Act, Delivery } from "./Script.ts"

export type Cue = Data.TaggedEnum<{
  /** A whole response that is no stream. */
  Respond: {
    readonly status: number
    readonly headers: ReadonlyArray<readonly [name: string, value: string]>
    readonly body: ErrorBody
  }
  /** The connection is reset; there was no response. */
  Reset: {}
  /** Nothing more comes, and the connection stays; with `pings`, keep-alives come. */
  Silence: { readonly pings: boolean }
  /** The stream begins: status 200 and what a provider sends ahead of content. */
  Open: {}
  Wait: { readonly ms: number }
  Reasoning: { readonly token: string }
  Text: { readonly token: string }
  ToolCall: { readonly name: string; readonly input: string }
  /** The beginning of a tool call whose end never comes. */
  HalfToolCall: { readonly name: string }
  /** An error within the stream, which it ends. */
  Fail: { readonly error: Name }
  /** The connection is cut. */
  Cut: {}
  /** The stream ends as if it were complete. */
  End: {}
  /** The stream is complete. */
  Finish: { readonly finishReason: Message.FinishReason; readonly usage: Message.Usage }
}>
export const Cue = Data.taggedEnum<Cue>()

/** What a request brings to its scene. */
export interface Stage {
  readonly delivery: Delivery
  readonly occasion: Conversation.Occasion
  /** Names of the tools that the request offers. */
  readonly tools: ReadonlyArray<string>
  /** Tokens that the request has. */
  readonly inputTokens: () => number
}

/** Plays an act. */
export function* play(act: Act, stage: Stage): Generator<Cue, void> {
  switch (act._tag) {
    case "Status":
      return yield Cue.Respond(act)
    case "Down":
      return yield Cue.Respond({ status: 503, headers: [], body: "unavailable" })
    case "Hollow":
      return yield Cue.Respond({ status: 200, headers: [], body: act.body })
    case "Reset":
      return yield Cue.Reset()
    case "Pings":
      yield Cue.Open()
      return yield Cue.Silence({ pings: true })
    case "Stall":
      if (act.after !== undefined) yield* speak(stage, act.after)
      return yield Cue.Silence({ pings: false })
    case "StreamError":
      yield* speak(stage, act.after)
      return yield Cue.Fail({ error: act.error })
    case "Cut":
      yield* speak(stage, act.after)
      return yield Cue.Cut()
    case "Ends":
      yield* speak(stage, act.after)
      return yield Cue.End()
    case "Answer": {
      const spoken = yield* speak(stage)
      return yield finish(stage, "stop", spoken)
    }
    case "Refusal": {
      yield Cue.Open()
      yield* said(
        Conversation.refusal.map((token) => Cue.Text({ token })),
        stage.delivery
      )
      return yield finish(stage, "content-filter", { text: Conversation.refusal.length, reasoning: 0 })
    }
    case "ToolCall":
    case "HalfToolCall": {
      const spoken = yield* speak(stage, 0, true)
      const name = (act._tag === "ToolCall" ? act.name : undefined) ?? stage.tools[0] ?? DEFAULT_TOOL
      if (act._tag === "HalfToolCall") {
        yield Cue.HalfToolCall({ name })
        return yield Cue.Cut()
      }
      yield Cue.ToolCall({ name, input: act.input })
      return yield finish(stage, "tool-calls", { ...spoken, text: Conversation.tokens(act.input).length })
    }
    default:
      return act satisfies never
  }
}

// --- internal

/** Called where a request offers no tool: an agent must cope with that, too. */
const DEFAULT_TOOL = "get_time"

interface Spoken {
  readonly text: number
  readonly reasoning: number
}

/** Opens the stream and says reasoning and text, up to `limit` tokens of text; nothing at all where the limit is 0. */
function* speak(stage: Stage, limit?: number, thinks = limit !== 0): Generator<Cue, Spoken> {
  yield Cue.Open()
  const thoughts = stage.delivery.reasoning && thinks ? Conversation.reasoning(stage.occasion) : []
  const text = limit === 0 ? [] : Conversation.answer(stage.occasion, stage.delivery.tokens).slice(0, limit)
  const cues = [...thoughts.map((token) => Cue.Reasoning({ token })), ...text.map((token) => Cue.Text({ token }))]
  yield* said(cues, stage.delivery)
  return { text: text.length, reasoning: thoughts.length }
}

function* said(cues: ReadonlyArray<Cue>, delivery: Delivery): Generator<Cue, void> {
  for (const [n, cue] of cues.entries()) {
    const ms = n === 0 ? delivery.firstTokenMs : delivery.gapMs
    if (ms > 0) yield Cue.Wait({ ms })
    yield cue
  }
}

const finish = (stage: Stage, finishReason: Message.FinishReason, { text, reasoning }: Spoken): Cue =>
  Cue.Finish({
    finishReason,
    usage: {
      inputTokens: stage.inputTokens(),
      outputTokens: text + reasoning,
      ...(reasoning > 0 ? { reasoningTokens: reasoning } : {})
    }
  })
