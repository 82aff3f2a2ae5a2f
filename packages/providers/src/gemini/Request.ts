/**
 * Encodes the body of a Gemini request.
 *
 * Consecutive messages of one role become one: the results of a step's calls must stand together. Files of tool results follow all of
 * them, each after the name of its call. Thought signatures are sent back with their parts, only to the model that made them; thoughts
 * without a signature are left out. Where a model requires a signature and a call or a file has none of its own, it gets the foreign one
 * (`Signature.FOREIGN`).
 *
 * Source: Gemini API reference, "Generating content"; documentation, "Function calling", "Thought signatures", "System instructions".
 */
import type { Provider } from "@holdfast/kernel"
import { defined, type Message, FilePart } from "@holdfast/wire"
import * as BodyPatch from "../requests/BodyPatch.ts"
import type { JsonFields } from "../requests/BodyPatch.ts"
import * as Files from "../requests/Files.ts"
import * as PromptParts from "../requests/PromptParts.ts"
import * as Signature from "./Signature.ts"

type Json = BodyPatch.JsonFields

/** Settings of the format. */
export interface Options extends BodyPatch.Options {}

/** The body of a request. The model is in its path. */
export const make = (request: Provider.ProviderRequest, options: Options): Json => {
  const { system, target, tools } = request
  return BodyPatch.merge(
    {
      ...(system === undefined || system === "" ? undefined : { systemInstruction: { parts: [{ text: system }] } }),
      contents: contentsOf(request),
      ...(tools.length === 0 ? undefined : { tools: [{ functionDeclarations: tools.map(toolOf) }] })
    },
    target.model,
    options
  )
}

/** What the format cannot carry. */
export const refuses: Files.Refuses = (part) => {
  const kind = FilePart.kindOf(part)
  if (kind === "file") return "Gemini takes images, PDFs, sound, videos and text"
  if ("data" in part) return undefined
  if (kind === "text") return "Gemini reads no text from an address; send the bytes"
  return part.mediaType.endsWith("/*") ? "Gemini needs the exact media type of a file at an address" : undefined
}

/**
 * Encodes a file that the format can carry, as a part of a request.
 *
 * | file | part |
 * |---|---|
 * | image, PDF, sound, video, as bytes | `inlineData` |
 * | the same at an address | `fileData` |
 * | text | `text`, between `<file>` tags with its name |
 *
 * Source: Gemini API documentation, "Image understanding", "Document understanding", "Audio understanding", "Video understanding".
 */
const encodeFile = (part: FilePart.FilePart): JsonFields => {
  if (!("data" in part)) return { fileData: { mimeType: part.mediaType, fileUri: part.url } }
  if (FilePart.kindOf(part) === "text") return { text: Files.asText(part) }
  return { inlineData: { mimeType: part.mediaType, data: part.data } }
}

// --- internal

const contentsOf = (request: Provider.ProviderRequest): ReadonlyArray<Json> => {
  /** The ids that the model itself gave to its calls: it finds the results by them. */
  const ids = new Set<string>()
  const messages = Files.handedOver(request.messages, refuses, (file) => refuses(file) === undefined)
  return PromptParts.joined(messages, (message) => partsOf(message, request, ids)).map(({ isModel, parts }) => ({
    role: isModel ? "model" : "user",
    parts
  }))
}

const partsOf = (
  message: Message.Message,
  request: Provider.ProviderRequest,
  ids: Set<string>
): ReadonlyArray<Json> => {
  switch (message.role) {
    case "user":
      return message.content.flatMap(inputParts)
    case "assistant":
      return modelParts(message, request, ids)
    case "tool":
      return [...message.content.map((result) => responseOf(result, ids)), ...message.content.flatMap(filesOf)]
    default:
      return message satisfies never
  }
}

const inputParts = (part: Message.InputPart): ReadonlyArray<Json> => {
  if (part.type === "file") return [encodeFile(part)]
  return part.text === "" ? [] : [{ text: part.text }]
}

const modelParts = (
  message: Message.AssistantMessage,
  request: Provider.ProviderRequest,
  ids: Set<string>
): ReadonlyArray<Json> => {
  const isOwn = PromptParts.isOwn(message, request)
  const signatureOf = (part: { readonly proof?: string }) => (isOwn ? Signature.ofProof(part.proof) : undefined)
  const calls = message.content.filter((part) => part.type === "tool-call")
  const isSigned = calls.some((call) => signatureOf(call) !== undefined)
  const isStrict = Signature.isRequired(request.target.model)
  const foreign = isSigned || !isStrict ? undefined : calls[0]
  const parts = message.content.flatMap((part): ReadonlyArray<Json> => {
    switch (part.type) {
      case "text":
        return part.text === "" ? [] : [{ text: part.text }]
      case "reasoning": {
        const thoughtSignature = signatureOf(part)
        if (thoughtSignature === undefined) return []
        return [{ text: part.text, ...(part.text === "" ? undefined : { thought: true }), thoughtSignature }]
      }
      case "tool-call": {
        const thoughtSignature = signatureOf(part) ?? (part === foreign ? Signature.FOREIGN : undefined)
        const id = isOwn && !PromptParts.isCallId(part.toolCallId) ? part.toolCallId : undefined
        if (id !== undefined) ids.add(id)
        const functionCall = { ...defined({ id }), name: part.toolName, args: PromptParts.argumentsOf(part) }
        return [{ functionCall, ...defined({ thoughtSignature }) }]
      }
      case "file": {
        const thoughtSignature = signatureOf(part) ?? (isStrict ? Signature.FOREIGN : undefined)
        return [{ ...encodeFile(part), ...defined({ thoughtSignature }) }]
      }
      default:
        return part satisfies never
    }
  })
  // A message of thoughts alone is left out.
  return parts.some((part) => part.functionCall !== undefined || (part.text !== "" && part.thought !== true))
    ? parts
    : []
}

const responseOf = (result: Message.ToolResultPart, ids: ReadonlySet<string>): Json => {
  const { isError, output, toolCallId, toolName } = result
  return {
    functionResponse: {
      ...(ids.has(toolCallId) ? { id: toolCallId } : undefined),
      name: toolName,
      response: isError ? { error: PromptParts.outputText(result) } : { output }
    }
  }
}

const filesOf = (result: Message.ToolResultPart): ReadonlyArray<Json> =>
  Files.ofResult(result, refuses, result.toolName).flatMap(inputParts)

const toolOf = (tool: Provider.ProviderRequest["tools"][number]): Json => ({
  name: tool.name,
  ...defined({ description: tool.description }),
  parametersJsonSchema: tool.inputSchema
})
