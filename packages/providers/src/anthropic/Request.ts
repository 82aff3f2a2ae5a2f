/**
 * Encodes the body of a Messages request.
 *
 * Consecutive messages of one role become one, its tool results first: a result must be at the start of the message after its call.
 * Signed and redacted thinking is sent back unchanged, only to the model that made it; unsigned thinking is left out. There is no empty
 * text: the API rejects it.
 *
 * Source: Claude API documentation, "Messages", "Extended thinking", "Prompt caching", "Handling tool use".
 */
import type { Provider } from "@holdfast/kernel"
import { defined, type Message, FilePart } from "@holdfast/wire"
import * as BodyPatch from "../requests/BodyPatch.ts"
import type { JsonFields } from "../requests/BodyPatch.ts"
import * as Files from "../requests/Files.ts"
import * as PromptParts from "../requests/PromptParts.ts"

type Json = BodyPatch.JsonFields

/** Settings of Anthropic's format. */
export interface Options extends BodyPatch.Options {
  /** The most tokens of a response; the API requires a number. Default: `maxTokensOf` the model. */
  readonly maxTokens?: number | undefined
  /** Marks the system prompt and the last message for the prompt cache, so each step reads the previous one's cache. Default: true. */
  readonly promptCaching?: boolean | undefined
}

/**
 * A model's most output tokens, by its name: 4,096 for Claude 3, 8,192 for Claude 3.5, and 32,000 for all others, the limit of the
 * smallest of them (Claude Opus 4 and 4.1). (Claude API documentation, "Models overview")
 */
export const maxTokensOf = (model: string): number => {
  if (/claude-3-(opus|sonnet|haiku)/.test(model)) return 4096
  return /claude-3[-.]5/.test(model) ? 8192 : 32_000
}

/** The body of a request. */
export const make = (request: Provider.ProviderRequest, options: Options): Json => {
  const cache = options.promptCaching === false ? undefined : { cache_control: { type: "ephemeral" } }
  return BodyPatch.merge(
    {
      model: request.target.model,
      max_tokens: options.maxTokens ?? maxTokensOf(request.target.model),
      ...(request.system === undefined || request.system === ""
        ? undefined
        : { system: [{ type: "text", text: request.system, ...cache }] }),
      messages: messagesOf(request, cache),
      ...(request.tools.length === 0 ? undefined : { tools: request.tools.map(toolOf) }),
      stream: true
    },
    request.target.model,
    options
  )
}

/** What the format cannot carry. */
export const refuses: Files.Refuses = (part) => {
  switch (FilePart.kindOf(part)) {
    case "image":
      return "url" in part || IMAGES.includes(part.mediaType) ? undefined : `of images it takes ${IMAGES.join(", ")}`
    case "pdf":
      return undefined
    case "text":
      return "data" in part ? undefined : "the Messages API reads only images and PDFs from an address; send the bytes"
    case "audio":
    case "video":
    case "file":
      return "the Messages API takes images, PDFs and text"
  }
}

/**
 * Encodes a file that the format can carry, as a content block.
 *
 * | file | block |
 * |---|---|
 * | image: JPEG, PNG, GIF, WebP | `image`; its source is `base64` or `url` |
 * | PDF | `document`; its source is `base64` or `url` |
 * | text | `document` with a source of plain `text` |
 *
 * Source: Claude API documentation, "Vision", "PDF support", "Messages" (content blocks).
 */
const encodeFile = (part: FilePart.FilePart): JsonFields => {
  const kind = FilePart.kindOf(part)
  const source = sourceOf(part, kind)
  if (kind === "image") return { type: "image", source }
  return { type: "document", source, ...(part.name === undefined ? undefined : { title: part.name }) }
}

// --- internal

const messagesOf = (request: Provider.ProviderRequest, cache: Json | undefined): ReadonlyArray<Json> => {
  const messages = Files.handedOver(request.messages, refuses)
  const turns = PromptParts.joined(messages, (message) => contentOf(message, request))
  for (const { parts } of turns) parts.sort((a, b) => rank(a) - rank(b))
  const last = turns.at(-1)
  const block = last?.parts.pop()
  // The last message is a prompt or the results of tools, whose last part is never thinking, which cannot be marked.
  if (block !== undefined) last?.parts.push(last.isModel ? block : { ...block, ...cache })
  return turns.map(({ isModel, parts }) => ({ role: isModel ? "assistant" : "user", content: parts }))
}

/** Stable sort: only results move. */
const rank = (block: Json): number => (block.type === "tool_result" ? 0 : 1)

const contentOf = (message: Message.Message, request: Provider.ProviderRequest): Array<Json> => {
  switch (message.role) {
    case "user":
      return message.content.flatMap(inputBlocks)
    case "assistant": {
      const isOwn = PromptParts.isOwn(message, request)
      const blocks = message.content.flatMap((part) => assistantBlocks(part, isOwn))
      // A message of thinking alone is left out.
      return blocks.some((block) => block.type === "text" || block.type === "tool_use") ? blocks : []
    }
    case "tool":
      return message.content.map((result) => ({
        type: "tool_result",
        tool_use_id: toolUseId(result.toolCallId),
        content: Files.partsOf(result, refuses)?.flatMap(inputBlocks) ?? PromptParts.outputText(result),
        ...(result.isError ? { is_error: true } : undefined)
      }))
    default:
      return message satisfies never
  }
}

const inputBlocks = (part: Message.InputPart): ReadonlyArray<Json> => {
  if (part.type === "file") return [encodeFile(part)]
  return part.text === "" ? [] : [{ type: "text", text: part.text }]
}

const assistantBlocks = (part: Message.AssistantPart, isOwn: boolean): ReadonlyArray<Json> => {
  switch (part.type) {
    case "text":
      return part.text.trim() === "" ? [] : [{ type: "text", text: part.text }]
    case "reasoning":
      if (!isOwn) return []
      if (part.redacted !== undefined) return [{ type: "redacted_thinking", data: part.redacted }]
      return part.signature === undefined ? [] : [{ type: "thinking", thinking: part.text, signature: part.signature }]
    case "tool-call":
      return [
        { type: "tool_use", id: toolUseId(part.toolCallId), name: part.toolName, input: PromptParts.argumentsOf(part) }
      ]
    case "file": // handed over
      return []
    default:
      return part satisfies never
  }
}

/** The API accepts letters, digits, `_` and `-`; another provider's ids may have other characters. */
const toolUseId = (id: string): string => id.replace(/[^A-Za-z0-9_-]/g, "_")

const toolOf = (tool: Provider.ProviderRequest["tools"][number]): Json => ({
  name: tool.name,
  ...defined({ description: tool.description }),
  input_schema: tool.inputSchema
})

const IMAGES = ["image/jpeg", "image/png", "image/gif", "image/webp"]

const sourceOf = (part: FilePart.FilePart, kind: FilePart.FileKind): JsonFields => {
  if (!("data" in part)) return { type: "url", url: part.url }
  return kind === "text"
    ? { type: "text", media_type: "text/plain", data: Files.textOf(part) }
    : { type: "base64", media_type: part.mediaType, data: part.data }
}
