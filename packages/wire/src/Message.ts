/**
 * The messages of a conversation, as they are kept and as clients read them.
 *
 * M1. A message is written once, when it is finished.
 * M2. An assistant message with an `error` stays in the history and never reaches a model (P12).
 */
import { Schema } from "effect"
import { Failure } from "./Failure.ts"
import { MessageId, TurnId } from "./Ids.ts"
import { Target } from "./Target.ts"

/** Tokens of one model response. Absent means that the provider did not say. */
export const Usage = Schema.Struct({
  inputTokens: Schema.optionalKey(Schema.Int),
  outputTokens: Schema.optionalKey(Schema.Int),
  /** Part of `outputTokens`. */
  reasoningTokens: Schema.optionalKey(Schema.Int),
  /** Part of `inputTokens`, read from the provider's prompt cache. */
  cachedInputTokens: Schema.optionalKey(Schema.Int),
  /** Part of `inputTokens`, written to the provider's prompt cache. */
  cacheWriteTokens: Schema.optionalKey(Schema.Int)
})
export type Usage = typeof Usage.Type

/** Why a model stopped. */
export const FinishReason = Schema.Literals(["stop", "length", "tool-calls", "content-filter", "other"])
export type FinishReason = typeof FinishReason.Type

export const TextPart = Schema.Struct({ type: Schema.tag("text"), text: Schema.String })
export type TextPart = typeof TextPart.Type

export const ReasoningPart = Schema.Struct({
  type: Schema.tag("reasoning"),
  text: Schema.String,
  /** Anthropic's proof that the block is unchanged; it must go back with the block. */
  signature: Schema.optionalKey(Schema.String),
  /** Anthropic's `redacted_thinking` data; `text` is empty then. */
  redacted: Schema.optionalKey(Schema.String)
})
export type ReasoningPart = typeof ReasoningPart.Type

export const ToolCallPart = Schema.Struct({
  type: Schema.tag("tool-call"),
  toolCallId: Schema.String,
  toolName: Schema.String,
  /** The arguments as JSON; where they were malformed, the text as it came. */
  input: Schema.Json,
  /** Why the arguments could not be read; such a call is answered, not run. */
  malformed: Schema.optionalKey(Schema.String)
})
export type ToolCallPart = typeof ToolCallPart.Type

export const AssistantPart = Schema.Union([TextPart, ReasoningPart, ToolCallPart])
export type AssistantPart = typeof AssistantPart.Type

export const ToolResultPart = Schema.Struct({
  type: Schema.tag("tool-result"),
  toolCallId: Schema.String,
  toolName: Schema.String,
  output: Schema.Json,
  isError: Schema.Boolean
})
export type ToolResultPart = typeof ToolResultPart.Type

const common = {
  id: MessageId,
  turnId: TurnId,
  /** Epoch milliseconds. */
  createdAt: Schema.Finite
}

export const UserMessage = Schema.Struct({
  role: Schema.Literal("user"),
  ...common,
  content: Schema.Array(TextPart),
  /** Nobody's prompt: Holdfast told the model something (A9, A11, P19). */
  synthetic: Schema.optionalKey(Schema.Literal(true)),
  /** The message stands for others that the model no longer sees: all before it, up to this one. They stay in the history. */
  summary: Schema.optionalKey(Schema.Struct({ upTo: MessageId }))
})
export type UserMessage = typeof UserMessage.Type

export const AssistantMessage = Schema.Struct({
  role: Schema.Literal("assistant"),
  ...common,
  content: Schema.Array(AssistantPart),
  /** Who answered. */
  target: Target,
  finishReason: Schema.optionalKey(FinishReason),
  usage: Schema.optionalKey(Usage),
  /** Set on a response that broke off: what it had said is in `content`. */
  error: Schema.optionalKey(Failure)
})
export type AssistantMessage = typeof AssistantMessage.Type

export const ToolMessage = Schema.Struct({
  role: Schema.Literal("tool"),
  ...common,
  content: Schema.Array(ToolResultPart)
})
export type ToolMessage = typeof ToolMessage.Type

export const Message = Schema.Union([UserMessage, AssistantMessage, ToolMessage])
export type Message = typeof Message.Type

/** The text of a message, without reasoning and tool calls. */
export const textOf = (message: Message): string => {
  let text = ""
  for (const part of message.content) if (part.type === "text") text += part.text
  return text
}

/** Adds up two usages; what neither names stays absent. */
export const addUsage = (a: Usage, b: Usage): Usage => {
  const sum: { -readonly [K in keyof Usage]: Usage[K] } = { ...a }
  for (const key of Object.keys(b) as Array<keyof Usage>) {
    const value = b[key]
    if (value !== undefined) sum[key] = (sum[key] ?? 0) + value
  }
  return sum
}
