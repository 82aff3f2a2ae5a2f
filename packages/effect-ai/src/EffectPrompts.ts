/**
 * Messages of Holdfast as a prompt of Effect AI, and back: a table of parts for each direction.
 *
 * A reasoning block keeps its signature, or its redacted data, in the place where Effect AI has Anthropic's: it must go back with the
 * block. What other providers give with a reasoning block or a tool call is its `proof`, and goes back as it came. What a message of
 * Holdfast has no place for fails the call before it is made: a file that is neither bytes nor an https address, or has no media type.
 */
import { defined, FilePart, Ids, type Message, type Target } from "@holdfast/wire"
import * as Schema from "effect/Schema"
import type * as Prompt from "effect/ai/Prompt"
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"
import { argumentsOf, fileOf, Metadata, type PartTable, promptOf as prompt } from "holdfast/bridge"

/** A request's messages for a language model. */
export const promptOf = (system: string | undefined, messages: ReadonlyArray<Message.Message>): Prompt.RawInput =>
  prompt(system, messages, WRITTEN) as Prompt.RawInput // Each role has the parts that Effect AI has for it.

/** A prompt's messages for a provider. Texts of the system become one. Throws where there is no place for a part. */
export const messagesOf = (
  { content }: Prompt.Prompt,
  target: Target.Target,
  createdAt: number
): { readonly system?: string; readonly messages: ReadonlyArray<Message.Message> } => {
  const system = content.flatMap((message) => (message.role === "system" ? [message.content] : []))
  const messages = content.flatMap((message, n): Message.Message | [] => {
    if (message.role === "system") return []
    const { role } = message
    const content = message.content.flatMap((part: Prompt.Part) => READ[role][part.type]?.(part as never) ?? [])
    const common = { id: Ids.messageIdOf(TURN, n), turnId: TURN, createdAt, ...(role === "assistant" && { target }) }
    return content.length === 0 ? [] : ({ role, ...common, content } as Message.Message)
  })
  return { messages, ...defined({ system: system.join("\n\n") || undefined }) }
}

/** Names the calls of a language model, which belong to no turn. */
export const TURN = Ids.TurnId.make("call")

// --- internal

const written = (part: Message.InputPart) => {
  if (part.type === "text") return { type: part.type, text: part.text }
  const { mediaType, name, type } = part
  const data = "data" in part ? Result.getOrThrow(Base64.decode(part.data)) : new URL(part.url)
  return { type, mediaType, data, ...defined({ fileName: name }) }
}

const WRITTEN: PartTable = {
  text: written,
  file: (part) => ({ ...written(part), options: Metadata.metadataOf(part) }),
  reasoning: (part) => ({ type: part.type, text: part.text, options: Metadata.metadataOf(part, "info") }),
  "tool-call": (part) => {
    const { toolCallId: id, toolName: name, type } = part
    return { type, id, name, params: argumentsOf(part), options: Metadata.metadataOf(part) }
  },
  "tool-result": ({ content, isError: isFailure, output: result, toolCallId: id, toolName: name, type }) => ({
    type,
    id,
    name,
    isFailure,
    result,
    ...defined({ modelOutput: content?.map(written) })
  })
}

const read = (part: Prompt.TextPart | Prompt.FilePart): Message.InputPart =>
  part.type === "text" ? { type: part.type, text: part.text } : checked(part)

/** By role. A message has no place for a call that the provider ran itself, its result, and approvals of tools. */
const READ: {
  readonly [role in Message.Message["role"]]: {
    readonly [type in Prompt.Part["type"]]?: (part: Extract<Prompt.Part, { readonly type: type }>) => object
  }
} = {
  user: { text: read, file: read },
  assistant: {
    text: read,
    file: (part) => ({ ...checked(part), ...Metadata.proofOf(part.options) }),
    reasoning: ({ options, text, type }) => ({ type, text, ...Metadata.blockProofOf(options, "info") }),
    "tool-call": ({ id, name, options, params, providerExecuted, type }) =>
      providerExecuted ? [] : { type, toolCallId: id, toolName: name, input: params, ...Metadata.proofOf(options) }
  },
  tool: {
    "tool-result": ({ id, isFailure, modelOutput = [], name, result, type }) => ({
      type,
      toolCallId: id,
      toolName: name,
      output: result,
      isError: isFailure,
      ...(modelOutput.length > 0 && { content: modelOutput.map(read) })
    })
  }
}

const decode = Schema.decodeUnknownResult(FilePart.FileInput)

const checked = ({ data, fileName, mediaType }: Prompt.FilePart): Message.FilePart => {
  const file = fileOf({ mediaType, data, name: fileName?.replace(/^.*[/\\]/s, "") || undefined })
  const decoded = decode(file)
  if (Result.isSuccess(decoded)) return decoded.success
  const where = "url" in file ? `at ${file.url.slice(0, 40)} ` : ""
  throw new Error(`A file (${mediaType}) ${where}is not valid: ${decoded.failure.message.replace(/\s+/g, " ")}.`)
}
