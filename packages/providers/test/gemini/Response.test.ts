import { describe, expect, it } from "@effect/vitest"
import * as Response from "../../src/gemini/Response.ts"
import { decode } from "../harness/Decode.ts"

const idOf = (n: number) => `id${n}`

const run = (...frames: ReadonlyArray<object>) =>
  decode(Response.make(idOf), [frames.map((frame) => `data: ${JSON.stringify(frame)}\r\n\r\n`).join("")])

const chunk = (parts: ReadonlyArray<object>, more: object = {}) => ({ candidates: [{ content: { parts }, ...more }] })

const stop = (finishReason = "STOP", more: object = {}) => chunk([{ text: "" }], { finishReason, ...more })

describe("gemini/Response", () => {
  it("a thought signature is the proof of its call, of its thoughts, or of the text before it", () => {
    const proof = (thoughtSignature: string) => JSON.stringify({ thoughtSignature })
    expect(
      run(
        chunk([{ text: "Hm", thought: true, thoughtSignature: "1" }]),
        chunk([{ text: "Hello" }]),
        chunk([{ text: "", thoughtSignature: "2" }]),
        chunk([
          { functionCall: { name: "list", args: {} }, thoughtSignature: "3" },
          { functionCall: { name: "list" } }
        ]),
        stop()
      ).events
    ).toEqual([
      { type: "reasoning-delta", delta: "Hm" },
      { type: "reasoning-end", proof: proof("1") },
      { type: "text-delta", delta: "Hello" },
      { type: "reasoning-end", proof: proof("2") },
      { type: "tool-call", toolCallId: "id0", toolName: "list", input: {}, proof: proof("3") },
      { type: "tool-call", toolCallId: "id1", toolName: "list", input: {} },
      { type: "finish", finishReason: "tool-calls" }
    ])
  })

  it("rule D4: a signature ahead of any output is no content yet", () => {
    const signature = chunk([{ text: "", thoughtSignature: "1" }])
    const types = (...frames: ReadonlyArray<object>) => run(...frames).events.map(({ type }) => type)
    expect(types(signature, { error: { code: 503, message: "Overloaded" } })).toEqual(["error"])
    expect(types(signature, chunk([{ text: "Hi" }]), stop())).toEqual(["reasoning-end", "text-delta", "finish"])
    expect(types(signature, chunk([{ functionCall: { name: "list" } }]), stop())).toEqual([
      "reasoning-end",
      "tool-call",
      "finish"
    ])
    expect(types(signature, stop())).toEqual(["reasoning-end", "finish"])
  })

  it("the last usage counts: thoughts are output, results of hosted tools are input", () => {
    const usageMetadata = {
      promptTokenCount: 5,
      toolUsePromptTokenCount: 4,
      candidatesTokenCount: 6,
      thoughtsTokenCount: 3,
      cachedContentTokenCount: 2,
      totalTokenCount: 18
    }
    const { events } = run(
      { ...chunk([{ text: "Hi" }]), usageMetadata: { promptTokenCount: 5, thoughtsTokenCount: 3 } },
      { ...stop(), usageMetadata }
    )
    expect(events.filter(({ type }) => type === "usage")).toEqual([
      { type: "usage", usage: { inputTokens: 5, outputTokens: 3, reasoningTokens: 3 } },
      { type: "usage", usage: { inputTokens: 9, outputTokens: 9, reasoningTokens: 3, cachedInputTokens: 2 } }
    ])
  })

  it("each finish reason has its meaning", () => {
    for (const [reason, finishReason] of [
      ["STOP", "stop"],
      ["MAX_TOKENS", "length"],
      ["SAFETY", "content-filter"],
      ["RECITATION", "content-filter"],
      ["PROHIBITED_CONTENT", "content-filter"],
      ["OTHER", "other"]
    ]) {
      expect(run(chunk([{ text: "Hi" }]), stop(reason)).events.at(-1)).toEqual({ type: "finish", finishReason })
    }
    expect(run(stop("FINISH_REASON_UNSPECIFIED")).standing).toBe("open")
  })

  it("a prompt that was blocked is refused, and a call that Google could not read is tried again", () => {
    expect(run({ promptFeedback: { blockReason: "SAFETY" } }).events).toMatchObject([
      { failure: { reason: "refused", retryable: false, code: "SAFETY" } }
    ])
    const malformed = stop("MALFORMED_FUNCTION_CALL", { finishMessage: "Malformed function call: print(" })
    expect(run(malformed).events).toMatchObject([
      { failure: { reason: "invalid-response", retryable: true, message: "Malformed function call: print(" } }
    ])
  })

  it("rule C7: a call in pieces is refused, and the remedy is named", () => {
    for (const functionCall of [{ name: "read", willContinue: true }, { partialArgs: [{ jsonPath: "$.a" }] }]) {
      expect(run(chunk([{ functionCall }])).events).toMatchObject([
        { failure: { retryable: false, message: expect.stringContaining("streamFunctionCallArguments") } }
      ])
    }
  })

  it("rule C7: a call without arguments at the token limit is malformed", () => {
    const { events } = run(chunk([{ functionCall: { name: "list" } }]), stop("MAX_TOKENS"))
    expect(events).toMatchObject([{ malformed: expect.stringContaining("length limit") }, { finishReason: "length" }])
  })

  it("rule C6: without a finish reason a stream has broken off, unless a proxy ends it after output", () => {
    expect(run(chunk([{ text: "Hi" }])).standing).toBe("open")
    const done = (...frames: ReadonlyArray<object>) =>
      decode(Response.make(idOf), [
        `${frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("")}data: [DONE]\n\n`
      ])
    expect(done(chunk([{ text: "Hi" }])).events.at(-1)).toEqual({ type: "finish", finishReason: "other" })
    expect(done(chunk([{ functionCall: { name: "list" } }])).events.at(-1)).toMatchObject({
      finishReason: "tool-calls"
    })
    expect(done(chunk([])).standing).toBe("open")
  })

  it("an image is a file with its signature; a draft among the thoughts is left out", () => {
    const image = (data: string, more = {}) => ({ inlineData: { mimeType: "image/PNG; x=1", data }, ...more })
    expect(
      run(
        chunk([{ text: "Here" }, image("AAAA", { thought: true }), image("BBBB", { thoughtSignature: "s" })]),
        chunk([{ functionCall: { name: "list" } }, image("CCCC")]),
        stop()
      ).events
    ).toEqual([
      { type: "text-delta", delta: "Here" },
      { type: "file", mediaType: "image/png", data: "BBBB", proof: JSON.stringify({ thoughtSignature: "s" }) },
      { type: "tool-call", toolCallId: "id0", toolName: "list", input: {} },
      { type: "file", mediaType: "image/png", data: "CCCC" },
      { type: "finish", finishReason: "tool-calls" }
    ])
  })

  it("parts of other kinds give no event", () => {
    const parts = [{ executableCode: { code: "1" } }, { inlineData: { mimeType: "image/png" } }, {}]
    expect(run(chunk(parts), stop()).events).toEqual([{ type: "finish", finishReason: "stop" }])
  })
})
