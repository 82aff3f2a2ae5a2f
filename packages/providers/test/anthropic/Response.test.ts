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

/** The sizes `Machine.held` and `Machine.kept` after these events. */
const sizes = (...events: ReadonlyArray<{ readonly type: string }>) => {
  const machine = Response.make((n) => `id${n}`)
  for (const event of events) machine.frame({ ...event }, undefined, [])
  return [machine.held(), machine.kept()]
}

describe("anthropic/Response", () => {
  it("rule C11: a block is kept with its name, id and data, and 64 characters more; its text is counted in its deltas", () => {
    expect(sizes(start(0, { type: "text", text: "Hi" }))).toEqual([0, 64])
    expect(sizes(start(0, tool))).toEqual([1, 64 + 2])
    expect(sizes(start(0, { ...tool, input: { n: 1 } }))).toEqual([1, 64 + 2 + 7])
    expect(sizes(start(0, { type: "redacted_thinking", data: "blob" }))).toEqual([0, 64 + 4])
    expect(sizes(start(0, { type: "thinking", thinking: "hm", signature: "sig" }))).toEqual([0, 64 + 3])
    expect(sizes(start(0, { type: "text", data: "blob", signature: "sig" }))).toEqual([0, 64])
    expect(sizes(start(0, tool), start(1, tool))).toEqual([2, 2 * 66])
  })

  it("rule C8, C11: arguments are held and kept, signatures are kept, texts are neither", () => {
    const args = delta(0, { type: "input_json_delta", partial_json: "12345" })
    expect(sizes(start(0, tool), args, args)).toEqual([11, 66 + 10])
    const signature = delta(0, { type: "signature_delta", signature: "123" })
    expect(sizes(start(0, { type: "thinking" }), signature, signature)).toEqual([0, 64 + 6])
    expect(sizes(start(0, { type: "text" }), delta(0, { type: "text_delta", text: "Hi" }))).toEqual([0, 64])
    // A block that has not begun, or has ended, keeps nothing.
    expect(sizes(args, signature)).toEqual([0, 0])
    expect(sizes(start(0, tool), stop(0), args)).toEqual([1, 66])
  })

  it("a delta has what its type names alone", () => {
    const all = { text: "t", thinking: "h", partial_json: "{}", signature: "sig" }
    const types = ["text_delta", "thinking_delta", "input_json_delta", "signature_delta"]
    const deltas = types.map((type) => delta(0, { ...all, type }))
    const emitted = deltas.map((each) => frames(start(0, tool), each).events)
    expect(emitted).toEqual([[{ type: "text-delta", delta: "t" }], [{ type: "reasoning-delta", delta: "h" }], [], []])
    // What is held and kept of the block, and then of the delta.
    expect(deltas.map((each) => sizes(start(0, tool), each))).toEqual([
      [1, 66],
      [1, 66],
      [1 + 2, 66 + 2],
      [1, 66 + 3]
    ])
  })

  it("input tokens include those read from the cache and written to it; totals come last", () => {
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
      delta(0, { type: "signature_delta", signature: "s" }),
      stop(0),
      start(1, { type: "redacted_thinking", data: "blob" }),
      stop(1),
      ...end("end_turn")
    )
    expect(events.slice(0, 3)).toEqual([
      { type: "reasoning-delta", delta: "hm" },
      { type: "reasoning-end", signature: "s" },
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

  it("rule C7: a call that ends at the token limit without arguments is not complete; the one before it is", () => {
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
    const others = delta(0, { type: "input_json_delta", partial_json: '{"n":2}' })
    expect(frames(start(0, { ...tool, input: { n: 1 } }), others, stop(0), ...end("tool_use")).events[0]).toMatchObject(
      {
        input: { n: 2 }
      }
    )
  })

  it("rule C7: a call whose block never ended is emitted once the message has stopped, and not before", () => {
    const open = [start(0, tool), delta(0, { type: "input_json_delta", partial_json: "{}" })]
    expect(frames(...open).events).toEqual([])
    expect(frames(...open, ...end("tool_use")).events[0]).toMatchObject({ type: "tool-call", input: {} })
  })

  it("unknown blocks and events are skipped", () => {
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

  it("rule C3: a second message in one stream is an invalid response, and is not read", () => {
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

  it("rule C3: the same message begun twice before its first block is one message", () => {
    const begin = (id: string, input: number) => ({
      type: "message_start",
      message: { id, usage: { input_tokens: input } }
    })
    const text = [start(0, { type: "text" }), delta(0, { type: "text_delta", text: "a" }), ...end("end_turn")]
    expect(frames(begin("m1", 3), begin("m1", 4), ...text).events).toMatchObject([
      { type: "text-delta", delta: "a" },
      { type: "usage", usage: { inputTokens: 4 } },
      { type: "usage", usage: { inputTokens: 4 } },
      { type: "finish" }
    ])
    for (const twice of [
      [begin("m1", 3), begin("m2", 3), ...text],
      [begin("m1", 3), start(0, { type: "text" }), begin("m1", 3), ...text],
      [begin("m1", 3), delta(0, { type: "text_delta", text: "a" }), begin("m1", 3), ...text]
    ]) {
      expect(frames(...twice).standing).toBe("failed")
    }
  })

  it("a text or thinking at the start of its block is emitted, each as its own kind", () => {
    const { events } = frames(
      start(0, { type: "thinking", thinking: "hm", text: "no" }),
      start(1, { type: "text", text: "yes", thinking: "no" }),
      start(2, { type: "other", text: "no", thinking: "no" }),
      ...end("end_turn")
    )
    expect(events).toEqual([
      { type: "reasoning-delta", delta: "hm" },
      { type: "text-delta", delta: "yes" },
      { type: "finish", finishReason: "stop" }
    ])
  })

  it("a call without an id gets the id of its index among the calls", () => {
    const nameless = { type: "tool_use", name: "x", input: {} }
    const { events } = frames(start(0, nameless), stop(0), start(1, tool), stop(1), start(2, nameless), stop(2), {
      type: "message_stop"
    })
    const called = { type: "tool-call", toolName: "x", input: {} }
    expect(events).toEqual([
      { ...called, toolCallId: "id0" },
      { ...called, toolCallId: "a" },
      { ...called, toolCallId: "id2" },
      { type: "finish", finishReason: "tool-calls" }
    ])
  })

  it("a call is emitted before any block that begins after it", () => {
    const text = [start(1, { type: "text", text: "" }), delta(1, { type: "text_delta", text: "x" }), stop(1)]
    const { events } = frames(start(0, tool), stop(0), ...text, ...end("end_turn"))
    expect(events.map((event) => event.type)).toEqual(["tool-call", "text-delta", "finish"])
    const order = (...blocks: ReadonlyArray<{ readonly type: string }>) =>
      frames(...blocks, ...end("max_tokens")).events.map((event) =>
        event.type === "tool-call" ? [event.toolCallId, "malformed" in event] : event.type
      )
    expect(order(start(0, tool), start(1, { ...tool, id: "b" }), stop(0), stop(1))).toEqual([
      ["a", false],
      ["b", true],
      "finish"
    ])
  })

  it("a message_delta with usage alone does not stop the message", () => {
    const counting = { type: "message_delta", delta: {}, usage: { output_tokens: 3 } }
    const { events } = frames(
      start(0, tool),
      delta(0, { type: "input_json_delta", partial_json: '{"n"' }),
      counting,
      delta(0, { type: "input_json_delta", partial_json: ":1}" }),
      stop(0),
      ...end("tool_use"),
      counting
    )
    expect(events).toMatchObject([
      { type: "tool-call", input: { n: 1 } },
      { type: "usage", usage: { outputTokens: 3 } },
      { type: "finish", finishReason: "tool-calls" }
    ])
  })

  it("a response in one document may lack its stop reason; its calls are complete", () => {
    const { events, standing } = frames({ type: "message", content: [tool, { ...tool, id: "b" }] } as { type: string })
    expect(standing).toBe("finished")
    expect(events).toEqual([
      { type: "tool-call", toolCallId: "a", toolName: "x", input: {} },
      { type: "tool-call", toolCallId: "b", toolName: "x", input: {} },
      { type: "finish", finishReason: "tool-calls" }
    ])
  })

  it("every known stop reason has its finish reason", () => {
    for (const [reason, finishReason] of [
      ["end_turn", "stop"],
      ["stop_sequence", "stop"],
      ["max_tokens", "length"],
      ["model_context_window_exceeded", "length"],
      ["tool_use", "tool-calls"],
      ["refusal", "content-filter"],
      ["pause_turn", "other"]
    ] as const) {
      expect(frames(...end(reason)).events).toEqual([{ type: "finish", finishReason }])
    }
    expect(frames(start(0, tool), stop(0), { type: "message_stop" }).events.at(-1)).toEqual({
      type: "finish",
      finishReason: "tool-calls"
    })
    expect(frames({ type: "message_stop" }).events).toEqual([{ type: "finish", finishReason: "other" }])
  })

  it("rule C3: an error is recognised whatever its frame's name, and null is no error", () => {
    const standing = (...events: ReadonlyArray<object>) =>
      decode(
        Response.make(String),
        events.map((event) => `data: ${JSON.stringify(event)}\n\n`)
      ).standing
    expect(standing({ type: "error" })).toBe("failed")
    expect(standing({ error: { message: "no" } })).toBe("failed")
    expect(standing({ error: "no" })).toBe("failed")
    expect(standing({ error: null })).toBe("open")
    expect(standing({})).toBe("open")
  })

  it("a frame without a type has the type of its name", () => {
    const { events, standing } = decode(Response.make(String), [
      'event: content_block_delta\ndata: {"index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n',
      "event: message_stop\ndata: {}\n\n"
    ])
    expect(standing).toBe("finished")
    expect(events[0]).toEqual({ type: "text-delta", delta: "Hi" })
  })

  it("rule C6: a message without message_stop has not finished", () => {
    expect(frames(delta(0, { type: "text_delta", text: "a" }), ...end("end_turn").slice(0, 1)).standing).toBe("open")
  })
})
