import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type SplitLine, LineSplitter } from "../../src/rpc/LineSplitter.ts"

const encoder = new TextEncoder()

/** The lines of bytes that arrive in pieces of these lengths, again and again. */
const split = (bytes: Uint8Array, lengths: ReadonlyArray<number>, most = 1_000): ReadonlyArray<SplitLine> => {
  const splitter = new LineSplitter(most)
  const lines: Array<SplitLine> = []
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const length = lengths[n % lengths.length] ?? 1
    // A copy, as a stream's buffer is used again.
    const piece = Uint8Array.from(bytes.subarray(at, at + length))
    lines.push(...splitter.push(piece))
    piece.fill(0)
    at += length
  }
  return [...lines, ...splitter.end()]
}

const text = (text: string): SplitLine => ({ _tag: "Text", text })

const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 })

describe("lines", () => {
  it("rule P16: are the same wherever their bytes are cut, whatever ends them", () => {
    const given = fc.record({
      texts: fc.array(
        fc.string({ unit: fc.constantFrom("a", "ß", "🙂", "\u2028", "\u2029", "\u0085", "\r", '"', "{") }).map(
          // A carriage return before the line feed belongs to the end.
          (text) => text.replace(/\r+$/, "")
        )
      ),
      end: fc.constantFrom("\n", "\r\n"),
      lengths: cuts
    })
    fc.assert(
      fc.property(given, ({ end, lengths, texts }) => {
        const bytes = encoder.encode(texts.map((text) => `${text}${end}`).join(""))
        expect(split(bytes, lengths)).toEqual(texts.map(text))
      })
    )
  })

  it("rule P16: of garbage are a line each, and the cuts change nothing", () => {
    const given = fc.record({
      bytes: fc.uint8Array({ maxLength: 300 }),
      lengths: cuts,
      most: fc.integer({ min: 1, max: 60 })
    })
    fc.assert(
      fc.property(given, ({ bytes, lengths, most }) => {
        const whole = split(bytes, [1_000], most)
        expect(split(bytes, lengths, most)).toEqual(whole)
        const feeds = bytes.filter((byte) => byte === 10).length
        const hasRest = bytes.length > 0 && bytes.at(-1) !== 10
        expect(whole).toHaveLength(feeds + (hasRest ? 1 : 0))
      })
    )
  })

  it("rule P16: may have the most bytes, and not one more; the line after that is whole", () => {
    for (const lengths of [[1], [7], [1_000]]) {
      expect(split(encoder.encode(`${"a".repeat(10)}\r\n${"b".repeat(11)}\nc\n`), lengths, 10)).toEqual([
        text("a".repeat(10)),
        { _tag: "TooLong" },
        text("c")
      ])
    }
  })

  it("rule P16: without an end are taken at the end of the bytes", () => {
    expect(split(encoder.encode("one\ntwo"), [2])).toEqual([text("one"), text("two")])
    expect(split(encoder.encode("a".repeat(20)), [2], 10)).toEqual([{ _tag: "TooLong" }])
    expect(split(encoder.encode("one\n"), [2])).toEqual([text("one")])
  })

  it("rule P16: that are no UTF-8 are refused as a whole", () => {
    expect(split(Uint8Array.of(0x61, 0xff, 0x0a, 0x62, 0x0a), [1])).toEqual([{ _tag: "NotUtf8" }, text("b")])
  })
})

it("rule P16: the memory of a line that never ends is bounded", () => {
  const splitter = new LineSplitter(1_000)
  const piece = new Uint8Array(10_000).fill(97)
  for (let n = 0; n < 100; n++) splitter.push(piece)
  const { buffer } = splitter as unknown as { readonly buffer: Uint8Array }
  expect(buffer.length).toBeLessThanOrEqual(1_001)
})
