/**
 * Encodes the body of a Responses request.
 *
 * The conversation's state stays with Holdfast: `store` is false, and a model's reasoning is sent back to that model alone, as the
 * encrypted item that it came in. Reasoning without encrypted content is left out: without storage its id means nothing. Tools are not
 * strict: a strict tool's schema must name every property as required, and tools of others do not.
 *
 * Source: OpenAI, API reference, "Create a model response"; "Conversation state", "Reasoning models" (encrypted reasoning items),
 * "Function calling".
 */
import type { Provider } from "@holdfast/kernel"
import { defined, type Message, FilePart } from "@holdfast/wire"
import { type JsonObject, parsed, textOf } from "../decoding/Json.ts"
import * as ModelFile from "../decoding/ModelFile.ts"
import * as BodyPatch from "../requests/BodyPatch.ts"
import type { JsonFields } from "../requests/BodyPatch.ts"
import * as Files from "../requests/Files.ts"
import * as PromptParts from "../requests/PromptParts.ts"

type Json = BodyPatch.JsonFields

/** Settings of the format. */
export interface Options extends BodyPatch.Options {}

/** The body of a request. */
export const make = (request: Provider.ProviderRequest, options: Options): Json => {
  const { messages, system, target, tools } = request
  return BodyPatch.merge(
    {
      model: target.model,
      ...(system === undefined || system === "" ? undefined : { instructions: system }),
      input: Files.handedOver(
        messages,
        refuses,
        (file, of) => PromptParts.isOwn(of, request) && "id" in idIn(file.proof)
      ).flatMap((message) => inputOf(message, request)),
      ...(tools.length === 0 ? undefined : { tools: tools.map(toolOf) }),
      ...(reasons(target.model) ? { include: ["reasoning.encrypted_content"] } : undefined),
      store: false,
      stream: true
    },
    target.model,
    options
  )
}

/** The data of a reasoning item that goes back with it, as a part's `proof`; `undefined`: there is nothing to send back. */
export const proofOf = (item: { readonly [key: string]: unknown }): string | undefined => {
  const { encrypted_content, id } = item
  if (textOf(encrypted_content) === undefined) return undefined
  return JSON.stringify({ id: textOf(id), encrypted_content })
}

/** The file of a generated image; none where the item has no result. */
export const filesIn = ({ id, output_format, result }: JsonObject): ReadonlyArray<Message.ModelFile> =>
  ModelFile.of(`image/${textOf(output_format) ?? "png"}`, result, JSON.stringify({ id }))

/** What the format cannot carry. */
export const refuses: Files.Refuses = (part) => {
  const kind = FilePart.kindOf(part)
  if (kind === "audio" || kind === "video")
    return `the Responses API has no part for ${kind === "audio" ? "sound" : "videos"}`
  if (kind === "text" && !("data" in part))
    return "the Responses API reads only images and documents from an address; send the bytes"
  return undefined
}

/**
 * Encodes a file that the format can carry, as an input part.
 *
 * | file | part |
 * |---|---|
 * | image, as bytes or at an address | `input_image` |
 * | text | `input_text`, between `<file>` tags with its name |
 * | PDF and other application types, as bytes or at an address | `input_file` |
 *
 * Source: OpenAI, "Images and vision", "File inputs" (Responses).
 */
const encodeFile = (part: FilePart.FilePart): JsonFields => {
  const kind = FilePart.kindOf(part)
  if (!("data" in part)) {
    return kind === "image"
      ? { type: "input_image", image_url: part.url, detail: "auto" }
      : { type: "input_file", file_url: part.url }
  }
  const { data, mediaType, name } = part
  const dataUrl = `data:${mediaType};base64,${data}`
  switch (kind) {
    case "image":
      return { type: "input_image", image_url: dataUrl, detail: "auto" }
    case "text":
      return { type: "input_text", text: Files.asText(part) }
    case "pdf":
    case "audio":
    case "video":
    case "file":
      return { type: "input_file", filename: name ?? Files.nameOf(mediaType), file_data: dataUrl }
    default:
      return kind satisfies never
  }
}

// --- internal

/** Models that do not reason reject a request for encrypted reasoning. */
const reasons = (model: string): boolean => !/^(?:gpt-3|gpt-4|chatgpt-|gpt-5(?:\.\d+)?-chat)/.test(model)

const inputOf = (message: Message.Message, request: Provider.ProviderRequest): ReadonlyArray<Json> => {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: message.content.flatMap(inputParts) }]
    case "assistant": {
      const isOwn = PromptParts.isOwn(message, request)
      return withoutLastReasoning(message.content.flatMap((part) => assistantItems(part, isOwn)))
    }
    case "tool":
      return message.content.map(outputOf)
    default:
      return message satisfies never
  }
}

const inputParts = (part: Message.InputPart): ReadonlyArray<Json> => {
  if (part.type === "file") return [encodeFile(part)]
  return part.text === "" ? [] : [{ type: "input_text", text: part.text }]
}

/** The API rejects a reasoning item without the item that followed it. */
const withoutLastReasoning = (items: ReadonlyArray<Json>): ReadonlyArray<Json> =>
  items.slice(0, items.findLastIndex(({ type }) => type !== "reasoning") + 1)

const assistantItems = (part: Message.AssistantPart, isOwn: boolean): ReadonlyArray<Json> => {
  switch (part.type) {
    case "text":
      return part.text === ""
        ? []
        : [{ type: "message", role: "assistant", content: [{ type: "output_text", text: part.text }] }]
    case "reasoning": {
      const proof = isOwn ? itemOf(part.proof) : undefined
      const summary = part.text === "" ? [] : [{ type: "summary_text", text: part.text }]
      return proof === undefined ? [] : [{ type: "reasoning", ...proof, summary }]
    }
    case "tool-call":
      return [
        {
          type: "function_call",
          call_id: part.toolCallId,
          name: part.toolName,
          arguments: JSON.stringify(PromptParts.argumentsOf(part))
        }
      ]
    case "file": // others are handed over
      return "data" in part
        ? [{ type: "image_generation_call", ...idIn(part.proof), status: "completed", result: part.data }]
        : []
    default:
      return part satisfies never
  }
}

/** What `proofOf` wrote; `undefined` for the proof of another adapter. */
const itemOf = (proof: string | undefined): Json | undefined => {
  const item = parsed(proof)
  const encrypted_content = textOf(item.encrypted_content)
  return encrypted_content === undefined ? undefined : { ...idIn(proof), encrypted_content }
}

/** The id of an item, where its proof has one. */
const idIn = (proof: string | undefined): Json => defined({ id: textOf(parsed(proof).id) })

const outputOf = (result: Message.ToolResultPart): Json => {
  const parts = Files.partsOf(result, refuses)?.flatMap(inputParts)
  const text = PromptParts.outputText(result)
  return {
    type: "function_call_output",
    call_id: result.toolCallId,
    // The format has no field for a failed call, so the text has a prefix.
    output: parts ?? (result.isError ? `Error: ${text}` : text)
  }
}

const toolOf = (tool: Provider.ProviderRequest["tools"][number]): Json => ({
  type: "function",
  name: tool.name,
  ...defined({ description: tool.description }),
  parameters: tool.inputSchema,
  strict: false
})
