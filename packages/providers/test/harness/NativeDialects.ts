/** Scripted responses of OpenAI's Responses API and of Gemini, in the shape of recorded ones. */
import { Redacted } from "effect"
import * as Gemini from "../../src/Gemini.ts"
import * as OpenAiResponses from "../../src/OpenAiResponses.ts"
import { type Dialect, KEY } from "./Dialect.ts"

const TEXT = [
  "Rain ",
  "falls on the roof",
  " tonight — *softly*",
  ", and the ",
  'gutter says "hush"',
  " until morning. 🌧️\n"
]
const THOUGHT = ["We need to", " count the letters", " one by one."]

// --- Responses

let sequence = 0

const event = (type: string, more: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...more })}\n\n`

const response = (status: string, more: object = {}) => ({ id: "resp_1", object: "response", status, ...more })

const opening = [
  event("response.created", { response: response("in_progress", { error: null, output: [], usage: null }) }),
  event("response.in_progress", { response: response("in_progress") })
]

const counts = {
  input_tokens: 5,
  input_tokens_details: { cached_tokens: 2 },
  output_tokens: 9,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 14
}

const completed = (more: object = {}) =>
  event("response.completed", { response: response("completed", { usage: counts, ...more }) })

const message = (index: number, pieces: ReadonlyArray<string>): ReadonlyArray<string> => {
  const item = { id: `msg_${index}`, type: "message", role: "assistant" }
  const at = { item_id: item.id, output_index: index, content_index: 0 }
  const part = { type: "output_text", annotations: [], logprobs: [], text: pieces.join("") }
  return [
    event("response.output_item.added", { output_index: index, item: { ...item, status: "in_progress", content: [] } }),
    event("response.content_part.added", { ...at, part: { ...part, text: "" } }),
    ...pieces.map((delta) =>
      event("response.output_text.delta", {
        ...at,
        delta,
        logprobs: [],
        obfuscation: "x".repeat(delta.length % 5)
      })
    ),
    event("response.output_text.done", { ...at, text: part.text, logprobs: [] }),
    event("response.content_part.done", { ...at, part }),
    event("response.output_item.done", { output_index: index, item: { ...item, status: "completed", content: [part] } })
  ]
}

const reasoningItem = (index: number, parts: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const item = { id: `rs_${index}`, type: "reasoning" }
  const at = { item_id: item.id, output_index: index }
  const summary = parts.map((pieces) => ({ type: "summary_text", text: pieces.join("") }))
  return [
    event("response.output_item.added", {
      output_index: index,
      item: { ...item, encrypted_content: "gAAAA-incomplete", summary: [] }
    }),
    ...parts.flatMap((pieces, summary_index) => [
      event("response.reasoning_summary_part.added", {
        ...at,
        summary_index,
        part: { type: "summary_text", text: "" }
      }),
      ...pieces.map((delta) => event("response.reasoning_summary_text.delta", { ...at, summary_index, delta })),
      event("response.reasoning_summary_text.done", { ...at, summary_index, text: pieces.join("") }),
      event("response.reasoning_summary_part.done", { ...at, summary_index, part: summary[summary_index] })
    ]),
    event("response.output_item.done", {
      output_index: index,
      item: { ...item, encrypted_content: "gAAAA-whole", summary }
    })
  ]
}

const functionCall = (index: number, call_id: string, name: string) => {
  const item = { id: `fc_${index}`, type: "function_call", call_id, name }
  const at = { item_id: item.id, output_index: index }
  return {
    added: event("response.output_item.added", {
      output_index: index,
      item: { ...item, status: "in_progress", arguments: "" }
    }),
    delta: (delta: string) => event("response.function_call_arguments.delta", { ...at, delta, obfuscation: "ab" }),
    done: (text: string) =>
      event("response.function_call_arguments.done", { ...at, arguments: text }) +
      event("response.output_item.done", {
        output_index: index,
        item: { ...item, status: "completed", arguments: text }
      })
  }
}

const called = (index: number, id: string, name: string, pieces: ReadonlyArray<string>): ReadonlyArray<string> => {
  const { added, delta, done } = functionCall(index, id, name)
  return [added, ...pieces.map(delta), done(pieces.join(""))]
}

const [first, second] = [functionCall(0, "a", "read"), functionCall(1, "b", "write")]

/** The Responses API. */
export const openAiResponses: Dialect = {
  name: "OpenAI Responses",
  path: "/v1/responses",
  make: (baseUrl) => OpenAiResponses.make({ baseUrl: `${baseUrl}/v1`, apiKey: Redacted.make(KEY) }),
  text: [...opening, ...message(0, TEXT), completed()],
  reasoning: [...opening, ...reasoningItem(0, [THOUGHT, ["Then ", "answer."]]), ...message(1, TEXT), completed()],
  toolCall: [
    ...opening,
    ...reasoningItem(0, []),
    ...called(1, "call_1", "weather", ['{"loc', 'ation":', '"San Francisco"}']),
    completed()
  ],
  noArguments: [...opening, ...called(0, "a", "list", []), completed()],
  parallel: [
    ...opening,
    first.added,
    second.added,
    second.delta('{"x"'),
    first.delta('{"path":'),
    second.delta(":2}"),
    first.delta('"ü"}'),
    first.done('{"path":"ü"}'),
    second.done('{"x":2}'),
    completed()
  ],
  malformed: [...opening, ...called(0, "a", "read", ['{"path": oops}']), completed()],
  whole: (finish) =>
    JSON.stringify(
      response(finish === "length" ? "incomplete" : "completed", {
        incomplete_details: finish === "length" ? { reason: "max_output_tokens" } : null,
        output: [
          { id: "rs_1", type: "reasoning", summary: [{ type: "summary_text", text: "Hm" }] },
          { id: "msg_1", type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello" }] },
          { id: "fc_1", type: "function_call", call_id: "a", name: "read", arguments: '{"path":"ü"}' },
          { id: "fc_2", type: "function_call", call_id: "b", name: "list", arguments: "" }
        ],
        usage: { input_tokens: 5, output_tokens: 9 }
      })
    ),
  endlessCall: (text) => [first.added, first.delta(text)],
  preamble: [
    ...opening,
    event("keepalive"),
    event("response.output_item.added", { output_index: 7, item: { type: "message", role: "assistant", content: [] } }),
    event("response.content_part.added", { output_index: 7, part: { type: "output_text", text: "" } }),
    event("response.output_text.delta", { output_index: 7, delta: "" })
  ],
  delta: (text) => event("response.output_text.delta", { output_index: 7, content_index: 0, delta: text }),
  ping: event("keepalive"),
  error: event("error", {
    error: { type: "server_error", code: "server_is_overloaded", message: "Our servers are overloaded.", param: null }
  }),
  errorReason: "overloaded",
  completeFrom: (frames) => frames.length
}

// --- Gemini

const chunk = (parts: ReadonlyArray<object>, more: object = {}, candidates = 0): string =>
  `data: ${JSON.stringify({
    candidates: [{ content: { parts, role: "model" }, index: 0, ...more }],
    usageMetadata: { promptTokenCount: 5, ...(candidates > 0 ? { candidatesTokenCount: candidates } : {}) },
    modelVersion: "m",
    responseId: "r"
  })}\r\n\r\n`

const stop = (parts: ReadonlyArray<object> = [{ text: "" }]) => chunk(parts, { finishReason: "STOP" }, 9)

const geminiCall = (name: string, args: unknown, more: object = {}) => ({ functionCall: { name, args, ...more } })

/** The Gemini API. */
export const gemini: Dialect = {
  name: "Gemini",
  path: "/v1beta/models/m:streamGenerateContent?alt=sse",
  make: (baseUrl) => Gemini.make({ baseUrl, apiKey: Redacted.make(KEY) }),
  text: [...TEXT.map((text) => chunk([{ text }], {}, 3)), stop([{ text: "", thoughtSignature: "EqsF" }])],
  reasoning: [
    ...THOUGHT.map((text) => chunk([{ text, thought: true }])),
    ...TEXT.map((text) => chunk([{ text }])),
    stop()
  ],
  toolCall: [
    chunk([{ ...geminiCall("weather", { location: "San Francisco" }), thoughtSignature: "EpEg" }], {}, 3),
    stop()
  ],
  noArguments: [chunk([geminiCall("list", {})]), stop()],
  parallel: [
    chunk([geminiCall("read", { path: "ü" }, { id: "a" })]),
    chunk([geminiCall("write", { x: 2 }, { id: "b" })]),
    stop()
  ],
  // A proxy's: Google's own arguments are always an object.
  malformed: [chunk([geminiCall("read", '{"path": oops}')]), chunk([{ text: "" }]), stop()],
  whole: (finish) =>
    JSON.stringify({
      candidates: [
        {
          content: {
            role: "model",
            parts: [
              { text: "Hm", thought: true },
              { text: "Hello" },
              geminiCall("read", { path: "ü" }, { id: "a" }),
              geminiCall("list", {}, { id: "b" })
            ]
          },
          finishReason: finish === "length" ? "MAX_TOKENS" : "STOP"
        }
      ],
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 9 }
    }),
  endlessCall: (text) => [chunk([{ text: "", thoughtSignature: text }]), chunk([geminiCall("write", text)])],
  preamble: [
    ": ping\n\n",
    `data: ${JSON.stringify({ usageMetadata: { promptTokenCount: 5 } })}\r\n\r\n`,
    chunk([{ text: "" }]),
    chunk([])
  ],
  delta: (text) => chunk([{ text }]),
  ping: ": ping\n\n",
  error: `data: ${JSON.stringify({ error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } })}\r\n\r\n`,
  errorReason: "overloaded",
  completeFrom: (frames) => frames.findIndex((frame) => /"finishReason":"\w/.test(frame)) + 1
}
