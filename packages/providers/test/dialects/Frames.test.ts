import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Frames from "../../src/dialects/Frames.ts"
import { cutAt } from "../harness/Decode.ts"
import { decode, encode } from "../harness/WireFormats.ts"

const texts = (splitter: Frames.Splitter, reads: ReadonlyArray<Uint8Array>) => {
  const frames = reads.flatMap((read) => splitter.feed(read))
  const rest = splitter.rest()
  return [...frames, ...(rest === undefined ? [] : [rest])].map(({ bytes, data, event }) => ({
    text: decode([bytes]),
    data,
    event
  }))
}

const line = fc.constantFrom("data: {}", "data:Grüße 🌙", "event: ping", ": comment", "id: 7", "", "", "data: [1,", "x")
const end = fc.constantFrom("\n", "\r\n", "\r")

describe("Frames of events", () => {
  it("a frame ends with its blank line, and keeps its bytes, for any line end", () => {
    for (const end of ["\n", "\r\n", "\r"]) {
      const frames = [`event: a${end}data: 1${end}${end}`, `: ping${end}${end}`, `data: 2${end}data: 3${end}${end}`]
      expect(texts(Frames.ofEvents(), [encode(frames.join(""))])).toEqual([
        { text: frames[0], data: "1", event: "a" },
        { text: frames[1], data: undefined, event: undefined },
        { text: frames[2], data: "2\n3", event: undefined }
      ])
    }
  })

  it("a byte order mark stays in the bytes and is not in the data", () => {
    expect(texts(Frames.ofEvents(), [encode("\uFEFFdata: 1\n\n")])).toEqual([
      { text: "\uFEFFdata: 1\n\n", data: "1", event: undefined }
    ])
  })

  it("what the end of the body cuts off is the rest", () => {
    const splitter = Frames.ofEvents()
    expect(splitter.feed(encode("data: 1\n\ndata: 2\n")).map(({ data }) => data)).toEqual(["1"])
    expect(splitter.held()).toBe(8)
    expect(splitter.rest()).toMatchObject({ data: "2" })
    expect(splitter.rest()).toBeUndefined()
  })

  it("Frames.F1, Frames.F2: any way of cutting gives the same frames, and all bytes", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(line, end), { maxLength: 30 }),
        fc.array(fc.nat(), { maxLength: 20 }),
        (lines, cuts) => {
          const text = lines.map(([line, end]) => line + end).join("")
          const whole = texts(Frames.ofEvents(), [encode(text)])
          expect(texts(Frames.ofEvents(), cutAt(encode(text), cuts))).toEqual(whole)
          expect(whole.map(({ text }) => text).join("")).toBe(text)
        }
      )
    )
  })

  it("an LF after a CR that ended a read belongs to the same line end", () => {
    expect(texts(Frames.ofEvents(), [encode("data: 1\r\n\r"), encode("\ndata: 2\r\n\r\n")])).toEqual([
      { text: "data: 1\r\n\r\n", data: "1", event: undefined },
      { text: "data: 2\r\n\r\n", data: "2", event: undefined }
    ])
  })
})

describe("Frames of an array", () => {
  it("each element is a frame, with the brackets and commas before it", () => {
    expect(texts(Frames.ofArray(), [encode('[{"a":"]\\"}"}\r\n,\r\n{"b":[1,{}]}\n]\n')])).toEqual([
      { text: '[{"a":"]\\"}"}', data: '{"a":"]\\"}"}', event: undefined },
      { text: '\r\n,\r\n{"b":[1,{}]}', data: '{"b":[1,{}]}', event: undefined },
      { text: "\n]\n", data: undefined, event: undefined }
    ])
  })

  it("Frames.F1, Frames.F2: any way of cutting gives the same elements, and all bytes", () => {
    fc.assert(
      fc.property(fc.array(fc.object(), { maxLength: 6 }), fc.array(fc.nat(), { maxLength: 20 }), (objects, cuts) => {
        const text = JSON.stringify(objects, undefined, 1)
        const whole = texts(Frames.ofArray(), [encode(text)])
        expect(texts(Frames.ofArray(), cutAt(encode(text), cuts))).toEqual(whole)
        expect(whole.map(({ text }) => text).join("")).toBe(text)
        const elements = whole.flatMap(({ data }) => (data === undefined ? [] : [JSON.parse(data)]))
        expect(elements).toEqual(JSON.parse(text))
      })
    )
  })
})
