/** Anthropic's messages. */
import { type Answer, type Format, id, named, pieces } from "./Format.ts"

const blockOf = (answer: Answer): object =>
  "text" in answer
    ? { type: "text", text: answer.text }
    : { type: "tool_use", id: id("toolu_"), name: answer.tool.name, input: answer.tool.input }

const reasonOf = (answer: Answer): string => ("text" in answer ? "end_turn" : "tool_use")

const messageOf = (model: string) => ({ id: id("msg_"), type: "message", role: "assistant", model })

const opening = (model: string): string =>
  named({
    type: "message_start",
    message: {
      ...messageOf(model),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 12, output_tokens: 1 }
    }
  })

/** The format. */
export const format: Format = {
  isCall: (path) => /\/messages(\?|$)/u.test(path),
  isStream: ({ body }) => body["stream"] === true,
  frames: (answer, model) => [
    opening(model),
    named({ type: "ping" }),
    named({
      type: "content_block_start",
      index: 0,
      content_block: "text" in answer ? { type: "text", text: "" } : { ...blockOf(answer), input: {} }
    }),
    ...("text" in answer
      ? pieces(answer.text).map((text) => ({ type: "text_delta", text }))
      : pieces(JSON.stringify(answer.tool.input)).map((partial_json) => ({ type: "input_json_delta", partial_json }))
    ).map((delta) => named({ type: "content_block_delta", index: 0, delta })),
    named({ type: "content_block_stop", index: 0 }),
    named({
      type: "message_delta",
      delta: { stop_reason: reasonOf(answer), stop_sequence: null },
      usage: { output_tokens: 7 }
    }),
    named({ type: "message_stop" })
  ],
  opening,
  document: (answer, model) => ({
    ...messageOf(model),
    content: [blockOf(answer)],
    stop_reason: reasonOf(answer),
    stop_sequence: null,
    usage: { input_tokens: 12, output_tokens: 7 }
  }),
  errorFrame: named({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
  error: (status, message) => ({
    type: "error",
    error: { type: status === 429 ? "rate_limit_error" : status === 529 ? "overloaded_error" : "api_error", message }
  })
}
