/** Test data of the two wire formats: recordings, and short responses for single cases. */
import type { Provider } from "@holdfast/kernel"
import { type Failure, Ids, type Target } from "@holdfast/wire"
import { type Effect, Redacted } from "effect"
import { readFileSync } from "node:fs"
import * as Anthropic from "../../src/Anthropic.ts"
import type { Http } from "../../src/http/Http.ts"
import * as OpenAiCompatible from "../../src/OpenAiCompatible.ts"

/** A key planted in every adapter; it must never appear in an output. */
export const KEY = "sk-planted-0123456789abcdef"

export interface Dialect {
  readonly name: string
  readonly path: string
  readonly make: (baseUrl: string) => Effect.Effect<Provider.Provider["Service"], never, Http>
  /** The text of one frame each. The last frame ends the stream. */
  readonly text: ReadonlyArray<string>
  readonly reasoning: ReadonlyArray<string>
  readonly toolCall: ReadonlyArray<string>
  readonly noArguments: ReadonlyArray<string>
  readonly parallel: ReadonlyArray<string>
  readonly malformed: ReadonlyArray<string>
  /** A response in one JSON document, as from servers that ignore `stream: true`: "Hm", "Hello", two calls, usage of 5 and 9. */
  readonly whole: (finish?: "length") => string
  /** Frames of one endless tool call; each has `text`, and the first begins the call. */
  readonly endlessCall: (text: string) => readonly [first: string, next: string]
  /** Without content: preamble, pings, comments, empty deltas, usage. */
  readonly preamble: ReadonlyArray<string>
  /** A frame of text. */
  readonly delta: (text: string) => string
  readonly ping: string
  readonly error: string
  readonly errorReason: Failure.Reason
  /** The number of frames after which the response is complete. */
  readonly completeFrom: (frames: ReadonlyArray<string>) => number
}

const lines = (file: string): ReadonlyArray<string> =>
  readFileSync(new URL(`../recordings/${file}`, import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line !== "")

const openai = (chunks: ReadonlyArray<string>) => [...chunks.map((chunk) => `data: ${chunk}\n\n`), "data: [DONE]\n\n"]

const chunk = (delta: unknown, more: object = {}) =>
  JSON.stringify({
    id: "c",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: null, ...more }]
  })

const piece = (index: number, call: object) => chunk({ tool_calls: [{ index, ...call }] })

const stop = (reason: string) => chunk({}, { finish_reason: reason })

export const openAiCompatible: Dialect = {
  name: "OpenAI-compatible",
  path: "/v1/chat/completions",
  make: (baseUrl) => OpenAiCompatible.make({ baseUrl: `${baseUrl}/v1`, apiKey: Redacted.make(KEY) }),
  text: openai(lines("openai-compatible/openai-text.chunks.txt")),
  reasoning: openai(lines("openai-compatible/deepseek-reasoning.chunks.txt")),
  toolCall: openai(lines("openai-compatible/xai-tool-call.chunks.txt")),
  noArguments: openai([piece(0, { id: "a", function: { name: "list", arguments: "" } }), stop("tool_calls")]),
  parallel: openai([
    piece(0, { id: "a", type: "function", function: { name: "read", arguments: "" } }),
    piece(1, { id: "b", type: "function", function: { name: "write", arguments: '{"x"' } }),
    piece(0, { function: { arguments: '{"path":' } }),
    piece(1, { function: { arguments: ":2}" } }),
    piece(0, { function: { arguments: '"ü"}' } }),
    stop("tool_calls")
  ]),
  malformed: openai([
    piece(0, { id: "a", function: { name: "read", arguments: '{"path": oops}' } }),
    stop("tool_calls")
  ]),
  preamble: [
    ": OPENROUTER PROCESSING\n\n",
    `data: ${chunk({ role: "assistant", content: "" })}\n\n`,
    `data: ${chunk({ content: null })}\n\n`,
    `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 5 } })}\n\n`
  ],
  whole: (finish) =>
    JSON.stringify({
      id: "c",
      object: "chat.completion",
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            reasoning_content: "Hm",
            content: "Hello",
            refusal: null,
            tool_calls: [
              { id: "a", type: "function", function: { name: "read", arguments: '{"path":"ü"}' } },
              { id: "b", type: "function", function: { name: "list", arguments: "" } }
            ]
          },
          finish_reason: finish ?? "tool_calls"
        }
      ],
      usage: { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 }
    }),
  endlessCall: (text) => [
    `data: ${piece(0, { id: "a", function: { name: "write", arguments: "" } })}\n\n`,
    `data: ${piece(0, { function: { arguments: text } })}\n\n`
  ],
  delta: (text) => `data: ${chunk({ content: text })}\n\n`,
  ping: ": ping\n\n",
  error: `data: ${JSON.stringify({ error: { message: "The server had an error", type: "server_error", code: 500 } })}\n\n`,
  errorReason: "server-error",
  completeFrom: (frames) => frames.findIndex((frame) => /"finish_reason":"\w/.test(frame)) + 1
}

const anthropic = (events: ReadonlyArray<string>) =>
  events.map((event) => `event: ${JSON.parse(event).type}\ndata: ${event}\n\n`)

const start =
  '{"type":"message_start","message":{"role":"assistant","content":[],"usage":{"input_tokens":5,"output_tokens":1}}}'

const call = (index: number, id: string, name: string, pieces: ReadonlyArray<string>) => [
  `{"type":"content_block_start","index":${index},"content_block":{"type":"tool_use","id":"${id}","name":"${name}","input":{}}}`,
  ...pieces.map((partial_json) =>
    JSON.stringify({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json } })
  ),
  `{"type":"content_block_stop","index":${index}}`
]

const end = (reason: string) => [
  `{"type":"message_delta","delta":{"stop_reason":"${reason}"},"usage":{"output_tokens":9}}`,
  '{"type":"message_stop"}'
]

export const anthropicMessages: Dialect = {
  name: "Anthropic",
  path: "/v1/messages",
  make: (baseUrl) => Anthropic.make({ baseUrl, apiKey: Redacted.make(KEY) }),
  text: anthropic(lines("anthropic/anthropic-text.chunks.txt")),
  reasoning: anthropic(lines("anthropic/anthropic-thinking.chunks.txt")),
  toolCall: anthropic([
    start,
    ...call(0, "a", "weather", ["", '{"loc', 'ation":"San Francisco"}']),
    ...end("tool_use")
  ]),
  noArguments: anthropic(lines("anthropic/anthropic-tool-no-args.chunks.txt")),
  parallel: anthropic([
    start,
    ...call(0, "a", "read", ['{"path":', '"ü"}']),
    ...call(1, "b", "write", ['{"x":2}']),
    ...end("tool_use")
  ]),
  malformed: anthropic([start, ...call(0, "a", "read", ['{"path": oops}']), ...end("tool_use")]),
  preamble: anthropic([
    start,
    '{"type":"ping"}',
    '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}'
  ]),
  whole: (finish) =>
    JSON.stringify({
      id: "m",
      type: "message",
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Hm" },
        { type: "text", text: "Hello" },
        { type: "tool_use", id: "a", name: "read", input: { path: "ü" } },
        { type: "tool_use", id: "b", name: "list", input: {} }
      ],
      stop_reason: finish === "length" ? "max_tokens" : "tool_use",
      usage: { input_tokens: 5, output_tokens: 9 }
    }),
  endlessCall: (text) => {
    const [first = "", next = ""] = call(0, "a", "write", [text])
    const [begun, more] = anthropic([first, next])
    return [begun ?? "", more ?? ""]
  },
  delta: (text) =>
    anthropic([JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })]).join(
      ""
    ),
  ping: 'event: ping\ndata: {"type":"ping"}\n\n',
  error: 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
  errorReason: "overloaded",
  completeFrom: (frames) => frames.length
}

/** A request with nothing special about it. */
export const request: Provider.ProviderRequest = {
  conversationId: Ids.ConversationId.make("c1"),
  turnId: Ids.TurnId.make("t1"),
  step: 0,
  attempt: 0,
  target: { provider: "p", model: "m" } satisfies Target.Target,
  messages: [
    {
      role: "user",
      id: Ids.messageIdOf(Ids.TurnId.make("t1"), 0),
      turnId: Ids.TurnId.make("t1"),
      createdAt: 0,
      content: [{ type: "text", text: "Hello" }]
    }
  ],
  tools: []
}
