/**
 * Messages of Holdfast as a prompt of Effect AI, and back.
 *
 * Prompts.P1. A reasoning block keeps its signature, or its redacted data, in the place where Effect AI has Anthropic's: it must go back with the block.
 *     What other providers give with a reasoning block or a tool call is its `proof`, and goes back as it came.
 * Prompts.P2. What a message of Holdfast has no place for fails the call before it is made: a file that is neither bytes nor an https address, or has
 *     no media type.
 */
import { defined, FilePart, Ids, type Message, type Target } from "@holdfast/wire"
import * as Schema from "effect/Schema"
import type * as Prompt from "effect/ai/Prompt"
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"
import { argumentsOf, fileOf, Metadata, promptOf as prompt } from "holdfast/bridge"

/** A request's messages for a language model. */
export const promptOf = (system: string | undefined, messages: ReadonlyArray<Message.Message>): Prompt.RawInput =>
  // Each role has the parts that Effect AI has for it.
  prompt(system, messages, {
    text: inputPart,
    file: (part) => ({ ...inputPart(part), options: Metadata.metadataOf(part) }),
    reasoning: (part) => ({ type: part.type, text: part.text, options: Metadata.metadataOf(part, "info") }),
    "tool-call": (part) => {
      const { toolCallId, toolName, type } = part
      return { type, id: toolCallId, name: toolName, params: argumentsOf(part), options: Metadata.metadataOf(part) }
    },
    "tool-result": ({ content, isError, output, toolCallId, toolName, type }) => ({
      type,
      id: toolCallId,
      name: toolName,
      isFailure: isError,
      result: output,
      ...defined({ modelOutput: content?.map(inputPart) })
    })
  }) as Prompt.RawInput

/** A prompt's messages for a provider. Texts of the system become one. Throws where there is no place for a part (P2). */
export const messagesOf = (
  { content }: Prompt.Prompt,
  target: Target.Target,
  createdAt: number
): { readonly system?: string; readonly messages: ReadonlyArray<Message.Message> } => {
  const system = content.flatMap((message) => (message.role === "system" ? [message.content] : []))
  const messages = content.flatMap((message, n) =>
    messageOf(message, target, { id: Ids.messageIdOf(TURN, n), turnId: TURN, createdAt })
  )
  return { messages, ...defined({ system: system.join("\n\n") || undefined }) }
}

/** Names the calls of a language model, which belong to no turn. */
export const TURN = Ids.TurnId.make("call")

// --- internal

const inputPart = (part: Message.InputPart) => {
  if (part.type === "text") return { type: part.type, text: part.text }
  const { mediaType, name, type } = part
  const data = "data" in part ? Result.getOrThrow(Base64.decode(part.data)) : new URL(part.url)
  return { type, mediaType, data, ...defined({ fileName: name }) }
}

const messageOf = (
  message: Prompt.Message,
  target: Target.Target,
  common: Pick<Message.Message, "id" | "turnId" | "createdAt">
): ReadonlyArray<Message.Message> => {
  switch (message.role) {
    case "system":
      return []
    case "user":
      return [{ role: "user", ...common, content: message.content.map(messagePart) }]
    case "assistant": {
      const content = message.content.flatMap(assistantPart)
      return content.length === 0 ? [] : [{ role: "assistant", ...common, target, content }]
    }
    case "tool": {
      const content = message.content.flatMap((part) => (part.type === "tool-result" ? [resultPart(part)] : []))
      return content.length === 0 ? [] : [{ role: "tool", ...common, content }]
    }
  }
}

/** A part of an answer; none for a call that the provider ran itself, its result, and approvals of tools. */
const assistantPart = (part: Prompt.AssistantMessagePart): ReadonlyArray<Message.AssistantPart> => {
  switch (part.type) {
    case "text":
      return [{ type: part.type, text: part.text }]
    case "file":
      return [{ ...checked(part), ...Metadata.proofOf(part.options) }]
    case "reasoning":
      return [{ type: part.type, text: part.text, ...Metadata.blockProofOf(part.options, "info") }]
    case "tool-call": {
      const { id, name, options, params, providerExecuted, type } = part
      return providerExecuted
        ? []
        : [{ type, toolCallId: id, toolName: name, input: params as never, ...Metadata.proofOf(options) }]
    }
    default:
      return []
  }
}

const resultPart = ({
  id,
  isFailure,
  modelOutput,
  name,
  result,
  type
}: Prompt.ToolResultPart): Message.ToolResultPart => {
  const [first, ...rest] = modelOutput?.map(messagePart) ?? []
  return {
    type,
    toolCallId: id,
    toolName: name,
    output: result as never,
    isError: isFailure,
    ...defined({ content: first && ([first, ...rest] as const) })
  }
}

const messagePart = (part: Prompt.TextPart | Prompt.FilePart): Message.InputPart =>
  part.type === "text" ? { type: part.type, text: part.text } : checked(part)

const decode = Schema.decodeUnknownResult(FilePart.FileInput)

const checked = ({ data, fileName, mediaType }: Prompt.FilePart): Message.FilePart => {
  const file = fileOf({ mediaType, data, name: fileName?.replace(/^.*[/\\]/s, "") || undefined })
  const read = decode(file)
  if (Result.isSuccess(read)) return read.success
  const where = "url" in file ? `at ${file.url.slice(0, 40)} ` : ""
  throw new Error(`A file (${mediaType}) ${where}is not valid: ${read.failure.message.replace(/\s+/g, " ")}.`) // P2
}
