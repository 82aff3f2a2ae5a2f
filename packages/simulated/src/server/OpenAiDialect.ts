/**
 * Encodes OpenAI's chat completions.
 *
 * Source: platform.openai.com/docs/api-reference/chat. Reasoning is in `reasoning_content`, as DeepSeek and xAI send it.
 */
import type { Message } from "@holdfast/wire"
import type * as Schema from "effect/Schema"
import { HALF_INPUT, halves } from "./ServerDialect.ts"
import type { Meta, ServerDialect, StreamAction, WholeResponse } from "./ServerDialect.ts"
import * as ErrorBody from "../ErrorBody.ts"

/** OpenAI's format. */
export const dialect: ServerDialect = {
  format: "openai",
  ping: ": keep-alive\n\n",
  isPrompt: (message) => message.role === "user",
  frames: (meta) => (action) => frames(action, meta),
  whole: (response, meta) => ({
    id: meta.id,
    object: "chat.completion",
    created: Math.floor(meta.createdAt / 1000),
    model: meta.model,
    choices: [
      {
        index: 0,
        message: message(response, meta),
        logprobs: null,
        finish_reason: FINISH_REASONS[response.finishReason]
      }
    ],
    usage: usage(response.usage)
  })
}

// --- internal

const frames = (action: StreamAction, meta: Meta): string => {
  switch (action._tag) {
    case "Open":
      return chunk(meta, { role: "assistant", content: "", refusal: null })
    case "Reasoning":
      return chunk(meta, { reasoning_content: action.token })
    case "Text":
      return chunk(meta, { content: action.token })
    case "ToolCall":
      return [beginCall(meta, action.name), ...halves(action.input).map((part) => continueCall(meta, part))].join("")
    case "HalfToolCall":
      return beginCall(meta, action.name) + continueCall(meta, HALF_INPUT)
    case "Fail":
      return data(ErrorBody.envelope(action.error, "openai"))
    case "Finish":
      return (
        chunk(meta, {}, FINISH_REASONS[action.finishReason]) +
        (meta.includeUsage ? data({ ...header(meta), choices: [], usage: usage(action.usage) }) : "") +
        "data: [DONE]\n\n"
      )
    default:
      return action satisfies never
  }
}

const data = (json: Schema.JsonObject): string => `data: ${JSON.stringify(json)}\n\n`

const header = (meta: Meta): Schema.JsonObject => ({
  id: meta.id,
  object: "chat.completion.chunk",
  created: Math.floor(meta.createdAt / 1000),
  model: meta.model
})

const chunk = (meta: Meta, delta: Schema.JsonObject, finish_reason: string | null = null): string =>
  data({ ...header(meta), choices: [{ index: 0, delta, logprobs: null, finish_reason }] })

const callId = (meta: Meta): string => `call_${meta.id}`

const beginCall = (meta: Meta, name: string): string =>
  chunk(meta, { tool_calls: [{ index: 0, id: callId(meta), type: "function", function: { name, arguments: "" } }] })

const continueCall = (meta: Meta, part: string): string =>
  chunk(meta, { tool_calls: [{ index: 0, function: { arguments: part } }] })

const message = (response: WholeResponse, meta: Meta): Schema.JsonObject => ({
  role: "assistant",
  content: response.toolCall === undefined ? response.text : null,
  refusal: null,
  ...(response.reasoning === "" ? {} : { reasoning_content: response.reasoning }),
  ...(response.toolCall === undefined
    ? {}
    : {
        tool_calls: [
          {
            id: callId(meta),
            type: "function",
            function: { name: response.toolCall.name, arguments: response.toolCall.input }
          }
        ]
      })
})

const FINISH_REASONS: Readonly<Record<Message.FinishReason, string>> = {
  "tool-calls": "tool_calls",
  "content-filter": "content_filter",
  length: "length",
  stop: "stop",
  other: "stop"
}

const usage = ({ inputTokens = 0, outputTokens = 0, reasoningTokens = 0 }: Message.Usage): Schema.JsonObject => ({
  prompt_tokens: inputTokens,
  completion_tokens: outputTokens,
  total_tokens: inputTokens + outputTokens,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: reasoningTokens }
})
