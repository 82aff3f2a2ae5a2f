import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Anthropic from "../src/anthropic/Response.ts"
import * as Decoder from "../src/Decoder.ts"
import * as OpenAi from "../src/openai/Response.ts"
import { cutAt, decode } from "./harness/Decode.ts"
import { anthropicMessages, type Dialect, openAiCompatible } from "./harness/Dialect.ts"

const machines: ReadonlyArray<readonly [Dialect, typeof OpenAi.make]> = [
  [openAiCompatible, OpenAi.make],
  [anthropicMessages, Anthropic.make]
]
const recordings = ["text", "reasoning", "toolCall", "noArguments", "parallel"] as const
const idOf = (n: number) => `id${n}`

describe.each(machines)("Decoder", (dialect, make) => {
  it.each(recordings)(`${dialect.name}: any way of cutting the bytes of '%s' gives the same events`, (name) => {
    const bytes = new TextEncoder().encode(dialect[name].join(""))
    const expected = decode(make(idOf), [bytes])
    expect(expected.standing).toBe("finished")
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 40 }), (places) => {
        expect(decode(make(idOf), cutAt(bytes, places))).toEqual(expected)
      }),
      { numRuns: 100 }
    )
  })

  it.each(recordings)(
    `C6, C7: ${dialect.name}: '%s' cut at any byte finishes only if the model had stopped`,
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

  it(`C11: ${dialect.name}: a frame beyond the limit is refused before it fills the memory`, () => {
    const piece = `data: "${"x".repeat(Decoder.mostOfFrame(0) / 4)}`
    const { events } = decode(make(idOf), [piece, piece, piece, piece, piece])
    expect(events).toMatchObject([{ type: "error", failure: { reason: "invalid-response", retryable: false } }])
  })
})
