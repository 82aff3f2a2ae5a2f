import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { TextBuffer } from "../src/calls/TextBuffer.ts"

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

/** Bytes that are in use. */
const heap = (): number => {
  collect()
  return process.memoryUsage().heapUsed
}

describe("TextBuffer", () => {
  it("holds all pieces in order, however often it is read in between", () => {
    const piece = fc.oneof(fc.string(), fc.constant(""), fc.constant(undefined))
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 2_000, size: "max" }), (pieces) => {
        const buffer = new TextBuffer()
        let expected = ""
        for (const piece of pieces) {
          if (piece === undefined) {
            assert.strictEqual(buffer.text(), expected) // read
          } else {
            buffer.append(piece)
            expected += piece
          }
          assert.strictEqual(buffer.length, expected.length)
        }
        assert.strictEqual(buffer.text(), expected)
      }),
      { numRuns: 20 }
    )
  })

  it("rule C11: a text that came character by character takes memory close to its own size", () => {
    const length = 2_000_000
    const before = heap()
    const buffer = new TextBuffer()
    for (let i = 0; i < length; i++) buffer.append(String.fromCharCode(97 + (i % 26)))
    // As a tree it would be some thirty times as much.
    assert.isBelow(heap() - before, 4 * length)
    assert.strictEqual(buffer.length, length)
  })
})
