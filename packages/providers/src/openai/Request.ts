/**
 * Encodes the body of a chat completion request.
 *
 * Files of tool results follow all results of their step in one user message, each after the id of its call: a `tool` message carries
 * text alone, and no other message may stand between results. The result itself has their placeholders.
 *
 * Source: OpenAI, API reference, "Create chat completion"; limited to the fields that compatible servers accept, too.
 */
import type { Provider } from "@holdfast/kernel"
import { defined, Message, FilePart } from "@holdfast/wire"
import * as BodyPatch from "../requests/BodyPatch.ts"
import type { JsonFields } from "../requests/BodyPatch.ts"
import * as Files from "../requests/Files.ts"
import * as PromptParts from "../requests/PromptParts.ts"

type Json = BodyPatch.JsonFields

/** Settings of OpenAI's format. */
export interface Options extends BodyPatch.Options {
  /**
   * The field in which a model's own reasoning is sent back to it. Absent: `reasoning_content` for the services that require it of thinking
   * models with tools (`reasoningFieldOf`); for others reasoning is left out, as most of them require.
   */
  readonly reasoningField?: "reasoning_content" | "reasoning" | undefined
}

/**
 * The field in which a service requires the reasoning of a model with tools; `undefined`: none.
 *
 * Sources: DeepSeek, "Thinking Mode", tool calls (a 400 without it; thinking is on by default); Moonshot AI, "Use Kimi thinking models".
 */
export const reasoningFieldOf = (baseUrl: string): Options["reasoningField"] =>
  REASONING_SENT_BACK.test(baseUrl) ? "reasoning_content" : undefined

/** The body of a request. */
export const make = (request: Provider.ProviderRequest, options: Options): Json =>
  BodyPatch.merge(
    {
      model: request.target.model,
      messages: [
        ...(request.system === undefined || request.system === "" ? [] : [{ role: "system", content: request.system }]),
        ...Files.handedOver(request.messages, refuses).flatMap((message) => messagesOf(message, request, options))
      ],
      ...(request.tools.length === 0 ? undefined : { tools: request.tools.map(toolOf) }),
      stream: true,
      stream_options: { include_usage: true }
    },
    request.target.model,
    options
  )

/** What the format cannot carry. */
export const refuses: Files.Refuses = (part) => {
  const kind = FilePart.kindOf(part)
  if (kind === "image") return undefined
  if (!("data" in part)) return "chat completions reads only images from an address; send the bytes"
  if (kind === "video") return "chat completions has no part for videos"
  if (kind === "audio" && AUDIO.get(part.mediaType) === undefined)
    return "of sound, chat completions has parts for audio/wav and audio/mpeg"
  return undefined
}

/**
 * Encodes a file that the format can carry, as a part of a message.
 *
 * | file | part |
 * |---|---|
 * | image, as bytes or at an address | `image_url` |
 * | `audio/wav`, `audio/mpeg` | `input_audio` |
 * | text | `text`, between `<file>` tags with its name |
 * | any other application type, such as PDF | `file` with `file_data` |
 *
 * Source: OpenAI, "Images and vision", "Audio and speech", "File inputs" (chat completions).
 */
const encodeFile = (part: FilePart.FilePart): JsonFields => {
  const kind = FilePart.kindOf(part)
  if (!("data" in part)) return { type: "image_url", image_url: { url: part.url } }
  const { data, mediaType, name } = part
  const dataUrl = `data:${mediaType};base64,${data}`
  switch (kind) {
    case "image":
      return { type: "image_url", image_url: { url: dataUrl } }
    case "audio":
      return { type: "input_audio", input_audio: { data, format: AUDIO.get(mediaType) ?? mediaType } }
    case "text":
      return { type: "text", text: Files.asText(part) }
    case "pdf":
    case "video":
    case "file":
      return { type: "file", file: { filename: name ?? Files.nameOf(mediaType), file_data: dataUrl } }
    default:
      return kind satisfies never
  }
}

// --- internal

const messagesOf = (
  message: Message.Message,
  request: Provider.ProviderRequest,
  options: Options
): ReadonlyArray<Json> => {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: contentOf(message.content) }]
    case "assistant":
      return assistant(message, request, options)
    case "tool":
      return [
        ...message.content.map((result) => ({
          role: "tool",
          tool_call_id: result.toolCallId,
          // The format has no field for a failed call, so the text has a prefix.
          content: result.isError ? `Error: ${PromptParts.outputText(result)}` : PromptParts.outputText(result)
        })),
        ...filesOfResults(message)
      ]
    default:
      return message satisfies never
  }
}

/** Text alone stays a string: some compatible servers take nothing else. */
const contentOf = (parts: ReadonlyArray<Message.InputPart>): string | ReadonlyArray<Json> =>
  parts.every((part) => part.type === "text")
    ? parts.map(({ text }) => text).join("\n")
    : parts.flatMap((part) =>
        part.type === "file" ? [encodeFile(part)] : part.text === "" ? [] : [{ type: "text", text: part.text }]
      )

const filesOfResults = ({ content }: Message.ToolMessage): ReadonlyArray<Json> => {
  const parts = content.flatMap((result) =>
    Files.ofResult(result, refuses, `call ${result.toolCallId} (${result.toolName})`)
  )
  return parts.length === 0 ? [] : [{ role: "user", content: contentOf(parts) }]
}

const REASONING_SENT_BACK = /\/\/api\.(deepseek\.com|moonshot\.(ai|cn))(\/|$)/

const assistant = (
  message: Message.AssistantMessage,
  request: Provider.ProviderRequest,
  options: Options
): ReadonlyArray<Json> => {
  const text = Message.textOf(message)
  const calls = message.content.filter((part) => part.type === "tool-call")
  if (text === "" && calls.length === 0) return []
  const reasoning =
    options.reasoningField !== undefined && PromptParts.isOwn(message, request)
      ? PromptParts.reasoningText(message)
      : ""
  return [
    {
      role: "assistant",
      content: text === "" ? null : text,
      ...(options.reasoningField === undefined || reasoning === ""
        ? undefined
        : { [options.reasoningField]: reasoning }),
      ...(calls.length === 0 ? undefined : { tool_calls: calls.map(callOf) })
    }
  ]
}

const callOf = (call: Message.ToolCallPart): Json => ({
  id: call.toolCallId,
  type: "function",
  function: { name: call.toolName, arguments: JSON.stringify(PromptParts.argumentsOf(call)) }
})

const toolOf = (tool: Provider.ProviderRequest["tools"][number]): Json => ({
  type: "function",
  function: {
    name: tool.name,
    ...defined({ description: tool.description }),
    parameters: tool.inputSchema
  }
})

/** The format's names of media types. */
const AUDIO: ReadonlyMap<string, string> = new Map([
  ["audio/wav", "wav"],
  ["audio/x-wav", "wav"],
  ["audio/mpeg", "mp3"],
  ["audio/mp3", "mp3"]
])
