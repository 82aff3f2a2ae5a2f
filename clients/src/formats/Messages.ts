/** Writes the scripted provider's responses as Anthropic's messages. */
import { type Answer, type Format, id, named, pieces, secondsTo } from "./Format.ts"

const blocksOf = (answer: Answer): ReadonlyArray<Block> =>
  "text" in answer
    ? [{ type: "text", text: answer.text }]
    : answer.tools.map(({ input, name }) => ({ type: "tool_use", id: id("toolu_"), name, input }))

type Block =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: object }

/** The events of a block, with its content in pieces. */
const eventsOf = (block: Block, index: number): ReadonlyArray<string> => {
  const [empty, deltas] =
    block.type === "text"
      ? [{ ...block, text: "" }, pieces(block.text).map((text) => ({ type: "text_delta", text }))]
      : [
          { ...block, input: {} },
          pieces(JSON.stringify(block.input)).map((partial_json) => ({ type: "input_json_delta", partial_json }))
        ]
  return [
    named({ type: "content_block_start", index, content_block: empty }),
    ...deltas.map((delta) => named({ type: "content_block_delta", index, delta })),
    named({ type: "content_block_stop", index })
  ]
}

const reasonOf = (answer: Answer): string => ("text" in answer ? "end_turn" : "tool_use")

const messageOf = (model: string) => ({ id: id("msg_"), type: "message", role: "assistant", model })

const FIVE_HOURS_MS = 5 * 3_600_000

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
    ...blocksOf(answer).flatMap(eventsOf),
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
    content: blocksOf(answer),
    stop_reason: reasonOf(answer),
    stop_sequence: null,
    usage: { input_tokens: 12, output_tokens: 7 }
  }),
  errorFrame: named({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
  error: (status, message) => ({
    type: "error",
    error: { type: status === 429 ? "rate_limit_error" : status === 529 ? "overloaded_error" : "api_error", message }
  }),
  limit: (until, now) => {
    const [claim, reset] = ["anthropic-ratelimit-unified", String(Math.ceil(until / 1_000))]
    const [window, short] = until - now > FIVE_HOURS_MS ? ["seven_day", "7d"] : ["five_hour", "5h"]
    return {
      headers: {
        [`${claim}-status`]: "rejected",
        [`${claim}-reset`]: reset,
        [`${claim}-representative-claim`]: window,
        [`${claim}-${short}-status`]: "rejected",
        [`${claim}-${short}-utilization`]: "1",
        [`${claim}-${short}-reset`]: reset,
        "retry-after": String(secondsTo(until, now))
      },
      body: {
        type: "error",
        error: { type: "rate_limit_error", message: "This request would exceed your account's rate limit." }
      }
    }
  }
}
