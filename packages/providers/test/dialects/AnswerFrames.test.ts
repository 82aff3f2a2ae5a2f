import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as AnswerFrames from "../../src/dialects/AnswerFrames.ts"
import { cutAt } from "../harness/Decode.ts"
import { encode } from "../harness/WireFormats.ts"

const frames = (splitter: AnswerFrames.Splitter, reads: ReadonlyArray<Uint8Array>) => [
  ...reads.flatMap((read) => splitter.feed(read)),
  ...splitter.rest()
]

const line = fc.constantFrom("data: {}", "data:Grüße 🌙", "event: ping", ": comment", "id: 7", "", "", "data: [1,", "x")
const end = fc.constantFrom("\n", "\r\n", "\r")

describe("Frames of events", () => {
  it("a frame ends with its blank line, for any line end, and a comment is none", () => {
    for (const end of ["\n", "\r\n", "\r"]) {
      const text = `\uFEFFevent: a${end}data: 1${end}${end}: ping${end}${end}data: 2${end}data: 3${end}${end}`
      expect(frames(AnswerFrames.ofEvents(), [encode(text)])).toEqual([
        { data: "1", event: "a" },
        { data: "2\n3", event: undefined }
      ])
    }
  })

  it("what the end of the body cuts off is the rest", () => {
    const splitter = AnswerFrames.ofEvents()
    expect(splitter.feed(encode("data: 1\n\ndata: 2\n"))).toMatchObject([{ data: "1" }])
    expect(splitter.rest()).toMatchObject([{ data: "2" }])
    expect(splitter.rest()).toEqual([])
  })

  it("any way of cutting gives the same frames", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(line, end), { maxLength: 30, size: "max" }),
        fc.array(fc.nat(), { maxLength: 20, size: "max" }),
        (lines, cuts) => {
          const text = encode(lines.map(([line, end]) => line + end).join(""))
          expect(frames(AnswerFrames.ofEvents(), cutAt(text, cuts))).toEqual(frames(AnswerFrames.ofEvents(), [text]))
        }
      )
    )
  })
})

describe("Frames of an array", () => {
  it("each element is a frame, without the brackets and commas around it", () => {
    expect(frames(AnswerFrames.ofArray(), [encode('[{"a":"]\\"}"}\r\n,\r\n{"b":[1,{}]}\n]\n')])).toEqual([
      { data: '{"a":"]\\"}"}', event: undefined },
      { data: '{"b":[1,{}]}', event: undefined }
    ])
    expect(frames(AnswerFrames.ofArray(), [encode('[{"a":1},{"b"')])).toMatchObject([
      { data: '{"a":1}' },
      { data: '{"b"' }
    ])
  })

  it("any way of cutting gives the same elements", () => {
    fc.assert(
      fc.property(
        fc.array(fc.object(), { maxLength: 6 }),
        fc.array(fc.nat(), { maxLength: 20, size: "max" }),
        (objects, cuts) => {
          const text = JSON.stringify(objects, undefined, 1)
          const elements = frames(AnswerFrames.ofArray(), cutAt(encode(text), cuts)).map(({ data }) => JSON.parse(data))
          expect(elements).toEqual(JSON.parse(text))
        }
      )
    )
  })
})
