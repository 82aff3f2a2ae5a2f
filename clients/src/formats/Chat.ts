/** Writes the scripted provider's responses as OpenAI's chat completions. */
import { type Answer, data, type Format, id, pieces, secondsTo, type ToolCall } from "./Format.ts"

const USAGE = { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19 }

const callOf = ({ input, name }: ToolCall) => ({
  id: id("call_"),
  type: "function",
  function: { name, arguments: JSON.stringify(input) }
})

const messageOf = (answer: Answer): object =>
  "text" in answer
    ? { role: "assistant", content: answer.text }
    : { role: "assistant", content: null, tool_calls: answer.tools.map(callOf) }

const reasonOf = (answer: Answer): string => ("text" in answer ? "stop" : "tool_calls")

const chunkOf = (model: string, name: string) => ({
  id: name,
  object: "chat.completion.chunk",
  created: 1_790_000_000,
  model
})

const chunk = (whole: object, delta: object, finish_reason: string | null = null): string =>
  data({ ...whole, choices: [{ index: 0, delta, finish_reason }] })

const OPENING = { role: "assistant", content: "" }

/** The format. */
export const format: Format = {
  isCall: (path) => /\/chat\/completions(\?|$)/u.test(path),
  isStream: ({ body }) => body["stream"] === true,
  frames: (answer, model) => {
    const whole = chunkOf(model, id("chatcmpl-"))
    return [
      chunk(whole, OPENING),
      ...("text" in answer
        ? pieces(answer.text).map((content) => chunk(whole, { content }))
        : [chunk(whole, { tool_calls: answer.tools.map((tool, index) => ({ index, ...callOf(tool) })) })]),
      chunk(whole, {}, reasonOf(answer)),
      data({ ...whole, choices: [], usage: USAGE }),
      "data: [DONE]\n\n"
    ]
  },
  opening: (model) => chunk(chunkOf(model, id("chatcmpl-")), OPENING),
  document: (answer, model) => ({
    id: id("chatcmpl-"),
    object: "chat.completion",
    created: 1_790_000_000,
    model,
    choices: [{ index: 0, message: messageOf(answer), finish_reason: reasonOf(answer) }],
    usage: USAGE
  }),
  errorFrame: data({
    error: { message: "The server is overloaded", type: "server_error", code: "server_is_overloaded" }
  }),
  error: (status, message) => ({ error: { message, type: status === 429 ? "rate_limit_error" : "server_error" } }),
  limit: (until, now) => ({
    headers: { "retry-after": String(secondsTo(until, now)) },
    body: { error: { message: "Too many requests", type: "rate_limit_error" } }
  })
}
