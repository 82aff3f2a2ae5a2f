/**
 * A wire format, as a simulated provider speaks it: how requests are read and cues become bytes.
 *
 * L1. A dialect neither waits nor counts; it turns values into text.
 * L2. What a provider sends ahead of content goes out with `open`: roles, preambles, pings, none of it content (C8).
 */
import { Result, Schema } from "effect"
import type { Message } from "@holdfast/wire"
import type { Cue } from "./Cue.ts"
import type { Format } from "./ErrorBody.ts"

/** What both formats have in a request. Content parts and whatever else there may be are not looked into. */
const WireRequest = Schema.Struct({
  model: Schema.String,
  messages: Schema.Array(Schema.Struct({ role: Schema.String, content: Schema.optional(Schema.Unknown) })),
  system: Schema.optional(Schema.Unknown),
  stream: Schema.optional(Schema.NullOr(Schema.Boolean)),
  stream_options: Schema.optional(
    Schema.NullOr(Schema.Struct({ include_usage: Schema.optional(Schema.NullOr(Schema.Boolean)) }))
  ),
  tools: Schema.optional(
    Schema.NullOr(
      Schema.Array(
        Schema.Struct({
          name: Schema.optional(Schema.String),
          function: Schema.optional(Schema.Struct({ name: Schema.String }))
        })
      )
    )
  )
})
export type WireRequest = typeof WireRequest.Type

/** Reads the body of a request, of either format. */
export const readRequest = (body: string): Result.Result<WireRequest, string> =>
  Result.mapError(
    Schema.decodeUnknownResult(Schema.fromJsonString(WireRequest))(body),
    (error) => `The request is not understood: ${error.message}`
  )

/** The names of the tools that a request offers. */
export const toolsOf = (request: WireRequest): ReadonlyArray<string> =>
  (request.tools ?? []).flatMap((tool) => tool.function?.name ?? tool.name ?? [])

const TextPart = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })
const isTextPart = Schema.is(TextPart)

/** The text of a message's content, which is a string or a list of parts. */
export const textOf = (content: unknown): string => {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content.flatMap((part: unknown) => (isTextPart(part) ? [part.text] : [])).join("\n")
}

/** What the bytes of one response need to know. */
export interface Meta {
  readonly id: string
  readonly model: string
  /** Epoch milliseconds. */
  readonly createdAt: number
  readonly inputTokens: number
  readonly includeUsage: boolean
}

/** What a response has said, for one that does not stream. */
export interface Said {
  readonly reasoning: string
  readonly text: string
  readonly toolCall: { readonly name: string; readonly input: string } | undefined
  readonly finishReason: Message.FinishReason
  readonly usage: Message.Usage
}

/** The cues that have a form in a stream. */
export type StreamCue = Extract<
  Cue,
  { readonly _tag: "Open" | "Reasoning" | "Text" | "ToolCall" | "HalfToolCall" | "Fail" | "Finish" }
>

export interface Dialect {
  readonly format: Format
  /** A keep-alive. */
  readonly ping: string
  /** Whether a message is a prompt, and no tool's result. */
  readonly isPrompt: (message: WireRequest["messages"][number]) => boolean
  /** Makes what turns the cues of one response into frames. */
  readonly frames: (meta: Meta) => (cue: StreamCue) => string
  /** A response that does not stream. */
  readonly whole: (said: Said, meta: Meta) => Schema.JsonObject
}

/** Cuts a text in two, neither of them empty where it can be helped: arguments of a tool never come in one piece. */
export const halves = (text: string): readonly [string, string] => {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}

/** The arguments of which half a tool call shows the first half. */
export const HALF_INPUT = '{"query":"what was never'
