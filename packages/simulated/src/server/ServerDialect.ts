/**
 * The interface of a wire format on the server's side.
 *
 * A dialect reads requests and encodes actions as frames.
 *
 * A dialect neither waits nor counts; it turns values into text. The frames that a provider sends before content belong to `Open`:
 * roles, preambles and pings, none of it content (C8).
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Message } from "@holdfast/wire"
import type { ResponseAction } from "../ResponseAction.ts"
import type { ErrorFormat } from "../ErrorBody.ts"

/** The common parts of a request in both formats. Content parts and further keys are not decoded. */
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
    (error) => `The request is not valid: ${error.message}`
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

/** The data of a request that its frames contain. */
export interface Meta {
  readonly id: string
  readonly model: string
  /** Epoch milliseconds. */
  readonly createdAt: number
  readonly inputTokens: number
  readonly includeUsage: boolean
}

/** A complete response, for a request that does not stream. */
export interface WholeResponse {
  readonly reasoning: string
  readonly text: string
  readonly toolCall: { readonly name: string; readonly input: string } | undefined
  readonly finishReason: Message.FinishReason
  readonly usage: Message.Usage
}

/** The actions that are frames of a stream. */
export type StreamAction = Extract<
  ResponseAction,
  { readonly _tag: "Open" | "Reasoning" | "Text" | "ToolCall" | "HalfToolCall" | "Fail" | "Finish" }
>

/** A wire format. */
export interface ServerDialect {
  readonly format: ErrorFormat
  /** A keep-alive. */
  readonly ping: string
  /** Whether a message is a prompt, and not a tool's result. */
  readonly isPrompt: (message: WireRequest["messages"][number]) => boolean
  /** Makes the function that encodes the actions of one response as frames. */
  readonly frames: (meta: Meta) => (action: StreamAction) => string
  /** A response that does not stream. */
  readonly whole: (response: WholeResponse, meta: Meta) => Schema.JsonObject
}

/** Cuts a text in two, both non-empty if possible, because tool arguments arrive in several pieces. */
export const halves = (text: string): readonly [string, string] => {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}

/** The arguments of half a tool call. */
export const HALF_INPUT = '{"query":"what was never'
