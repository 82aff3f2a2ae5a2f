import { describe, expect, it } from "@effect/vitest"
import * as Response from "../../src/anthropic/Response.ts"
import { decode } from "../harness/Decode.ts"

const frames = (...events: ReadonlyArray<{ readonly type: string }>) =>
  decode(
    Response.make((n) => `id${n}`),
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  )

const start = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block })
const delta = (index: number, delta: object) => ({ type: "content_block_delta", index, delta })
const stop = (index: number) => ({ type: "content_block_stop", index })
const end = (stop_reason: string, usage: object = {}) => [
  { type: "message_delta", delta: { stop_reason }, usage },
  { type: "message_stop" }
]
const tool = { type: "tool_use", id: "a", name: "x", input: {} }

describe("anthropic/Response", () => {
  it("input tokens include what was read from the cache and written to it; totals come last", () => {
    const usage = { input_tokens: 3, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 1 }
    const messageStart = { type: "message_start", message: { usage } }
    const { events } = frames(
      messageStart,
      delta(0, { type: "text_delta", text: "a" }),
      ...end("end_turn", { output_tokens: 9 })
    )
    const input = { inputTokens: 123, cachedInputTokens: 100, cacheWriteTokens: 20 }
    expect(events).toEqual([
      { type: "text-delta", delta: "a" },
      { type: "usage", usage: { ...input, outputTokens: 1 } },
      { type: "usage", usage: { ...input, outputTokens: 9 } },
      { type: "finish", finishReason: "stop" }
    ])
  })

  it("thinking ends with its signature, redacted thinking with its data", () => {
    const { events } = frames(
      start(0, { type: "thinking", thinking: "", signature: "" }),
      delta(0, { type: "thinking_delta", thinking: "hm" }),
      delta(0, { type: "signature_delta", signature: "sig" }),
      stop(0),
      start(1, { type: "redacted_thinking", data: "blob" }),
      stop(1),
      ...end("end_turn")
    )
    expect(events.slice(0, 3)).toEqual([
      { type: "reasoning-delta", delta: "hm" },
      { type: "reasoning-end", signature: "sig" },
      { type: "reasoning-end", redacted: "blob" }
    ])
  })

  it("a block ends where it stops: its signature comes before the text behind it, and before the message stops", () => {
    const thought = [
      start(0, { type: "thinking", thinking: "", signature: "" }),
      delta(0, { type: "thinking_delta", thinking: "hm" }),
      delta(0, { type: "signature_delta", signature: "si" }),
      delta(0, { type: "signature_delta", signature: "g" }),
      stop(0)
    ]
    expect(frames(...thought).events).toEqual([
      { type: "reasoning-delta", delta: "hm" },
      { type: "reasoning-end", signature: "sig" }
    ])
    const { events } = frames(...thought, delta(1, { type: "text_delta", text: "yes" }), ...end("end_turn"))
    expect(events.map((event) => event.type)).toEqual(["reasoning-delta", "reasoning-end", "text-delta", "finish"])
  })

  it("C7: a call that ends at the token limit without arguments is not taken for whole; the one before it is", () => {
    const { events } = frames(start(0, tool), stop(0), start(1, { ...tool, id: "b" }), stop(1), ...end("max_tokens"))
    expect(events).toMatchObject([
      { toolCallId: "a", input: {} },
      { toolCallId: "b", input: "", malformed: expect.stringContaining("length limit") },
      { finishReason: "length" }
    ])
  })

  it("arguments that come with the start of a call count if no others come", () => {
    const { events } = frames(start(0, { ...tool, input: { n: 1 } }), stop(0), ...end("tool_use"))
    expect(events[0]).toMatchObject({ toolName: "x", input: { n: 1 } })
  })

  it("C7: a call whose block never ended is given once the message has stopped, and not before", () => {
    const open = [start(0, tool), delta(0, { type: "input_json_delta", partial_json: "{}" })]
    expect(frames(...open).events).toEqual([])
    expect(frames(...open, ...end("tool_use")).events[0]).toMatchObject({ type: "tool-call", input: {} })
  })

  it("blocks and events that are not known are passed over", () => {
    const { events } = frames(
      start(0, { type: "server_tool_use", id: "s", name: "web_search", input: {} }),
      delta(0, { type: "input_json_delta", partial_json: "{}" }),
      stop(0),
      { type: "something_new" },
      delta(1, { type: "citations_delta", citation: {} }),
      ...end("pause_turn")
    )
    expect(events).toEqual([{ type: "finish", finishReason: "other" }])
  })

  it("C3: a second message in one stream is an invalid response, and nothing of it is read", () => {
    const messageStart = { type: "message_start", message: { usage: { input_tokens: 3 } } }
    const { events, standing } = frames(
      messageStart,
      delta(0, { type: "text_delta", text: "a" }),
      messageStart,
      delta(0, { type: "text_delta", text: "b" }),
      ...end("end_turn")
    )
    expect(standing).toBe("failed")
    expect(events.filter((event) => event.type !== "usage")).toMatchObject([
      { type: "text-delta", delta: "a" },
      { type: "error", failure: { reason: "invalid-response", retryable: true } }
    ])
  })

  it("C6: a message without message_stop has not finished", () => {
    expect(frames(delta(0, { type: "text_delta", text: "a" }), ...end("end_turn").slice(0, 1)).standing).toBe("open")
  })
})
