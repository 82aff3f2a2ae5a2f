import { describe, expect, it } from "@effect/vitest"
import type { Frame } from "../../src/engine/conversation/Conversations.ts"
import * as Frames from "../../src/cluster/Frames.ts"
import * as NumberedData from "../storage/NumberedData.ts"

const frameOf = (event: Frame["event"], id?: number): Frame => ({ event, json: JSON.stringify(event), id })

const delta = {
  type: "text-delta" as const,
  conversationId: NumberedData.conversationId(1),
  turnId: NumberedData.turnId(1),
  delta: '"quoted", \u{1f6f6}, line\nbreak'
}

describe("Frames", () => {
  it("come out of a batch as they went in, in order", () => {
    const frames = [frameOf(delta), frameOf(NumberedData.message(1, 1, 1), 4), frameOf(NumberedData.end(1, 1), 5)]
    const arrived = Frames.fromBatch(Frames.toBatch(frames))
    expect(arrived.map(({ event, id, json }) => ({ event, id, json }))).toEqual(frames)
    expect(arrived.map(Frames.isEnd)).toEqual([false, false, true])
  })

  it("are passed on without being read", () => {
    const [frame] = Frames.fromBatch([["no event at all", null]])
    expect(frame?.json).toBe("no event at all")
    expect(() => frame?.event).toThrow()
    // Only persisted events end a turn, and the others are many.
    expect(frame && Frames.isEnd(frame)).toBe(false)
  })

  it("the words of a model about an end are no end", () => {
    expect(Frames.isEnd(frameOf({ ...delta, delta: '{"type":"turn-end"}' }))).toBe(false)
  })
})
