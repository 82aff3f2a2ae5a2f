/**
 * Encodes the body of a chat completion request.
 *
 * Files of tool results follow all results of their step in one user message, each after the id of its call: a `tool` message carries
 * text alone, and no other message may stand between results. The result itself has their placeholders.
 *
 * Source: OpenAI, API reference, "Create chat completion"; limited to the fields that compatible servers accept, too.
 */
import type { Provider } from "@holdfast/kernel"
import { defined, Message } from "@holdfast/wire"
import * as BodyPatch from "../requests/BodyPatch.ts"
import * as RequestFiles from "../requests/Files.ts"
import * as PromptParts from "../requests/PromptParts.ts"
import * as Files from "./Files.ts"

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
        ...RequestFiles.handedOver(request.messages, Files.refuses).flatMap((message) =>
          messagesOf(message, request, options)
        )
      ],
      ...(request.tools.length === 0 ? undefined : { tools: request.tools.map(toolOf) }),
      stream: true,
      stream_options: { include_usage: true }
    },
    request.target.model,
    options
  )

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
        part.type === "file" ? [Files.encode(part)] : part.text === "" ? [] : [{ type: "text", text: part.text }]
      )

const filesOfResults = ({ content }: Message.ToolMessage): ReadonlyArray<Json> => {
  const parts = content.flatMap((result) =>
    RequestFiles.ofResult(result, Files.refuses, `call ${result.toolCallId} (${result.toolName})`)
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
