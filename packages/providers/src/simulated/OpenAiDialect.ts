/**
 * OpenAI's chat completions, as OpenAI documents them (platform.openai.com/docs/api-reference/chat); reasoning is in
 * `reasoning_content`, as DeepSeek and xAI send it.
 */
import type { Message } from "@holdfast/wire"
import type { Schema } from "effect"
import { type Dialect, HALF_INPUT, halves, type Meta, type Said, type StreamCue } from "./Dialect.ts"
import * as ErrorBody from "./ErrorBody.ts"

export const dialect: Dialect = {
  format: "openai",
  ping: ": keep-alive\n\n",
  isPrompt: (message) => message.role === "user",
  frames: (meta) => (cue) => frames(cue, meta),
  whole: (said, meta) => ({
    id: meta.id,
    object: "chat.completion",
    created: Math.floor(meta.createdAt / 1000),
    model: meta.model,
    choices: [
      { index: 0, message: message(said, meta), logprobs: null, finish_reason: finishReason(said.finishReason) }
    ],
    usage: usage(said.usage)
  })
}

// --- internal

const frames = (cue: StreamCue, meta: Meta): string => {
  switch (cue._tag) {
    case "Open":
      return chunk(meta, { role: "assistant", content: "", refusal: null })
    case "Reasoning":
      return chunk(meta, { reasoning_content: cue.token })
    case "Text":
      return chunk(meta, { content: cue.token })
    case "ToolCall":
      return [beginCall(meta, cue.name), ...halves(cue.input).map((part) => continueCall(meta, part))].join("")
    case "HalfToolCall":
      return beginCall(meta, cue.name) + continueCall(meta, HALF_INPUT)
    case "Fail":
      return data(ErrorBody.envelope(cue.error, "openai"))
    case "Finish":
      return (
        chunk(meta, {}, finishReason(cue.finishReason)) +
        (meta.includeUsage ? data({ ...header(meta), choices: [], usage: usage(cue.usage) }) : "") +
        "data: [DONE]\n\n"
      )
    default:
      return cue satisfies never
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

const message = (said: Said, meta: Meta): Schema.JsonObject => ({
  role: "assistant",
  content: said.toolCall === undefined ? said.text : null,
  refusal: null,
  ...(said.reasoning === "" ? {} : { reasoning_content: said.reasoning }),
  ...(said.toolCall === undefined
    ? {}
    : {
        tool_calls: [
          {
            id: callId(meta),
            type: "function",
            function: { name: said.toolCall.name, arguments: said.toolCall.input }
          }
        ]
      })
})

const finishReason = (reason: Message.FinishReason): string => {
  switch (reason) {
    case "tool-calls":
      return "tool_calls"
    case "content-filter":
      return "content_filter"
    case "length":
      return "length"
    case "stop":
    case "other":
      return "stop"
    default:
      return reason satisfies never
  }
}

const usage = ({ inputTokens = 0, outputTokens = 0, reasoningTokens = 0 }: Message.Usage): Schema.JsonObject => ({
  prompt_tokens: inputTokens,
  completion_tokens: outputTokens,
  total_tokens: inputTokens + outputTokens,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: reasoningTokens }
})
