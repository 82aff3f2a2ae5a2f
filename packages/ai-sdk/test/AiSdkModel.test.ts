/** What a turn gives to a model of the AI SDK, and takes from it: nothing is lost between the two. */
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider"
import { holdfast, memoryStore, type Store, tool } from "holdfast"
import { assert, describe, expect, it } from "vitest"
import { model } from "../src/index.ts"

const usage = (inputTokens: number) => ({
  inputTokens: { total: inputTokens, noCache: 1, cacheRead: 2, cacheWrite: 3 },
  outputTokens: { total: 4, text: 1, reasoning: 3 }
})

/** A model that answers with the parts of each entry, one a call; `calls` has what it was called with. */
const scripted = (script: ReadonlyArray<ReadonlyArray<LanguageModelV4StreamPart>>) => {
  const calls: Array<LanguageModelV4CallOptions> = []
  const doStream = async (options: LanguageModelV4CallOptions) => ({
    stream: ReadableStream.from(script[calls.push(options) - 1] ?? [])
  })
  return {
    calls,
    model: { specificationVersion: "v4", provider: "p", modelId: "m", supportedUrls: {}, doStream } as never
  }
}

const finish = (unified: "stop" | "tool-calls"): LanguageModelV4StreamPart => ({
  type: "finish",
  finishReason: { unified, raw: unified },
  usage: usage(9)
})

const answer: ReadonlyArray<LanguageModelV4StreamPart> = [
  { type: "text-delta", id: "t", delta: "Rain." },
  finish("stop")
]

const tools = {
  weather: tool({
    description: "Weather of a city",
    inputSchema: { type: "object", properties: { city: { type: "string" } } },
    execute: ({ city }: { readonly city: string }) => {
      if (city === "Nowhere") throw new Error("no such city")
      return { city, rain: true }
    }
  })
}

const GOOGLE = { google: { thoughtSignature: "sig-of-call" } }

/** A response with all that must go back to its model. */
const response: ReadonlyArray<LanguageModelV4StreamPart> = [
  { type: "reasoning-start", id: "r1", providerMetadata: { openai: { itemId: "rs_1" } } },
  {
    type: "reasoning-delta",
    id: "r1",
    delta: "Look ",
    providerMetadata: { google: { thoughtSignature: "sig-of-delta" } }
  },
  { type: "reasoning-delta", id: "r1", delta: "outside. " },
  { type: "reasoning-end", id: "r1", providerMetadata: { openai: { reasoningEncryptedContent: "e" } } },
  { type: "reasoning-start", id: "r2" },
  { type: "reasoning-delta", id: "r2", delta: "Or ask." },
  { type: "reasoning-end", id: "r2", providerMetadata: { anthropic: { signature: "sig" } } },
  { type: "reasoning-start", id: "r3", providerMetadata: { anthropic: { redactedData: "hidden" } } },
  { type: "reasoning-end", id: "r3" },
  { type: "text-delta", id: "t", delta: "I ask. " },
  { type: "tool-call", toolCallId: "c1", toolName: "weather", input: '{"city":"Bergen"}', providerMetadata: GOOGLE },
  { type: "tool-call", toolCallId: "c2", toolName: "weather", input: '{"city":"Nowhere"}' },
  { type: "tool-call", toolCallId: "c3", toolName: "weather", input: '{"city":' },
  finish("tool-calls")
]

/** The same, as it goes back. */
const returned = [
  {
    role: "assistant",
    content: [
      {
        type: "reasoning",
        text: "Look outside. ",
        providerOptions: {
          openai: { itemId: "rs_1", reasoningEncryptedContent: "e" },
          google: { thoughtSignature: "sig-of-delta" }
        }
      },
      { type: "reasoning", text: "Or ask.", providerOptions: { anthropic: { signature: "sig" } } },
      { type: "reasoning", text: "", providerOptions: { anthropic: { redactedData: "hidden" } } },
      { type: "text", text: "I ask. " },
      { type: "tool-call", toolCallId: "c1", toolName: "weather", input: { city: "Bergen" }, providerOptions: GOOGLE },
      { type: "tool-call", toolCallId: "c2", toolName: "weather", input: { city: "Nowhere" } },
      { type: "tool-call", toolCallId: "c3", toolName: "weather", input: { malformed_arguments: '{"city":' } }
    ]
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "c1",
        toolName: "weather",
        output: { type: "json", value: { city: "Bergen", rain: true } }
      },
      {
        type: "tool-result",
        toolCallId: "c2",
        toolName: "weather",
        output: { type: "error-text", value: "The tool failed: no such city" }
      },
      {
        type: "tool-result",
        toolCallId: "c3",
        toolName: "weather",
        output: expect.objectContaining({ type: "error-text" })
      }
    ]
  }
]

const ask = (store: Store, languageModel: never, id: string) =>
  holdfast({
    model: model(languageModel, { temperature: 0.5, providerOptions: { google: { a: 1 } } }),
    tools,
    store,
    retry: { enabled: false }
  }).turn(
    [
      { type: "text", text: "How is it?" },
      { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=", name: "a.png" }
    ],
    { id, conversation: "c", system: "Be kind." }
  ).result

describe("a model of the AI SDK", () => {
  it("reasoning that ends behind the tool call after it stays before it, and an empty block is none", async () => {
    const GOOGLES: ReadonlyArray<LanguageModelV4StreamPart> = [
      { type: "reasoning-start", id: "0", providerMetadata: { google: { thoughtSignature: "sig" } } },
      { type: "reasoning-delta", id: "0", delta: "Look." },
      {
        type: "tool-call",
        toolCallId: "c1",
        toolName: "weather",
        input: '{"city":"Bergen"}',
        providerMetadata: GOOGLE
      },
      { type: "reasoning-end", id: "0" },
      { type: "reasoning-start", id: "1" },
      { type: "reasoning-end", id: "1" },
      finish("tool-calls")
    ]
    const { calls, model: languageModel } = scripted([GOOGLES, answer])
    await ask(memoryStore(), languageModel, "t1")
    expect(calls[1]?.prompt.find(({ role }) => role === "assistant")?.content).toEqual([
      { type: "reasoning", text: "Look.", providerOptions: { google: { thoughtSignature: "sig" } } },
      { type: "tool-call", toolCallId: "c1", toolName: "weather", input: { city: "Bergen" }, providerOptions: GOOGLE }
    ])
  })

  it("gets every part of a conversation back with its metadata, also from a store", async () => {
    const store = memoryStore()
    const first = scripted([response, answer])
    const result = await ask(store, first.model, "t1")
    if (result.status === "parked") throw new Error("It is parked.")
    assert.strictEqual(result.status, "completed")
    const user = {
      role: "user",
      content: [
        { type: "text", text: "How is it?" },
        { type: "file", mediaType: "image/png", filename: "a.png", data: { type: "data", data: "iVBORw0KGgo=" } }
      ]
    }
    const system = { role: "system", content: "Be kind." }
    expect(first.calls.map(({ prompt }) => prompt)).toEqual([
      [system, user],
      [system, user, ...returned]
    ])
    const { abortSignal: _, prompt: __, ...options } = first.calls[0] ?? { prompt: [] }
    assert.deepStrictEqual(options, {
      temperature: 0.5,
      providerOptions: { google: { a: 1 } },
      tools: [
        {
          type: "function",
          name: "weather",
          description: "Weather of a city",
          inputSchema: { type: "object", properties: { city: { type: "string" } } }
        }
      ]
    })
    assert.deepStrictEqual(result.usage, {
      inputTokens: 18,
      outputTokens: 8,
      reasoningTokens: 6,
      cachedInputTokens: 4,
      cacheWriteTokens: 6
    })

    const later = scripted([answer]) // a later process
    await ask(store, later.model, "t2")
    expect(later.calls[0]?.prompt).toEqual([
      system,
      user,
      ...returned,
      { role: "assistant", content: [{ type: "text", text: "Rain." }] },
      user
    ])
  })
})
