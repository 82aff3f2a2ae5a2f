import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as SseParser from "../../src/decoding/SseParser.ts"
import { cutAt } from "../harness/Decode.ts"

type Frame = readonly [data: string, event: string | undefined]

const read = (reads: ReadonlyArray<Uint8Array>): ReadonlyArray<Frame> => {
  const frames: Array<Frame> = []
  const stream = SseParser.make((data, event) => frames.push([data, event]))
  for (const bytes of reads) stream.feed(bytes)
  stream.end()
  return frames
}

const bytes = (text: string) => new TextEncoder().encode(text)

describe("SseParser", () => {
  it("frames end at a blank line, with any line end", () => {
    for (const end of ["\n", "\r\n", "\r"]) {
      const text = ["event: a", "data: 1", "", ": comment", "data:2", "data: 3", "id: 7", "retry: 5", "", ""].join(end)
      expect(read([bytes(text)])).toEqual([
        ["1", "a"],
        ["2\n3", undefined]
      ])
    }
  })

  it("a frame of many lines leaves nothing to the next", () => {
    expect(read([bytes("data: 1\ndata: 2\n\ndata: 3\n\ndata: 4\ndata: 5\n\n")])).toEqual([
      ["1\n2", undefined],
      ["3", undefined],
      ["4\n5", undefined]
    ])
  })

  it("a byte order mark at the start is dropped, and one space after the colon", () => {
    expect(read([bytes("\uFEFFdata:  x\n\n")])).toEqual([[" x", undefined]])
  })

  it("a field without a colon is empty, and a field with a longer name is another field", () => {
    expect(read([bytes("data\n\ndatabase: x\n\nevents: y\ndata: z\n\n")])).toEqual([
      ["", undefined],
      ["z", undefined]
    ])
  })

  it("a name without data is no frame, and does not name the next one", () => {
    expect(read([bytes("event: a\n\ndata: 1\n\n")])).toEqual([["1", undefined]])
  })

  it("rule C3: a line that begins with error: is a frame of that name, in a frame or out of it", () => {
    expect(read([bytes('data: 1\n\nerror: {"code":500}\n\ndata: 2\n\n')])).toEqual([
      ["1", undefined],
      ['{"code":500}', "error"],
      ["2", undefined]
    ])
    expect(read([bytes("errors: x\nerror:y\nerror\ndata: 1")])).toEqual([
      ["y", "error"],
      ["1", undefined]
    ])
  })

  it("a frame of one read has its text, and what begins where a frame may begin can be read by another reader", () => {
    const got: Array<readonly [data: string, raw: string]> = []
    const asked: Array<string> = []
    const stream = SseParser.make(
      (data, _event, raw) => got.push([data, raw]),
      (text, start) => {
        asked.push(text.slice(start))
        return text.startsWith("skipped\n", start) ? start + "skipped\n".length : start
      }
    )
    for (const read of ["skipped\nevent: x\r\ndata: 1\r\n\r\nskipped\n", "data: 2\n", "data: 3\n\ndat", "a: 4\n\n"])
      stream.feed(bytes(read))
    expect(got).toEqual([
      ["1", "event: x\ndata: 1\n\n"],
      ["2\n3", ""],
      ["4", ""]
    ])
    expect(asked).toEqual(["skipped\nevent: x\ndata: 1\n\nskipped\n", "skipped\n", "data: 2\n", "dat", ""])
  })

  it("characters of an incomplete frame are counted, for many lines and for many reads", () => {
    const stream = SseParser.make(() => {})
    stream.feed(bytes("data:\n".repeat(1_000)))
    expect(stream.held()).toBe(999)
    for (let i = 0; i < 500; i++) stream.feed(bytes("x"))
    expect(stream.held()).toBe(999 + 500)
  })

  it("a frame that the end cuts off is passed on", () => {
    expect(read([bytes("data: 1\n\ndata: 2")])).toEqual([
      ["1", undefined],
      ["2", undefined]
    ])
  })

  it("an incomplete frame is counted, so that it can be limited", () => {
    const stream = SseParser.make(() => {})
    stream.feed(bytes("data: 12345\ndata: 678"))
    expect(stream.held()).toBe(5 + 9)
  })

  it("any way of cutting the same bytes into reads gives the same frames", () => {
    const line = fc.oneof(
      fc.constantFrom("", "", "data: {}", "data:", "data", "event: x", ": ping", "id: 3", "other: y"),
      fc.string({ unit: "grapheme", maxLength: 12 }).map((text) => `data: ${text.replace(/[\r\n]/g, "")}`)
    )
    const text = fc
      .array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\r")), { maxLength: 30, size: "max" })
      .map((lines) => lines.map(([line, end]) => line + end).join(""))
    fc.assert(
      fc.property(text, fc.array(fc.nat(400), { maxLength: 20, size: "max" }), (text, places) => {
        const cut = cutAt(bytes(text), places)
        expect(read(cut)).toEqual(read([bytes(text)]))
        // An empty read changes nothing; a CR before it may still be followed by its LF.
        expect(read(cut.flatMap((piece) => [piece, new Uint8Array()]))).toEqual(read([bytes(text)]))
      }),
      { numRuns: 500 }
    )
  })
})
