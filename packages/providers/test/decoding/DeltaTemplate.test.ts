import { describe, expect, it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import * as fc from "fast-check"
import * as Anthropic from "../../src/anthropic/Response.ts"
import * as DeltaTemplate from "../../src/decoding/DeltaTemplate.ts"
import type { JsonObject } from "../../src/decoding/Json.ts"
import * as OpenAi from "../../src/openai/Response.ts"
import { decode } from "../harness/Decode.ts"
import { anthropicMessages, openAiCompatible } from "../harness/Dialect.ts"
import { heapUsed } from "../harness/Heap.ts"

const idOf = (n: number) => `id${n}`

/** The machine's events when it decodes every frame, without a template. */
const thorough = (make: typeof OpenAi.make, frames: ReadonlyArray<JsonObject>) => {
  const machine = make(idOf)
  const out: Array<Provider.ProviderEvent> = []
  for (const frame of frames) machine.frame(frame, undefined, out)
  machine.finish(out)
  return out
}

const quick = (make: typeof OpenAi.make, frames: ReadonlyArray<JsonObject>) =>
  decode(
    make(idOf),
    frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`)
  ).events

/** Texts that resemble their surroundings. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom(
    "",
    '"',
    "\\",
    '\\"',
    '"}',
    '","content":"',
    '"obfuscation":"',
    "null",
    "a",
    "b",
    "ein ganzer Satz, länger als dreizehn"
  ),
  fc.string({ unit: "grapheme", maxLength: 30 })
)

const openAiChunk = fc
  .record({
    key: fc.constantFrom("content", "content", "content", "reasoning_content", "refusal"),
    text,
    padding: fc.option(fc.stringMatching(/^[A-Za-z0-9]{0,9}$/), { nil: undefined }),
    piece: fc.option(fc.constant([{ index: 0, function: { name: "f", arguments: "{" } }]), { nil: undefined, freq: 6 }),
    usage: fc.option(fc.constantFrom({ prompt_tokens: 1, completion_tokens: 2 }, { prompt_tokens: 1 }), {
      nil: null,
      freq: 5
    })
  })
  .map(({ key, text, padding, piece, usage }) => ({
    id: "c",
    choices: [{ index: 0, delta: { [key]: text, ...(piece && { tool_calls: piece }) }, finish_reason: null }],
    usage,
    ...(padding === undefined ? undefined : { obfuscation: padding })
  }))

const openAiStream = fc
  .array(openAiChunk, { maxLength: 12 })
  .map((chunks): ReadonlyArray<JsonObject> => [
    ...chunks,
    { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }
  ])

const anthropicStream = fc
  .array(
    fc.oneof(
      fc.record({
        type: fc.constant("content_block_delta"),
        index: fc.nat(1),
        delta: fc.record({ type: fc.constant("text_delta"), text })
      }),
      fc.record({
        type: fc.constant("content_block_delta"),
        index: fc.nat(1),
        delta: fc.record({ type: fc.constant("thinking_delta"), thinking: text })
      }),
      fc.record({
        type: fc.constant("content_block_start"),
        index: fc.nat(1),
        content_block: fc.record({ type: fc.constant("text"), text })
      }),
      fc.record({ type: fc.constant("content_block_stop"), index: fc.nat(1) })
    ),
    { maxLength: 12 }
  )
  .map((frames): ReadonlyArray<JsonObject> => [
    { type: "message_start", message: { usage: { input_tokens: 3 } } },
    ...frames,
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 4 } },
    { type: "message_stop" }
  ])

describe("DeltaTemplate", () => {
  it("the template gives the same events as parser and machine, for OpenAI's frames", () => {
    fc.assert(
      fc.property(openAiStream, (frames) => {
        expect(quick(OpenAi.make, frames)).toEqual(thorough(OpenAi.make, frames))
      }),
      { numRuns: 1_000 }
    )
  })

  it("the template gives the same events as parser and machine, for Anthropic's frames", () => {
    fc.assert(
      fc.property(anthropicStream, (frames) => {
        expect(quick(Anthropic.make, frames)).toEqual(thorough(Anthropic.make, frames))
      }),
      { numRuns: 1_000 }
    )
  })

  it.each([
    ["text", "OpenAI", openAiCompatible, OpenAi.make],
    ["text", "Anthropic", anthropicMessages, Anthropic.make],
    ["reasoning", "OpenAI", openAiCompatible, OpenAi.make],
    ["reasoning", "Anthropic", anthropicMessages, Anthropic.make]
  ] as const)("most frames of recorded %s of %s take it", (kind, _, dialect, make) => {
    const template = DeltaTemplate.make()
    const machine = make(idOf)
    let taken = 0
    let deltas = 0
    for (const frame of dialect[kind].flatMap((text) => /^data: (\{.*)$/m.exec(text)?.[1] ?? [])) {
      const matched = template.match(frame, undefined)
      const out: Array<Provider.ProviderEvent> = []
      machine.frame(JSON.parse(frame), undefined, out)
      if (matched === undefined) template.learn(frame, undefined, out)
      else expect(out).toEqual([matched])
      if (matched !== undefined) taken++
      deltas += out.filter((event) => event.type === `${kind}-delta`).length
    }
    expect(deltas).toBeGreaterThan(2)
    expect(taken).toBeGreaterThan(deltas / 2)
  })

  it("a frame is matched by its whole surroundings of text and padding, and by its name", () => {
    const learned = (frame: string, delta: string, event?: string) => {
      const template = DeltaTemplate.make()
      template.learn(frame, event, [{ type: "text-delta", delta }])
      return (data: string, name?: string) => template.match(data, name)
    }
    const plain = learned('{"a":"x","b":1}', "x", "delta")
    const text = (delta: string) => ({ type: "text-delta", delta })
    expect(plain('{"a":"yes","b":1}', "delta")).toEqual(text("yes"))
    expect(plain('{"a":"a text of more than \\u0031\\u0033","b":1}', "delta")).toEqual(text("a text of more than 13"))
    for (const [data, name] of [
      ['{"a":"yes","b":1}', "other"],
      ['{"a":"yes","b":1}', undefined],
      ['{"a":"yes","b":2}', "delta"],
      ['{"c":"yes","b":1}', "delta"],
      ['{"a":"yes","b":1} ', "delta"],
      ['{"a":"","b":1}', "delta"],
      ['{"a":"y","b":"n","b":1}', "delta"],
      ['{"a":"a long text","b":"another","b":1}', "delta"],
      ['{"a":"","b":1', "delta"],
      ['{"a":","b":1}', "delta"],
      ["", "delta"]
    ] as const) {
      expect(plain(data, name), data).toBeUndefined()
    }
    const padded = learned('{"a":"x","obfuscation":"pad","b":1}', "x")
    expect(padded('{"a":"yes","obfuscation":"","b":1}')).toEqual(text("yes"))
    expect(padded('{"a":"yes","obfuscation":"padpadpad","b":1}')).toEqual(text("yes"))
    for (const data of [
      '{"a":"yes","obfuscation":"pad","b":2}',
      '{"a":"yes","obfuscatiom":"pad","b":1}',
      '{"a":"yes","obfuscation":"pad","c":"","b":1}',
      '{"a":"yes","b":1}',
      '{"c":"yes","obfuscation":"pad","b":1}'
    ]) {
      expect(padded(data), data).toBeUndefined()
    }
  })

  it("a frame that contains its text twice, or not once, is not learned", () => {
    for (const frame of ['{"a":"x","b":"x"}', '{"a":["x"]}', '{"a":"y"}']) {
      const template = DeltaTemplate.make()
      template.learn(frame, undefined, [{ type: "text-delta", delta: "x" }])
      expect(template.match(frame, undefined), frame).toBeUndefined()
    }
  })

  it("T2: a change by a frame in between is not lost", () => {
    const machineOf = () => OpenAi.make(idOf)
    const text = (content: string, prompt_tokens: number) => ({
      choices: [{ index: 0, delta: { content } }],
      usage: { prompt_tokens }
    })
    const call = { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: "a", function: { name: "f" } }] } }] }
    const usage = { choices: [], usage: { prompt_tokens: 2 } }
    const stop = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }
    for (const between of [{ ...call, usage: usage.usage }, usage, { ...stop, usage: usage.usage }]) {
      const frames = [text("a", 1), text("b", 1), text("c", 1), between, text("d", 1), stop]
      expect(quick(OpenAi.make, frames)).toEqual(thorough(machineOf, frames))
    }
  })

  it("T4: a delta keeps no part of its frame alive", () => {
    const frame = (text: string) => `{"a":"${text}","b":"${"x".repeat(16_000)}"}`
    const template = DeltaTemplate.make()
    template.learn(frame("Hi"), undefined, [{ type: "text-delta", delta: "Hi" }])
    const kept: Array<unknown> = []
    const before = heapUsed()
    for (let i = 0; i < 3_000; i++) kept.push(template.match(frame("y".repeat(12 + (i % 3))), undefined))
    const after = heapUsed()
    expect(kept).not.toContain(undefined)
    // The frames of one length alone have 16 million characters.
    expect(after - before).toBeLessThan(4_000_000)
  })

  it("a frame with more than its text is not learned: the next similar one may have more, too", () => {
    const frame = '{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1}}'
    const template = DeltaTemplate.make()
    const text = { type: "text-delta", delta: "a" } as const
    template.learn(frame, undefined, [text, { type: "usage", usage: { inputTokens: 1 } }])
    expect(template.match(frame, undefined)).toBeUndefined()
    template.learn(frame, undefined, [text])
    expect(template.match(frame, undefined)).toEqual(text)
    template.learn(frame, undefined, [])
    expect(template.match(frame, undefined)).toBeUndefined()
  })
})
