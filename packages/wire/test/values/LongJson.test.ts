import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import * as LongJson from "../../src/values/LongJson.ts"

/** Texts with surrogate pairs, halves of pairs and characters that JSON escapes. */
const text = fc.string({
  unit: fc.constantFrom("a", '"', "\\", "\n", "é", "\u{1f600}", "\ud83d", "\ude00"),
  maxLength: 40
})

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(text, fc.oneof(tie("value"), fc.constant(undefined)), { maxKeys: 4 })
  )
}))

describe("LongJson", () => {
  it("pieces of any length together equal JSON.stringify", () => {
    fc.assert(
      fc.property(value, fc.integer({ min: 1, max: 60 }), (value, most) => {
        assert.strictEqual([...LongJson.pieces(value, most)].join(""), JSON.stringify(value))
      }),
      { numRuns: 500 }
    )
  })

  it("no piece is much longer than the limit, and a short value is one piece", () => {
    const long = { a: "x".repeat(1_000), list: Array.from({ length: 100 }, (_, i) => `${i} ${"y".repeat(30)}`) }
    for (const piece of LongJson.pieces(long, 50)) assert.isAtMost(piece.length, 100)
    assert.deepStrictEqual([...LongJson.pieces({ a: [1, "b"] })], ['{"a":[1,"b"]}'])
  })

  it.live("other fibers run while a long text is written", () =>
    Effect.gen(function* () {
      const value = ["x".repeat(4_000_000)]
      let turns = 0
      let next = setImmediate(function count() {
        turns++
        next = setImmediate(count)
      })
      assert.strictEqual(yield* LongJson.stringify(value), JSON.stringify(value))
      clearImmediate(next)
      assert.isAbove(turns, 8)
    })
  )
})
