/**
 * Schemas of a conversation's messages, as stored and as clients read them.
 *
 * A message is written once, when it is finished. An assistant message with an `error` stays in the history and is never sent to a model
 * (P12).
 */
import * as Schema from "effect/Schema"
import { Failure } from "./Failure.ts"
import { FilePart, ModelFile, placeholderOf } from "./FilePart.ts"
import { MessageId, TurnId } from "./Ids.ts"
import { InputPart, TextPart, textOf as inputText } from "./Prompt.ts"
import { Target } from "./Target.ts"

export { FilePart, InputPart, ModelFile, TextPart }

/** Tokens of one model response. A key is absent where the provider did not report it. */
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

/** The model's reasoning. */
export const ReasoningPart = Schema.Struct({
  type: Schema.tag("reasoning"),
  text: Schema.String,
  /** Anthropic's proof that the block is unchanged; it must go back with the block. */
  signature: Schema.optionalKey(Schema.String),
  /** Anthropic's `redacted_thinking` data; `text` is empty then. */
  redacted: Schema.optionalKey(Schema.String),
  /** The data of another provider that must go back with the block, as its adapter wrote it. */
  proof: Schema.optionalKey(Schema.String)
})
export type ReasoningPart = typeof ReasoningPart.Type

/** A tool call that the model requested. */
export const ToolCallPart = Schema.Struct({
  type: Schema.tag("tool-call"),
  toolCallId: Schema.String,
  toolName: Schema.String,
  /** The arguments as JSON; where they were malformed, the text as received. */
  input: Schema.Json,
  /** Why the arguments could not be read. Such a call is not run; the model gets an error as its result (A10). */
  malformed: Schema.optionalKey(Schema.String),
  /** The provider's data that must go back with the call, as its adapter wrote it. */
  proof: Schema.optionalKey(Schema.String)
})
export type ToolCallPart = typeof ToolCallPart.Type

/** A part of an assistant message. */
export const AssistantPart = Schema.Union([TextPart, ReasoningPart, ToolCallPart, ModelFile])
export type AssistantPart = typeof AssistantPart.Type

/** The result of one tool call. */
export const ToolResultPart = Schema.Struct({
  type: Schema.tag("tool-result"),
  toolCallId: Schema.String,
  toolName: Schema.String,
  /** With `content`: its texts, and a placeholder for each file. */
  output: Schema.Json,
  /** The texts and files of a result with files, in order: what the model gets. */
  content: Schema.optionalKey(Schema.NonEmptyArray(InputPart)),
  isError: Schema.Boolean
})
export type ToolResultPart = typeof ToolResultPart.Type

const common = {
  id: MessageId,
  turnId: TurnId,
  /** Epoch milliseconds. */
  createdAt: Schema.Finite
}

/** A prompt, or a message that Holdfast sends to the model by itself (`synthetic`, `summary`). */
export const UserMessage = Schema.Struct({
  role: Schema.Literal("user"),
  ...common,
  content: Schema.Array(InputPart),
  /** Holdfast wrote the message for the model; it is not a person's prompt (A9, A11, P19). */
  synthetic: Schema.optionalKey(Schema.Literal(true)),
  /** The message replaces all messages up to `upTo` in the model's context. They stay in the history. */
  summary: Schema.optionalKey(Schema.Struct({ upTo: MessageId }))
})
export type UserMessage = typeof UserMessage.Type

/** A response of the model, whole or broken off (`error`). */
export const AssistantMessage = Schema.Struct({
  role: Schema.Literal("assistant"),
  ...common,
  content: Schema.Array(AssistantPart),
  /** The provider and model that responded. */
  target: Target,
  finishReason: Schema.optionalKey(FinishReason),
  usage: Schema.optionalKey(Usage),
  /** Set on a response that broke off; `content` holds the part received before that. */
  error: Schema.optionalKey(Failure)
})
export type AssistantMessage = typeof AssistantMessage.Type

/** The results of the tool calls of one step. */
export const ToolMessage = Schema.Struct({
  role: Schema.Literal("tool"),
  ...common,
  content: Schema.Array(ToolResultPart)
})
export type ToolMessage = typeof ToolMessage.Type

/** Any message of a conversation. */
export const Message = Schema.Union([UserMessage, AssistantMessage, ToolMessage])
export type Message = typeof Message.Type

/** The text of a message, without reasoning and tool calls. A file of a user is its placeholder; those of a model are left out. */
export const textOf = (message: Message): string => {
  if (message.role === "user") return inputText(message.content)
  let text = ""
  for (const part of message.content) if (part.type === "text") text += part.text
  return text
}

/** The same message with a placeholder in the place of each file, for logs and exports. */
export const withPlaceholders = (message: Message): Message => {
  switch (message.role) {
    case "user":
      return { ...message, content: message.content.map(shown) }
    case "assistant":
      return { ...message, content: message.content.map(shown) }
    case "tool":
      return { ...message, content: message.content.map(withoutContent) }
    default:
      return message satisfies never
  }
}

const shown = <Part extends AssistantPart>(part: Part): Exclude<Part, ModelFile> | TextPart =>
  part.type === "file" ? { type: "text", text: placeholderOf(part) } : (part as Exclude<Part, ModelFile>)

const withoutContent = (part: ToolResultPart): ToolResultPart => {
  const { content: _, ...result } = part
  return result
}

/** Adds two usages; a key that neither has stays absent. */
export const addUsage = (a: Usage, b: Usage): Usage => {
  const sum: { -readonly [K in keyof Usage]: Usage[K] } = { ...a }
  for (const key of Object.keys(b) as Array<keyof Usage>) {
    const value = b[key]
    if (value !== undefined) sum[key] = (sum[key] ?? 0) + value
  }
  return sum
}
