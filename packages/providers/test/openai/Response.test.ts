import { describe, expect, it } from "@effect/vitest"
import * as Response from "../../src/openai/Response.ts"
import { decode } from "../harness/Decode.ts"

const frames = (...chunks: ReadonlyArray<unknown>) =>
  decode(
    Response.make((n) => `id${n}`),
    chunks.map((chunk) => `data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}\n\n`)
  )

const delta = (delta: unknown, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason }]
})
const calls = (...tool_calls: ReadonlyArray<unknown>) => delta({ tool_calls })

describe("openai/Response", () => {
  it("reasoning is read under both of its names, and once where a provider sends both", () => {
    expect(
      frames(
        delta({ reasoning_content: "a" }),
        delta({ reasoning: "b" }),
        delta({ reasoning: "c", reasoning_content: "c", content: "d" })
      ).events
    ).toEqual([
      { type: "reasoning-delta", delta: "a" },
      { type: "reasoning-delta", delta: "b" },
      { type: "reasoning-delta", delta: "c" },
      { type: "text-delta", delta: "d" }
    ])
  })

  it("images are files: their bytes, or their address; one without an address is left out", () => {
    const image = (url?: string) => ({ type: "image_url", image_url: { url } })
    const images = [image("data:image/png;base64,AAAA"), image("https://a.example/b,c.png"), image()]
    expect(frames(delta({ content: "Here", images })).events).toEqual([
      { type: "text-delta", delta: "Here" },
      { type: "file", mediaType: "image/png", data: "AAAA" },
      { type: "file", mediaType: "image/*", url: "https://a.example/b,c.png" }
    ])
  })

  it("content may come in typed parts", () => {
    const content = [
      { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
      { type: "text", text: "yes" }
    ]
    expect(frames(delta({ content })).events).toEqual([
      { type: "reasoning-delta", delta: "hm" },
      { type: "text-delta", delta: "yes" }
    ])
  })

  it("usage after the finish reason is not lost, and [DONE] may be missing", () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 7,
      total_tokens: 17,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 3 }
    }
    expect(frames(delta({ content: "x" }), delta({}, "length"), { choices: [], usage }).events).toEqual([
      { type: "text-delta", delta: "x" },
      { type: "usage", usage: { inputTokens: 10, outputTokens: 7, reasoningTokens: 3, cachedInputTokens: 4 } },
      { type: "finish", finishReason: "length" }
    ])
  })

  it("reasoning that a provider counts apart is added to the output", () => {
    const usage = {
      prompt_tokens: 307,
      completion_tokens: 26,
      total_tokens: 560,
      completion_tokens_details: { reasoning_tokens: 227 }
    }
    expect(frames(delta({ content: "x" }, "stop"), { choices: [], usage }).events[1]).toEqual({
      type: "usage",
      usage: { inputTokens: 307, outputTokens: 253, reasoningTokens: 227 }
    })
  })

  it("usage is found where DeepSeek, Groq and Moonshot put it", () => {
    for (const chunk of [
      { choices: [], usage: { prompt_tokens: 9, prompt_cache_hit_tokens: 2 } },
      { choices: [], x_groq: { usage: { prompt_tokens: 9, cached_tokens: 2 } } },
      { choices: [{ delta: {}, usage: { prompt_tokens: 9, cached_tokens: 2 } }] }
    ]) {
      expect(frames(delta({ content: "x" }, "stop"), chunk).events[1]).toEqual({
        type: "usage",
        usage: { inputTokens: 9, cachedInputTokens: 2 }
      })
    }
  })

  it("usage with every chunk is emitted at the first output and at the end", () => {
    const chunk = (content: string, completion_tokens: number) => ({
      ...delta({ content }),
      usage: { completion_tokens }
    })
    const { events } = frames(chunk("", 0), chunk("a", 1), chunk("b", 2), chunk("c", 3), delta({}, "stop"))
    expect(events.map((event) => (event.type === "usage" ? event.usage.outputTokens : event.type))).toEqual([
      "text-delta",
      1,
      "text-delta",
      "text-delta",
      3,
      "finish"
    ])
  })

  it("rule C7: calls that share an index, or have none, stay separate", () => {
    const call = (more: object, name: string, args: unknown = "{}") => ({
      ...more,
      function: { name, arguments: args }
    })
    const names = (...pieces: ReadonlyArray<unknown>) =>
      frames(...pieces.map((piece) => calls(piece)), delta({}, "stop")).events.map((event) =>
        event.type === "tool-call" ? [event.toolCallId, event.toolName, event.input] : event.type
      )
    expect(names(call({ index: 0, id: "a" }, "x"), call({ index: 0, id: "b" }, "y"))).toEqual([
      ["a", "x", {}],
      ["b", "y", {}],
      "finish"
    ])
    expect(names(call({}, "x", { n: 1 }), call({}, "y", ""))).toEqual([
      ["id0", "x", { n: 1 }],
      ["id1", "y", {}],
      "finish"
    ])
    expect(names(call({ id: "a" }, "x", '{"n"'), { function: { arguments: ":1}" } })).toEqual([
      ["a", "x", { n: 1 }],
      "finish"
    ])
    expect(names(call({ index: 0, id: "a" }, "x", '{"n"'), call({ index: 0, id: "a" }, "x", ":1}"))).toEqual([
      ["a", "x", { n: 1 }],
      "finish"
    ])
  })

  it("rule C8, C11: a call is held with its arguments and one a piece, and kept with its id and name and 64 more", () => {
    const sizes = (...pieces: ReadonlyArray<unknown>) => {
      const machine = Response.make(String)
      for (const piece of pieces) machine.frame(calls(piece), undefined, [])
      return [machine.held(), machine.kept()]
    }
    expect(sizes()).toEqual([0, 0])
    expect(sizes({ index: 0 })).toEqual([1, 64])
    expect(sizes({ index: 0, id: "id", function: { name: "read", arguments: "123" } })).toEqual([4, 64 + 2 + 4 + 3])
    expect(sizes({ index: 0, function: { name: "x" } }, { index: 0, function: { arguments: "12" } })).toEqual([
      4,
      64 + 1 + 2
    ])
    expect(sizes({ index: 0 }, { index: 1 })).toEqual([2, 128])
    expect(sizes({ function: { arguments: { n: 1 } } })).toEqual([8, 64 + 7])
    expect(sizes({ function: { arguments: null } })).toEqual([1, 64])
  })

  it("a call keeps its first id and name; pieces without an index belong to the call of their id, or to the last", () => {
    const { events } = frames(
      calls({ id: "a", function: { name: "x", arguments: "{" } }),
      calls({ id: "b", function: { name: "y", arguments: "{" } }),
      calls({ id: "a", function: { arguments: '"n":1}' } }),
      calls({ function: { arguments: '"m":2}' } }),
      delta({}, "tool_calls")
    )
    expect(events).toMatchObject([
      { toolCallId: "a", toolName: "x", input: { n: 1 } },
      { toolCallId: "b", toolName: "y", input: { m: 2 } },
      { type: "finish" }
    ])
    const late = frames(
      calls({ index: 0, function: { arguments: "{" } }),
      calls({ index: 0, id: "a", function: { name: "x" } }),
      calls({ index: 0, function: { name: "z", arguments: "}" } }),
      delta({}, "tool_calls")
    )
    expect(late.events).toMatchObject([{ toolCallId: "a", toolName: "x", input: {} }, { type: "finish" }])
  })

  it("every known finish reason has its meaning", () => {
    for (const [reason, finishReason] of [
      ["stop", "stop"],
      ["eos", "stop"],
      ["end_turn", "stop"],
      ["length", "length"],
      ["max_tokens", "length"],
      ["model_length", "length"],
      ["tool_calls", "tool-calls"],
      ["content_filter", "content-filter"],
      ["refusal", "content-filter"],
      ["another", "other"]
    ] as const) {
      expect(frames(delta({}, reason)).events).toEqual([{ type: "finish", finishReason }])
    }
    const call = calls({ index: 0, id: "a", function: { name: "x", arguments: "{}" } })
    expect(frames(call, delta({}, "another")).events.at(-1)).toEqual({ type: "finish", finishReason: "tool-calls" })
    expect(frames(call, delta({}, "refusal")).events.at(-1)).toEqual({ type: "finish", finishReason: "content-filter" })
  })

  it("a refusal is emitted as text, and typed parts of other types are skipped", () => {
    expect(frames(delta({ refusal: "I will not." })).events).toEqual([{ type: "text-delta", delta: "I will not." }])
    const content = [
      { type: "text", text: "" },
      { type: "thinking", thinking: [{ text: "" }, { text: "hm" }], text: "no" },
      { type: "reference", text: "no", thinking: [{ text: "no" }] },
      "no",
      { type: "text", text: "yes", thinking: [{ text: "no" }] }
    ]
    expect(frames(delta({ content })).events).toEqual([
      { type: "reasoning-delta", delta: "hm" },
      { type: "text-delta", delta: "yes" }
    ])
  })

  it("rule C3, C4: a model's text is no error, and neither is null", () => {
    for (const frame of [
      { choices: [{ delta: {} }], object: "error", detail: "x", message: "x" },
      { choices: [], error: null },
      { message: { text: "an object" } },
      { type: "ping", object: "chat.completion.chunk" }
    ]) {
      expect(frames(delta({ content: "x" }), frame).standing, JSON.stringify(frame)).toBe("open")
    }
    for (const frame of [
      { type: "error", text: "no" },
      { object: "error" },
      { message: "no" },
      { detail: [{ msg: "no" }] },
      { choices: [], x_groq: { error: "no" } }
    ]) {
      expect(frames(delta({ content: "x" }), frame).standing, JSON.stringify(frame)).toBe("failed")
    }
  })

  it("rule C3: a finish reason that is an error has the provider's message, where there is one", () => {
    const failing = (choice: object) =>
      frames({ choices: [{ delta: {}, finish_reason: "error", ...choice }] }).events.at(-1)
    expect(failing({ error: { message: "upstream is gone" } })).toMatchObject({
      failure: { message: "upstream is gone", code: "error" }
    })
    expect(failing({})).toMatchObject({ failure: { message: expect.stringContaining('finish_reason "error"') } })
  })

  it("a stop with tool calls has the finish reason tool-calls", () => {
    const { events } = frames(calls({ index: 0, id: "a", function: { name: "x", arguments: "{}" } }), delta({}, "stop"))
    expect(events.at(-1)).toEqual({ type: "finish", finishReason: "tool-calls" })
  })

  it("rule C7: a call without arguments, cut at the length limit, is not complete", () => {
    const { events } = frames(calls({ index: 0, id: "a", function: { name: "x", arguments: "" } }), delta({}, "length"))
    expect(events[0]).toMatchObject({ input: "", malformed: expect.stringContaining("length limit") })
  })

  it("rule C3: errors are recognised in every known shape", () => {
    for (const frame of [
      { error: { message: "no" } },
      { error: "no" },
      [{ error: { code: 503, message: "no" } }],
      { object: "error", message: "no", code: 400 },
      { detail: "no" },
      { x_groq: { error: "no" } },
      { error: { code: 502, message: "no" }, choices: [{ delta: { content: "" }, finish_reason: "error" }] },
      "Internal Server Error"
    ]) {
      const { events, standing } = frames(delta({ content: "x" }), frame, "[DONE]")
      expect(standing, JSON.stringify(frame)).toBe("failed")
      expect(events.map((event) => event.type)).toEqual(["text-delta", "error"])
    }
  })

  it("rule C3: a finish reason that is a failure gives no finish", () => {
    expect(frames(delta({}, "insufficient_system_resource"), "[DONE]").events).toMatchObject([
      { type: "error", failure: { reason: "overloaded", retryable: true } }
    ])
    expect(frames(delta({ content: "x" }, "error")).events.at(-1)).toMatchObject({
      type: "error",
      failure: { reason: "server-error", retryable: true }
    })
  })

  it("rule C6: [DONE] ends a response that has text, a tool call or a finish reason", () => {
    const call = calls({ index: 0, id: "a", function: { name: "look", arguments: "{}" } })
    for (const [chunk, type] of [
      [delta({ content: "x" }), "text-delta"],
      [call, "tool-call"],
      [delta({}, "stop"), "finish"]
    ] as const) {
      const { events, standing } = frames(chunk, "[DONE]")
      expect([standing, events[0]?.type, events.at(-1)?.type]).toEqual(["finished", type, "finish"])
    }
    expect(frames(call, "[DONE]").events.at(-1)).toEqual({ type: "finish", finishReason: "tool-calls" })
  })

  it("rule C6: [DONE] alone is no response", () => {
    expect(frames(delta({ role: "assistant", content: "" }), "[DONE]").standing).toBe("open")
  })
})
