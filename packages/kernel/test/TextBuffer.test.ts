import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { TextBuffer } from "../src/TextBuffer.ts"

describe("TextBuffer", () => {
  it("holds what was appended, in order, however often it is read in between", () => {
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
})
