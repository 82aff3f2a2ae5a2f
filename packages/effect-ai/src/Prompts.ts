/**
 * Messages of Holdfast as a prompt of Effect AI, and back.
 *
 * Prompts.P1. A reasoning block keeps its signature, or its redacted data, in the place where Effect AI has Anthropic's: it must go back with the block.
 *     What other providers give with a reasoning block or a tool call is its `proof`, and goes back as it came.
 * Prompts.P2. What a message of Holdfast has no place for fails the call before it is made: a file that is neither bytes nor an https address.
 */
import { defined, Ids, type Message, type Target } from "@holdfast/wire"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type * as Prompt from "effect/ai/Prompt"
import * as Base64 from "effect/encoding/Base64"

/** A request's messages for a language model. */
export const promptOf = (system: string | undefined, messages: ReadonlyArray<Message.Message>): Prompt.RawInput => [
  ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
  ...messages.map(encoded)
]

/** A prompt's messages for a provider. Texts of the system become one. Throws where there is no place for a part (P2). */
export const messagesOf = (
  prompt: Prompt.Prompt,
  target: Target.Target,
  now: number
): { readonly system?: string; readonly messages: ReadonlyArray<Message.Message> } => {
  const system = prompt.content.flatMap((message) => (message.role === "system" ? [message.content] : []))
  return {
    messages: prompt.content.flatMap((message, n) =>
      messageOf(message, target, { id: Ids.messageIdOf(TURN, n), turnId: TURN, createdAt: now })
    ),
    ...(system.length === 0 ? undefined : { system: system.join("\n\n") })
  }
}

/** Names the calls of a language model, which belong to no turn. */
export const TURN = Ids.TurnId.make("call")

/** What must go back with a part, from its options or metadata (P1). */
export const proofOf = (values: Metadata | undefined): Proof => {
  const { anthropic, ...others } = values ?? {}
  const { info, ...more }: { readonly info?: Info } = fieldsOf(anthropic)
  const filled = Object.entries({ ...others, anthropic: more }).filter(
    ([, fields]) => Object.keys(fieldsOf(fields)).length > 0
  )
  return defined({
    signature: info?.signature,
    redacted: info?.redactedData,
    proof: filled.length === 0 ? undefined : JSON.stringify(Object.fromEntries(filled))
  })
}

/** The same as options or metadata. */
export const withProof = ({ proof, redacted, signature }: Proof): Fields => {
  const others: Fields = proof === undefined ? {} : JSON.parse(proof)
  if (signature === undefined && redacted === undefined) return others
  const info =
    redacted === undefined ? { type: "thinking", signature } : { type: "redacted_thinking", redactedData: redacted }
  return {
    ...others,
    anthropic: { ...fieldsOf(others["anthropic"]), info: info as { readonly [key: string]: string } }
  }
}

/** Options or metadata of a part, by provider. */
export type Metadata = { readonly [provider: string]: Schema.Json | undefined }

/** Metadata of two parts of one block. */
export const merged = (known: Metadata | undefined, added: Metadata): Metadata => ({
  ...known,
  ...Object.fromEntries(
    Object.entries(added).map(([name, fields]) => [name, { ...fieldsOf(known?.[name]), ...fieldsOf(fields) }])
  )
})

/** What must go back with a reasoning block. */
export type Proof = Pick<Message.ReasoningPart, "signature" | "redacted" | "proof">

// --- internal

interface Fields {
  readonly [name: string]: Schema.Json
}

const fieldsOf = (values: Schema.Json | undefined): Fields =>
  typeof values === "object" && values !== null && !Array.isArray(values) ? (values as Fields) : {}

interface Info {
  readonly signature?: string
  readonly redactedData?: string
}

const encoded = (message: Message.Message): Prompt.MessageEncoded => {
  switch (message.role) {
    case "user":
      return { role: "user", content: message.content.map(inputPart) }
    case "tool":
      return {
        role: "tool",
        content: message.content.map(({ content, isError, output, toolCallId, toolName }) => ({
          type: "tool-result",
          id: toolCallId,
          name: toolName,
          isFailure: isError,
          result: output,
          ...(content === undefined ? undefined : { modelOutput: content.map(inputPart) })
        }))
      }
    case "assistant":
      return {
        role: "assistant",
        content: message.content.map((part) => {
          if (part.type === "text") return part
          if (part.type === "file") return { ...inputPart(part), options: withProof(part) }
          if (part.type === "reasoning") return { type: "reasoning", text: part.text, options: withProof(part) }
          const { input, malformed, proof, toolCallId, toolName } = part
          const params = malformed === undefined ? input : { malformed_arguments: input } // as a provider takes it
          return { type: "tool-call", id: toolCallId, name: toolName, params, options: withProof(defined({ proof })) }
        })
      }
  }
}

const inputPart = (part: Message.InputPart): Prompt.TextPartEncoded | Prompt.FilePartEncoded => {
  if (part.type === "text") return part
  const { mediaType, name } = part
  const data = "data" in part ? Result.getOrThrow(Base64.decode(part.data)) : new URL(part.url)
  return { type: "file", mediaType, data, ...(name === undefined ? undefined : { fileName: name }) }
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
      return [{ role: "user", ...common, content: message.content.map(wirePart) }]
    case "tool": {
      const content = message.content.flatMap((part) => (part.type === "tool-result" ? [resultPart(part)] : []))
      return content.length === 0 ? [] : [{ role: "tool", ...common, content }]
    }
    case "assistant": {
      const content = message.content.flatMap(assistantPart)
      return content.length === 0 ? [] : [{ role: "assistant", ...common, target, content }]
    }
  }
}

const assistantPart = (part: Prompt.AssistantMessagePart): ReadonlyArray<Message.AssistantPart> => {
  switch (part.type) {
    case "text":
      return [{ type: "text", text: part.text }]
    case "reasoning":
      return [{ type: "reasoning", text: part.text, ...proofOf(part.options) }]
    case "tool-call":
      // A call that the provider ran itself is no call of ours.
      return part.providerExecuted ? [] : [callOf(part, part.options)]
    case "file":
      return [{ ...filePart(part), ...proofOf(part.options) }]
    default:
      return []
  }
}

/** A call of a response, or of a prompt. */
export const callOf = (
  { id, name, params }: { readonly id: string; readonly name: string; readonly params: unknown },
  values: Metadata
): Message.ToolCallPart => {
  const { proof } = proofOf(values)
  return { type: "tool-call", toolCallId: id, toolName: name, input: params as never, ...defined({ proof }) }
}

const resultPart = (part: Prompt.ToolResultPart): Message.ToolResultPart => {
  const [first, ...rest] = part.modelOutput?.map(wirePart) ?? []
  return {
    type: "tool-result",
    toolCallId: part.id,
    toolName: part.name,
    output: part.result as never,
    isError: part.isFailure,
    ...(first === undefined ? undefined : { content: [first, ...rest] as const })
  }
}

const wirePart = (part: Prompt.TextPart | Prompt.FilePart): Message.InputPart =>
  part.type === "text" ? { type: "text", text: part.text } : filePart(part)

/** A file of a prompt or of a response. A message has its type in lower case and without parameters. */
export const filePart = (
  part: Pick<Prompt.FilePart, "data" | "mediaType"> & { readonly fileName?: string | undefined }
): Message.FilePart => {
  const { data, fileName } = part
  const mediaType = part.mediaType.replace(/;.*/s, "").trim().toLowerCase()
  const described = { type: "file" as const, mediaType, ...(fileName === undefined ? undefined : { name: fileName }) }
  if (typeof data !== "string" && !(data instanceof URL)) return { ...described, data: Base64.encode(data) }
  const text = String(data)
  if (text.startsWith("https:")) return { ...described, url: text }
  const base64 = /^data:[^,]*;base64,(.*)$/s.exec(text)?.[1] ?? text
  if (Result.isSuccess(Base64.decode(base64))) return { ...described, data: base64 }
  throw new Error(`A file (${mediaType}) is ${text.slice(0, 40)}: expected bytes, base64 or an https address.`) // P2
}
