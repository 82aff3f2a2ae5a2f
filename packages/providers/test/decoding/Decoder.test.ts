import { describe, expect, it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import * as fc from "fast-check"
import * as Anthropic from "../../src/anthropic/Response.ts"
import * as Decoder from "../../src/decoding/Decoder.ts"
import * as OpenAi from "../../src/openai/Response.ts"
import * as Decode from "../harness/Decode.ts"
import { cutAt } from "../harness/Decode.ts"
import { anthropicMessages, type Dialect, openAiCompatible } from "../harness/Dialect.ts"

const machines: ReadonlyArray<readonly [Dialect, typeof OpenAi.make]> = [
  [openAiCompatible, OpenAi.make],
  [anthropicMessages, Anthropic.make]
]
const recordings = ["text", "reasoning", "toolCall", "noArguments", "parallel"] as const
const decode = (...response: Parameters<typeof Decode.decode>) => {
  const { events, standing } = Decode.decode(...response)
  return { events: Decode.joined(events), standing }
}
const idOf = (n: number) => `id${n}`

const characters = (events: ReadonlyArray<Provider.ProviderEvent>) =>
  events.reduce((sum, event) => sum + ("delta" in event ? event.delta.length : 0), 0)

describe.each(machines)("Decoder", (dialect, make) => {
  it.each(recordings)(`${dialect.name}: any way of cutting the bytes of '%s' gives the same events`, (name) => {
    const bytes = new TextEncoder().encode(dialect[name].join(""))
    const expected = decode(make(idOf), [bytes])
    expect(expected.standing).toBe("finished")
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 40, size: "max" }), (places) => {
        expect(decode(make(idOf), cutAt(bytes, places))).toEqual(expected)
      }),
      { numRuns: 100 }
    )
  })

  it.each(recordings)(
    `rule C6, C7: ${dialect.name}: '%s' cut at any byte finishes only if the model had stopped`,
    (name) => {
      const bytes = new TextEncoder().encode(dialect[name].slice(-6).join(""))
      const whole = decode(make(idOf), [bytes]).events
      for (let end = 0; end < bytes.length; end++) {
        const { events, standing } = decode(make(idOf), [bytes.subarray(0, end)])
        expect(standing).not.toBe("failed")
        if (standing === "open") expect(events.some((event) => event.type === "finish")).toBe(false)
        for (const event of events) if (event.type === "tool-call") expect(whole).toContainEqual(event)
      }
    }
  )

  it(`rule C11: ${dialect.name}: a response stays within its limit or fails, however it is cut, and emits nothing beyond it`, () => {
    const [first, next] = dialect.endlessCall('{"x":1}')
    const frame = fc.oneof(
      fc.integer({ min: 1, max: 40 }).map((length) => dialect.delta("x".repeat(length))),
      fc.constantFrom(first, next, dialect.ping, ...dialect.reasoning.slice(0, 6))
    )
    const stream = fc.array(frame, { maxLength: 30, size: "max" }).map((frames) => frames.join(""))
    fc.assert(
      fc.property(stream, fc.nat(600), fc.array(fc.nat(3000), { maxLength: 10 }), (stream, most, places) => {
        const bytes = new TextEncoder().encode(stream)
        const unlimited = make(idOf)
        const whole = decode(unlimited, [bytes])
        const limited = decode(make(idOf), [bytes], most)
        expect(decode(make(idOf), cutAt(bytes, places), most)).toEqual(limited)
        const isBeyond = characters(whole.events) + unlimited.kept() > most
        expect(limited.standing).toBe(isBeyond ? "failed" : whole.standing)
        expect(characters(limited.events)).toBeLessThanOrEqual(most)
        if (isBeyond) expect(limited.events.at(-1)).toMatchObject({ failure: { retryable: false } })
        else expect(limited).toEqual(whole)
      }),
      { numRuns: 200 }
    )
  })

  it(`rule C11: ${dialect.name}: a response of exactly its limit is whole, in a stream and in one document`, () => {
    const frames = fc.array(
      fc.oneof(
        fc.integer({ min: 1, max: 40 }).map((length) => dialect.delta("x".repeat(length))),
        fc.constantFrom(...dialect.endlessCall('{"x":1}'), ...dialect.reasoning.slice(0, 6))
      ),
      { minLength: 1, maxLength: 12 }
    )
    fc.assert(
      fc.property(frames, (frames) => {
        const machine = make(idOf)
        const whole = decode(machine, frames)
        const size = characters(whole.events) + machine.kept()
        expect(decode(make(idOf), frames, size)).toEqual(whole)
        if (size > 0) expect(decode(make(idOf), frames, size - 1).standing).toBe("failed")
      })
    )
    const documentOf = (most?: number) => {
      const machine = make(idOf)
      const decoder = Decoder.make(machine, (message) => ({ reason: "unknown", message }), most)
      expect(decoder.whole(dialect.whole())).toBe(true)
      return { standing: decoder.standing(), events: decoder.take(), kept: machine.kept() }
    }
    const whole = documentOf()
    const size = characters(whole.events) + whole.kept
    expect(documentOf(size)).toEqual(whole)
    expect(documentOf(size - 1)).toMatchObject({
      standing: "failed",
      events: expect.arrayContaining([
        { type: "error", failure: expect.objectContaining({ reason: "invalid-response", retryable: false }) }
      ])
    })
  })

  it(`rule C11: ${dialect.name}: a frame may have 16 Mi characters, and a line that long may be under way, but not one more`, () => {
    const most = 16 * 1024 * 1024
    const frame = (length: number) => `{"type":"ping","x":"${"x".repeat(length - 22)}"}`
    expect(decode(make(idOf), [`data: ${frame(most)}\n\n`])).toEqual({ standing: "open", events: [] })
    expect(decode(make(idOf), [`data: ${frame(most + 1)}\n\n`], 5).standing).toBe("failed")
    const decoder = Decoder.make(make(idOf), (message) => ({ reason: "unknown", message }), 5)
    decoder.feed([new TextEncoder().encode("x".repeat(most))])
    expect(decoder.standing()).toBe("open")
    decoder.feed([new TextEncoder().encode("x")])
    expect(decoder.standing()).toBe("failed")
    expect(Decoder.mostOfFrame(most + 1)).toBe(most + 1)
  })

  it(`rule C11: ${dialect.name}: a long frame may have ten thousand levels, and not one more; a short one is parsed as it is`, () => {
    const frame = (levels: number, length: number) => {
      const nested = `${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}`
      return `data: {"type":"ping","x":${nested}${" ".repeat(Math.max(0, length - 20 - nested.length))}}\n\n`
    }
    const standing = (levels: number, length: number) => decode(make(idOf), [frame(levels, length)]).standing
    expect(standing(10_000, 100_000)).toBe("open")
    expect(standing(10_001, 100_000)).toBe("failed")
    expect(standing(20_000, 65_536)).toBe("open")
    expect(standing(20_000, 65_537)).toBe("failed")
    const document = frame(10_001, 100_000).slice("data: ".length)
    expect(Decoder.make(make(idOf), (message) => ({ reason: "unknown", message })).whole(document)).toBe(false)
  })

  it(`${dialect.name}: bytes after the terminal frame are not kept, however many there are`, () => {
    const last = dialect.text.slice(-3).join("")
    const decoder = Decoder.make(make(idOf), (message) => ({ reason: "unknown", message }))
    decoder.feed([new TextEncoder().encode(last), new TextEncoder().encode("x".repeat(Decoder.mostOfFrame(0) + 1))])
    expect(decoder.standing()).toBe("finished")
    expect(decoder.take().map((event) => event.type)).not.toContain("error")
  })

  it(`${dialect.name}: nothing is read after an error, in one read or in the next`, () => {
    const text = dialect.delta("no")
    for (const reads of [[dialect.error + text], [dialect.error, text], [dialect.error, text, text]]) {
      const { events, standing } = decode(make(idOf), reads)
      expect(standing).toBe("failed")
      expect(events.map((event) => event.type)).toEqual(["error"])
    }
  })

  it(`rule C3: ${dialect.name}: a frame that is no object is an error, unless the end of the body cut it off`, () => {
    for (const frame of ["1", "[]", '"a"', "null", "oops", '{"half":']) {
      expect(decode(make(idOf), [`data: ${frame}\n\n`]).standing, frame).toBe("failed")
      expect(decode(make(idOf), [`data: ${frame}`]), frame).toEqual({ standing: "open", events: [] })
    }
    const named = decode(make(idOf), ['event: error\ndata: {"message":"cut"}'])
    expect(named).toMatchObject({ standing: "failed", events: [{ failure: { message: '{"message":"cut"}' } }] })
  })

  it(`rule C11: ${dialect.name}: a frame of a million levels is refused without being parsed`, () => {
    for (const levels of [1_000_000, 8_000_000]) {
      const { events, standing } = decode(make(idOf), [`data: ${"[".repeat(levels)}${"]".repeat(levels)}\n\n`])
      expect(standing).toBe("failed")
      expect(events).toMatchObject([{ type: "error", failure: { reason: "invalid-response", retryable: false } }])
    }
  })

  it(`rule C11: ${dialect.name}: a frame beyond the limit is refused before it fills the memory`, () => {
    const piece = `data: "${"x".repeat(Decoder.mostOfFrame(0) / 4)}`
    const decoder = Decoder.make(make(idOf), (message) => ({ reason: "unknown", message }))
    for (let i = 0; i < 5; i++) decoder.feed([new TextEncoder().encode(piece)])
    // Before its end, which may never arrive.
    expect(decoder.standing()).toBe("failed")
    const events = decoder.take()
    expect(events).toMatchObject([{ type: "error", failure: { reason: "invalid-response", retryable: false } }])
  })
})
