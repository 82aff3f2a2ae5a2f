/** Answers of the four wire formats as an endpoint writes them: good ones in frames, and each kind of failure. */
import type { Format } from "../../src/dialects/Dialect.ts"

export interface WireFormat {
  readonly format: Format
  /** A target whose stream is of events. */
  readonly target: string
  /** Frames before any content: comments, pings, openings, empty deltas, states, usage. */
  readonly preamble: ReadonlyArray<string>
  /** Frames of content: text, reasoning, a refusal, a call, a file. */
  readonly content: ReadonlyArray<string>
  /** The frames that end an answer. */
  readonly ending: ReadonlyArray<string>
  /** Usage of `preamble`, `content` and `ending` together. */
  readonly usage: object
  /** Frames of an error, and its reason. */
  readonly errors: ReadonlyArray<readonly [frame: string, reason: string]>
  /** A good answer, and errors with a 200, as one document. */
  readonly document: string
  readonly documentErrors: ReadonlyArray<readonly [body: string, reason: string]>
}

const data = (json: unknown): string => `data: ${JSON.stringify(json)}\n\n`

const named = (json: { readonly type: string; readonly [key: string]: unknown }): string =>
  `event: ${json.type}\n${data(json)}`

const choice = (delta: object, more: object = {}) => ({
  id: "c",
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
  usage: null
})

const overloaded = { message: "The server is overloaded", type: "server_error", code: "server_is_overloaded" }

export const completions: WireFormat = {
  format: "chat",
  target: "/v1/chat/completions",
  preamble: [
    ": OPENROUTER PROCESSING\n\n",
    data({ id: "", choices: [], prompt_filter_results: [{ prompt_index: 0 }] }),
    data(choice({ role: "assistant", content: "", refusal: null })),
    data(choice({ content: null })),
    data(choice({ tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "read", arguments: "" } }] }))
  ],
  content: [
    data(choice({ content: "Grüße 🌙" })),
    data(choice({ reasoning_content: "Hm" })),
    data(choice({ refusal: "No." })),
    data(choice({ tool_calls: [{ index: 0, function: { arguments: '{"error":' } }] })),
    data(choice({ audio: { data: "AAAA" } })),
    data(choice({ content: [{ type: "text", text: "x" }] }))
  ],
  ending: [
    data(choice({}, { finish_reason: "stop" })),
    data({
      choices: [],
      usage: { prompt_tokens: 5, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 2 } }
    }),
    "data: [DONE]\n\n"
  ],
  usage: { inputTokens: 5, outputTokens: 9, cachedInputTokens: 2 },
  errors: [
    [data({ error: overloaded }), "overloaded"],
    [data({ error: { message: "Rate limit", code: "rate_limit_exceeded" } }), "rate-limited"],
    [data(choice({}, { finish_reason: "error", error: { message: "upstream" } })), "server-error"],
    ["data: {half\n\n", "invalid-response"]
  ],
  document: JSON.stringify({
    object: "chat.completion",
    choices: [{ message: { role: "assistant", content: "Grüße" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 5, completion_tokens: 9 }
  }),
  documentErrors: [
    [JSON.stringify({ error: overloaded }), "overloaded"],
    ['{"choices":[]}', "invalid-response"]
  ]
}

const block = (index: number, content_block: object) => named({ type: "content_block_start", index, content_block })
const delta = (delta: object) => named({ type: "content_block_delta", index: 0, delta })

export const messages: WireFormat = {
  format: "messages",
  target: "/v1/messages?beta=true",
  preamble: [
    named({
      type: "message_start",
      message: {
        role: "assistant",
        content: [],
        usage: { input_tokens: 5, cache_read_input_tokens: 2, output_tokens: 1 }
      }
    }),
    named({ type: "ping" }),
    block(0, { type: "text", text: "" }),
    block(0, { type: "thinking", thinking: "", signature: "" }),
    block(0, { type: "tool_use", id: "a", name: "read", input: {} }),
    delta({ type: "text_delta", text: "" }),
    delta({ type: "signature_delta", signature: "c2ln" }),
    named({ type: "content_block_stop", index: 0 })
  ],
  content: [
    delta({ type: "text_delta", text: "Grüße 🌙" }),
    delta({ type: "thinking_delta", thinking: "Hm" }),
    delta({ type: "input_json_delta", partial_json: '{"usage":' }),
    block(0, { type: "redacted_thinking", data: "eA==" }),
    block(0, { type: "web_search_tool_result", tool_use_id: "a", content: [{ type: "web_search_result" }] })
  ],
  ending: [
    named({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 9 } }),
    named({ type: "message_stop" })
  ],
  usage: { inputTokens: 7, outputTokens: 9, cachedInputTokens: 2 },
  errors: [
    [named({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }), "overloaded"],
    [named({ type: "error", error: { type: "rate_limit_error", message: "Slow" } }), "rate-limited"],
    ["event: error\ndata: upstream gone\n\n", "unknown"]
  ],
  document: JSON.stringify({
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: "Grüße" }],
    stop_reason: "end_turn",
    usage: { input_tokens: 5, output_tokens: 9 }
  }),
  documentErrors: [
    ['{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "overloaded"],
    ['{"models":[]}', "invalid-response"]
  ]
}

const response = (status: string, more: object = {}) => ({
  id: "resp_1",
  object: "response",
  status,
  output: [],
  ...more
})

export const responses: WireFormat = {
  format: "responses",
  target: "/v1/responses",
  preamble: [
    named({ type: "response.created", sequence_number: 0, response: response("in_progress", { error: null }) }),
    named({ type: "response.in_progress", sequence_number: 1, response: response("in_progress") }),
    named({ type: "keepalive", sequence_number: 2 }),
    named({
      type: "response.output_item.added",
      output_index: 0,
      item: { id: "rs_1", type: "reasoning", encrypted_content: "gAAA", summary: [] }
    }),
    named({
      type: "response.output_item.added",
      output_index: 1,
      item: { id: "fc_1", type: "function_call", name: "read", call_id: "a", arguments: "", status: "in_progress" }
    }),
    named({ type: "response.content_part.added", part: { type: "output_text", text: "", annotations: [] } }),
    named({ type: "response.reasoning_summary_part.added", part: { type: "summary_text", text: "" } }),
    named({ type: "response.web_search_call.searching", item_id: "ws_1" }),
    named({
      type: "response.output_item.done",
      item: { id: "mcpl_1", type: "mcp_list_tools", tools: [{ name: "x" }] }
    }),
    named({ type: "response.output_text.delta", delta: "" })
  ],
  content: [
    named({ type: "response.output_text.delta", delta: "Grüße 🌙", obfuscation: "ab" }),
    named({ type: "response.reasoning_summary_text.delta", delta: "Hm" }),
    named({ type: "response.refusal.delta", delta: "No." }),
    named({ type: "response.function_call_arguments.delta", delta: '{"error":' }),
    named({ type: "response.image_generation_call.partial_image", partial_image_b64: "AAAA" }),
    named({ type: "response.output_item.done", item: { id: "fc_1", type: "function_call", arguments: "" } })
  ],
  ending: [
    named({
      type: "response.completed",
      response: response("completed", {
        usage: { input_tokens: 5, output_tokens: 9, input_tokens_details: { cached_tokens: 2 } }
      })
    })
  ],
  usage: { inputTokens: 5, outputTokens: 9, cachedInputTokens: 2 },
  errors: [
    [named({ type: "error", error: overloaded }), "overloaded"],
    [named({ type: "error", code: "rate_limit_exceeded", message: "Rate limit", param: null }), "rate-limited"],
    [
      named({
        type: "response.failed",
        response: response("failed", { error: { code: "server_error", message: "Oh" } })
      }),
      "server-error"
    ]
  ],
  document: JSON.stringify(response("completed", { error: null, output: [{ type: "message", content: [] }] })),
  documentErrors: [
    [JSON.stringify(response("failed", { error: { code: "server_error", message: "Oh" } })), "server-error"],
    [JSON.stringify({ error: overloaded }), "overloaded"],
    [JSON.stringify(response("failed")), "invalid-response"]
  ]
}

const candidate = (parts: ReadonlyArray<object>, more: object = {}, counts: object = {}) => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
  usageMetadata: { promptTokenCount: 5, ...counts },
  modelVersion: "gemini"
})

const unavailable = { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }

export const gemini: WireFormat = {
  format: "gemini",
  target: "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
  preamble: [
    ": ping\n\n",
    data({ usageMetadata: { promptTokenCount: 5 }, modelVersion: "gemini" }),
    data(candidate([{ text: "" }])),
    data(candidate([{ text: "", thoughtSignature: "EpEg" }]))
  ],
  content: [
    data(candidate([{ text: "Grüße 🌙" }])),
    data(candidate([{ text: "Hm", thought: true }])),
    data(candidate([{ functionCall: { name: "list", args: {} }, thoughtSignature: "EpEg" }])),
    data(candidate([{ inlineData: { mimeType: "image/png", data: "AAAA" } }]))
  ],
  ending: [
    data(
      candidate(
        [{ text: "" }],
        { finishReason: "STOP" },
        { candidatesTokenCount: 6, thoughtsTokenCount: 3, cachedContentTokenCount: 2 }
      )
    )
  ],
  usage: { inputTokens: 5, outputTokens: 9, reasoningTokens: 3, cachedInputTokens: 2 },
  errors: [
    [data(unavailable), "overloaded"],
    [data({ error: { code: 429, message: "Quota", status: "RESOURCE_EXHAUSTED" } }), "rate-limited"],
    [data([unavailable]), "overloaded"]
  ],
  document: JSON.stringify(candidate([{ text: "Grüße" }], { finishReason: "STOP" })),
  documentErrors: [
    [JSON.stringify(unavailable), "overloaded"],
    ['{"usageMetadata":{}}', "invalid-response"]
  ]
}

export const wireFormats: ReadonlyArray<WireFormat> = [completions, messages, responses, gemini]

export const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

export const decode = (pieces: ReadonlyArray<Uint8Array>): string => {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
  return pieces.map((piece) => decoder.decode(piece, { stream: true })).join("") + decoder.decode()
}

/** A success's head, without secrets. */
export const head = (status = 200, headers: Readonly<Record<string, string>> = {}) => ({
  status,
  headers,
  now: () => 0,
  conceal: (text: string) => text
})
