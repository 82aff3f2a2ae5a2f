import { describe, expect, it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import * as fc from "fast-check"
import * as Anthropic from "../../src/anthropic/Response.ts"
import * as Decoder from "../../src/decoding/Decoder.ts"
import * as DeltaTemplate from "../../src/decoding/DeltaTemplate.ts"
import type { JsonObject } from "../../src/decoding/Json.ts"
import * as OpenAi from "../../src/openai/Response.ts"
import { decode, joined } from "../harness/Decode.ts"
import { anthropicMessages, openAiCompatible } from "../harness/Dialect.ts"
import { heapUsed } from "../harness/Heap.ts"

const idOf = (n: number) => `id${n}`

/** The machine's events when it decodes every frame, without a template. */
const thorough = (make: typeof OpenAi.make, frames: ReadonlyArray<JsonObject>) => {
  const machine = make(idOf)
  const out: Array<Provider.ProviderEvent> = []
  for (const frame of frames) machine.frame(frame, undefined, out)
  machine.finish(out)
  return joined(out)
}

const raw = (frame: JsonObject) => `data: ${JSON.stringify(frame)}\n\n`

const quick = (make: typeof OpenAi.make, frames: ReadonlyArray<JsonObject>) => {
  const { events } = decode(make(idOf), [frames.map(raw).join("")])
  // Each frame in a read of its own.
  const machine = make(idOf)
  const decoder = Decoder.make(machine, (data) => ({ reason: "unknown", message: data }))
  for (const frame of frames) decoder.feed([new TextEncoder().encode(raw(frame))])
  decoder.finish()
  expect(joined(decoder.take())).toEqual(joined(events))
  return joined(events)
}

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
    let template: DeltaTemplate.DeltaTemplate | undefined
    const machine = make(idOf)
    let taken = 0
    let deltas = 0
    for (const frame of dialect[kind].join("").match(/(?:.+\n)+\n/g) ?? []) {
      const [, data = "[DONE]"] = /^data: (\{.*)$/m.exec(frame) ?? []
      if (data === "[DONE]") continue
      const matched = template && DeltaTemplate.match(template, frame, 0, Infinity)
      const out: Array<Provider.ProviderEvent> = []
      machine.frame(JSON.parse(data), undefined, out)
      if (matched === undefined) template = DeltaTemplate.of(frame, out)
      else expect({ events: out, end: frame.length }).toEqual({ events: [matched.delta], end: matched.end })
      if (matched !== undefined) taken++
      deltas += out.filter((event) => event.type === `${kind}-delta`).length
    }
    expect(deltas).toBeGreaterThan(2)
    expect(taken).toBeGreaterThan(deltas / 2)
  })

  it("a frame is matched by its whole surroundings of text and padding, and by its name", () => {
    const plain = learned('event: delta\ndata: {"a":"x","b":1}\n\n', "x")
    const named = (data: string) => `event: delta\ndata: ${data}\n\n`
    expect(plain(named('{"a":"yes","b":1}'))).toBe("yes")
    expect(plain(named('{"a":"a text of more than \\u0031\\u0033","b":1}'))).toBe("a text of more than 13")
    expect(plain(named('{"a":"\\\"","b":1}'))).toBe('"')
    for (const frame of [
      'event: other\ndata: {"a":"yes","b":1}\n\n',
      'data: {"a":"yes","b":1}\n\n',
      'event: delta\ndata: {"a":"yes","b":1}\n',
      'event: delta\ndata: {"a":"yes","b":1}\ndata: \n\n',
      named('{"a":"yes","b":2}'),
      named('{"c":"yes","b":1}'),
      named('{"a":"yes","b":1} '),
      named('{"a":"","b":1}'),
      named('{"a":"\t","b":1}'),
      named('{"a":"\n","b":1}'),
      named('{"a":"\\x","b":1}'),
      named('{"a":"\\","b":1}'),
      named('{"a":"y","b":"n","b":1}'),
      named('{"a":"a long text","b":"another","b":1}'),
      named('{"a":"","b":1'),
      named('{"a":","b":1}'),
      ""
    ]) {
      expect(plain(frame), frame).toBeUndefined()
    }
    const padded = learned('data: {"a":"x","obfuscation":"pad","b":1}\n\n', "x")
    expect(padded('data: {"a":"yes","obfuscation":"","b":1}\n\n')).toBe("yes")
    expect(padded('data: {"a":"yes","obfuscation":"padpadpad","b":1}\n\n')).toBe("yes")
    for (const data of [
      '{"a":"yes","obfuscation":"pad","b":2}',
      '{"a":"yes","obfuscatiom":"pad","b":1}',
      '{"a":"yes","obfuscation":"pad","c":"","b":1}',
      '{"a":"yes","obfuscation":"pa\nd","b":1}',
      '{"a":"yes","obfuscation":"pa\\xd","b":1}',
      '{"a":"yes","obfuscation":"pa\\u00","b":1}',
      '{"a":"yes","obfuscation":"pa\\nd","b":1}',
      '{"a":"yes","b":1}',
      '{"c":"yes","obfuscation":"pad","b":1}'
    ]) {
      expect(padded(`data: ${data}\n\n`), data).toBeUndefined()
    }
  })

  it("a frame whose padding has an invalid escape fails, as it does for the parser", () => {
    const frame = (text: string, padding: string) =>
      `data: {"choices":[{"index":0,"delta":{"content":"${text}"}}],"obfuscation":"${padding}"}\n\n`
    for (const bad of ["pa\\xd", "\\u00"]) {
      const { events } = decode(OpenAi.make(idOf), [frame("a", "pad") + frame("b", "pa") + frame("c", bad)])
      expect(
        joined(events).map(({ type }) => type),
        bad
      ).toEqual(["text-delta", "error"])
      expect(events).toContainEqual({ type: "text-delta", delta: "b" })
    }
  })

  it("the frames of one text are one delta, up to the first that differs, is incomplete, or has too much text", () => {
    for (const padding of ["", ',"obfuscation":"pad"']) {
      const frame = (text: string) => `data: {"a":"${text}"${padding}}\n\n`
      const match = matching(DeltaTemplate.of(frame("x"), [{ type: "reasoning-delta", delta: "x" }]))
      const texts = ["a", "b\\n", "a text of more than 13", "d"]
      const frames = texts.map(frame).join("")
      const all = {
        delta: { type: "reasoning-delta", delta: texts.join("").replace("\\n", "\n") },
        end: frames.length + 1
      }
      expect(match(`\n${frames}`, 1, 100)).toEqual(all)
      for (const rest of ["data: [DONE]\n\n", frame("e").slice(0, -1), frame(""), frame("\n"), frame('","b":"'), "\n"])
        expect(match(`\n${frames}${rest}`, 1, 100), rest).toEqual(all)
      expect(match(frames, 0, 26)?.delta.delta).toBe("ab\na text of more than 13")
      expect(match(frames, 0, 25)?.delta.delta).toBe("ab\n")
      expect(match(frames, 0, 0)).toBeUndefined()
    }
  })

  it("a frame that contains its text twice, or not once, is not learned", () => {
    for (const frame of ['{"a":"x","b":"x"}', '{"a":["x"]}', '{"a":"y"}'])
      expect(learned(`data: ${frame}\n\n`, "x")(`data: ${frame}\n\n`), frame).toBeUndefined()
  })

  it("a change by a frame in between is not lost", () => {
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

  it("neither a delta nor a template keeps any part of its read alive", () => {
    const frame = (text: string) => `data: {"a":"${text}"}\n\n`
    const long = "x".repeat(16_000)
    const kept: Array<unknown> = []
    const before = heapUsed()
    for (let i = 0; i < 3_000; i++) {
      const learned = `${frame("Hi")}${long}`.slice(0, frame("Hi").length)
      const template = DeltaTemplate.of(learned, [{ type: "text-delta", delta: "Hi" }])
      kept.push(template, matching(template)(`${frame("y".repeat(12 + (i % 3)))}${long}`, 0, 100))
    }
    const after = heapUsed()
    expect(kept).not.toContain(undefined)
    // The reads have 48 million characters.
    expect(after - before).toBeLessThan(6_000_000)
  })

  it("a frame with more than its text is not learned: the next similar one may have more, too", () => {
    const frame = 'data: {"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1}}\n\n'
    const text = { type: "text-delta", delta: "a" } as const
    expect(DeltaTemplate.of(frame, [])).toBeUndefined()
    expect(DeltaTemplate.of(frame, [text, { type: "usage", usage: { inputTokens: 1 } }])).toBeUndefined()
    expect(matching(DeltaTemplate.of(frame, [text]))(frame, 0, 1)).toEqual({ delta: text, end: frame.length })
  })

  it("an escape that its frame cuts off is no half of a character", () => {
    const frame = (text: string) => `data: {"a":"${text}"}\n\n`
    const match = matching(DeltaTemplate.of(frame("x"), [{ type: "text-delta", delta: "x" }]))
    for (const cut of ["\\", "\\u", "\\u00", "\\u004"])
      expect(match(frame("a") + frame(cut) + frame("41") + frame("b"), 0, 100)?.delta.delta ?? "a", cut).toBe("a")
    expect(match(frame("\\ud83d") + frame("\\ude00"), 0, 100)?.delta.delta).toBe("\u{1f600}")
  })
})

const matching = (template: DeltaTemplate.DeltaTemplate | undefined) => (text: string, start: number, most: number) =>
  template && DeltaTemplate.match(template, text, start, most)

/** Matches a frame against a learned frame; returns its text. */
const learned = (frame: string, delta: string) => {
  const match = matching(DeltaTemplate.of(frame, [{ type: "text-delta", delta }]))
  return (text: string) => match(text, 0, Infinity)?.delta.delta
}
