import { expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { Frame } from "../../src/engine/conversation/Conversations.ts"
import * as EventStreams from "../../src/http/EventStreams.ts"
import * as Events from "./Events.ts"
import * as Law from "../Law.ts"

/** The texts of frames, as RFC 6455 section 5.2 describes them. */
const decoded = (bytes: Buffer): ReadonlyArray<string> => {
  const texts: Array<string> = []
  for (let at = 0; at < bytes.length;) {
    expect(bytes[at]).toBe(0x81)
    const short = bytes.readUInt8(at + 1)
    const [head, length] =
      short < 126
        ? [2, short]
        : short === 126
          ? [4, bytes.readUInt16BE(at + 2)]
          : [10, Number(bytes.readBigUInt64BE(at + 2))]
    texts.push(bytes.toString("utf8", at + head, at + head + length))
    at += head + length
  }
  return texts
}

it("every message is one frame, whatever its length and its characters", () => {
  const message = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.constantFrom(125, 126, 127, 65_535, 65_536, 70_000).map((length) => "x".repeat(length)),
    fc.constantFrom(62, 63, 32_767, 32_768).map((length) => "é".repeat(length))
  )
  Law.holds([fc.array(message, { maxLength: 5 })], (messages) => {
    expect(decoded(EventStreams.ofMessages(messages))).toEqual(messages)
  })
})

const { delta, end } = Events.of("c", "t")

const framesOf = (): ReadonlyArray<Frame> =>
  [delta("a"), end].map((event, i) => ({ event, json: JSON.stringify(event), id: i === 0 ? undefined : 41 }))

it("all subscribers of the same long events get the same buffer", () => {
  const [frame] = framesOf()
  if (frame === undefined) return expect.unreachable()
  const shared = [{ ...frame, json: JSON.stringify({ type: "text-delta", delta: "x".repeat(100_000) }) }]
  expect(EventStreams.messages(shared)).toBe(EventStreams.messages(shared))
  expect(EventStreams.sse.encode(shared)).toBe(EventStreams.sse.encode(shared))
  expect(EventStreams.sse.encode(shared)).toSatisfy(Buffer.isBuffer)
  expect(String(EventStreams.sse.encode(shared))).toContain("x".repeat(100_000))
})
