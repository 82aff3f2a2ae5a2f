import { describe, expect, it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import * as Response from "../../src/responses/Response.ts"
import { decode } from "../harness/Decode.ts"
import { openAiResponses } from "../harness/NativeDialects.ts"

const idOf = (n: number) => `id${n}`

const run = (...frames: ReadonlyArray<object>) =>
  decode(Response.make(idOf), [frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("")])

const types = (events: ReadonlyArray<Provider.ProviderEvent>) => events.map(({ type }) => type)

const end = (type: string, more: object = {}) => ({
  type,
  response: { status: type.split(".")[1], output: [], ...more }
})

describe("responses/Response", () => {
  it("an item of reasoning ends with its encrypted content at the end, not the one at its start", () => {
    const { events } = decode(Response.make(idOf), [openAiResponses.reasoning.join("")])
    const proof = '{"id":"rs_0","encrypted_content":"gAAAA-whole"}'
    expect(events.filter(({ type }) => type === "reasoning-end")).toEqual([{ type: "reasoning-end", proof }])
    const text = events.flatMap((event) => (event.type === "reasoning-delta" ? [event.delta] : [])).join("")
    expect(text).toBe("We need to count the letters one by one.\n\nThen answer.")
    expect(events.findIndex(({ type }) => type === "reasoning-end")).toBeLessThan(
      events.findIndex(({ type }) => type === "text-delta")
    )
  })

  it("reasoning without a summary still has its proof, before the call that it led to", () => {
    const { events } = decode(Response.make(idOf), [openAiResponses.toolCall.join("")])
    expect(types(events)).toEqual(["reasoning-end", "tool-call", "usage", "finish"])
    expect(events[0]).toMatchObject({ proof: expect.stringContaining("gAAAA-whole") })
  })

  it("rule D4: reasoning without a summary is no content yet: an overload after it has nothing before it", () => {
    const item = { type: "reasoning", id: "rs_1", encrypted_content: "g", summary: [] }
    const done = { type: "response.output_item.done", output_index: 0, item }
    const error = { type: "error", error: { code: "server_is_overloaded", message: "Overloaded" } }
    expect(types(run(done, error).events)).toEqual(["error"])
    expect(types(run(done, end("response.completed")).events)).toEqual(["reasoning-end", "finish"])
    const text = { type: "response.output_text.delta", output_index: 1, delta: "Hi" }
    expect(types(run(done, text, error).events)).toEqual(["reasoning-end", "text-delta", "error"])
    const image = (result: string | null) => ({ ...done, item: { type: "image_generation_call", id: "ig_1", result } })
    expect(types(run(done, image(null), error).events)).toEqual(["error"])
    expect(types(run(done, image("AAAA"), error).events)).toEqual(["reasoning-end", "file", "error"])
    const told = { ...done, item: { ...item, summary: [{ text: "Hm" }] } }
    expect(types(run(told, error).events)).toEqual(["reasoning-delta", "reasoning-end", "error"])
  })

  it("a generated image is a file, once, with the id of its item; partial images are not read", () => {
    const item = {
      type: "image_generation_call",
      id: "ig_1",
      status: "generating",
      output_format: "webp",
      result: "AAAA"
    }
    const partial = { type: "response.image_generation_call.partial_image", partial_image_b64: "BBBB" }
    const file = { type: "file", mediaType: "image/webp", data: "AAAA", proof: '{"id":"ig_1"}' }
    const done = { type: "response.output_item.done", output_index: 0, item }
    const { events } = run(partial, done, end("response.completed", { output: [item] }))
    expect(events).toEqual([file, { type: "finish", finishReason: "stop" }])
    expect(run(end("response.completed", { output: [item] })).events[0]).toEqual(file)
    expect(run({ ...done, item: { ...item, result: null } }, end("response.completed")).events).toHaveLength(1)
  })

  it("usage has reasoning and cached tokens, and comes once more at the end where it changed", () => {
    const { events } = decode(Response.make(idOf), [openAiResponses.text.join("")])
    expect(events.filter(({ type }) => type === "usage")).toEqual([
      { type: "usage", usage: { inputTokens: 5, outputTokens: 9, reasoningTokens: 3, cachedInputTokens: 2 } }
    ])
  })

  it("a refusal is text", () => {
    const { events } = run({ type: "response.refusal.delta", output_index: 0, delta: "No." }, end("response.completed"))
    expect(events).toEqual([
      { type: "text-delta", delta: "No." },
      { type: "finish", finishReason: "stop" }
    ])
  })

  it("an incomplete response has the reason of its cut", () => {
    for (const [reason, finishReason] of [
      ["max_output_tokens", "length"],
      ["content_filter", "content-filter"],
      ["other", "other"]
    ]) {
      const { events } = run(
        { type: "response.output_text.delta", output_index: 0, delta: "Hi" },
        end("response.incomplete", { incomplete_details: { reason } })
      )
      expect(events.at(-1)).toEqual({ type: "finish", finishReason })
    }
  })

  it("rule C7: a call that the limit cut is malformed, whether its item ended or not", () => {
    const item = { type: "function_call", call_id: "a", name: "read" }
    const added = { type: "response.output_item.added", output_index: 0, item: { ...item, arguments: "" } }
    const delta = { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"path"' }
    const done = { type: "response.output_item.done", output_index: 0, item: { ...item, arguments: "" } }
    const cut = end("response.incomplete", { incomplete_details: { reason: "max_output_tokens" } })
    for (const frames of [[added], [added, delta], [added, done], [added, delta, done]]) {
      const { events } = run(...frames, cut)
      expect(events).toMatchObject([{ malformed: expect.stringContaining("length limit") }, { finishReason: "length" }])
    }
    expect(run(added, done, end("response.completed")).events).toMatchObject([
      { type: "tool-call", input: {} },
      { finishReason: "tool-calls" }
    ])
  })

  it("what a server leaves out of its deltas is read from the end of an item, or from the whole response", () => {
    const output = [
      { type: "reasoning", id: "rs_1", encrypted_content: "g", summary: [{ text: "Hm" }, { text: "so" }] },
      {
        type: "message",
        content: [
          { type: "output_text", text: "Hello" },
          { type: "refusal", refusal: "No" }
        ]
      },
      { type: "function_call", call_id: "a", name: "read", arguments: '{"path":1}' }
    ]
    const expected = [
      { type: "reasoning-delta", delta: "Hm\n\nso" },
      { type: "reasoning-end", proof: '{"id":"rs_1","encrypted_content":"g"}' },
      { type: "text-delta", delta: "Hello" },
      { type: "text-delta", delta: "No" },
      { type: "tool-call", toolCallId: "a", toolName: "read", input: { path: 1 } },
      { type: "finish", finishReason: "tool-calls" }
    ]
    const done = output.map((item, output_index) => ({ type: "response.output_item.done", output_index, item }))
    expect(run(...done, end("response.completed", { output })).events).toEqual(expected)
    expect(run(end("response.completed", { output })).events).toEqual(expected)
  })

  it("items of hosted tools give no event, and a call without an id gets one", () => {
    const search = { type: "web_search_call", id: "ws_1", status: "completed" }
    const { events } = run(
      { type: "response.output_item.added", output_index: 0, item: search },
      { type: "response.web_search_call.completed", output_index: 0 },
      { type: "response.output_item.done", output_index: 0, item: search },
      { type: "response.output_item.done", output_index: 1, item: { type: "function_call", name: "read" } },
      end("response.completed")
    )
    expect(events).toEqual([
      { type: "tool-call", toolCallId: "id0", toolName: "read", input: {} },
      { type: "finish", finishReason: "tool-calls" }
    ])
  })

  it("rule C6: neither `[DONE]` nor the end of the last item ends a response", () => {
    const frames = openAiResponses.text.slice(0, -1).join("")
    expect(decode(Response.make(idOf), [`${frames}data: [DONE]\n\n`]).standing).toBe("open")
  })
})
