import { Sse, type TurnEvent } from "@holdfast/wire"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { type SseFrame, SseReader } from "../../src/transport/HttpTransport.ts"
import { conversation } from "../GeneratedConversation.ts"

/** The frames of a text that arrives in pieces. */
const framesOf = (text: string, cuts: ReadonlyArray<number>): ReadonlyArray<SseFrame> => {
  const reader = new SseReader()
  const at = [...cuts.map((cut) => cut % (text.length + 1)), 0, text.length].sort((a, b) => a - b)
  return at.slice(1).flatMap((end, i) => reader.push(text.slice(at[i], end)))
}

describe("SseReader", () => {
  it("reads what the service writes, wherever it is cut", () => {
    fc.assert(
      fc.property(conversation, fc.array(fc.nat()), fc.boolean(), (frames, cuts, isQuiet) => {
        const text = frames.map(({ event, id }) => (isQuiet ? Sse.KEEP_ALIVE : "") + Sse.encode(event, id)).join("")
        const read = framesOf(text, cuts)
        assert.deepStrictEqual(
          read.map(({ data, id }) => ({
            id: id === undefined ? undefined : Number(id),
            event: JSON.parse(data) as TurnEvent.TurnEvent
          })),
          frames
        )
      })
    )
  })

  it("reads the same frames for every end of a line", () => {
    const text = ': hello\nevent: reconnect\ndata: {"a":\ndata: 1}\n\nid: 4\ndata:x\n\nevent: lost\n\ndata: cut'
    const expected = [
      { name: "reconnect", id: undefined, data: '{"a":\n1}' },
      { name: undefined, id: "4", data: "x" }
    ]
    fc.assert(
      fc.property(fc.constantFrom("\n", "\r\n", "\r"), fc.array(fc.nat()), (end, cuts) => {
        assert.deepStrictEqual(framesOf(text.replaceAll("\n", end), cuts), expected)
      })
    )
  })
})
