import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import * as ClockSkew from "../../src/stream/ClockSkew.ts"

/** A response whose `Date` was written some time between request and response, rounded down to a second. */
const response = fc.record({ at: fc.nat(1_000_000), there: fc.nat(400), back: fc.nat(400) })

describe("ClockSkew", () => {
  it("corrects a clock that is wrong to within a second and the way of a response, and never a clock that is right", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -9_000_000, max: 9_000_000 }),
        fc.array(response, { minLength: 1 }),
        (skew, all) => {
          let known = ClockSkew.unknown
          for (const { at, back, there } of all) {
            const from = Math.floor((at + there + skew) / 1_000) * 1_000
            known = ClockSkew.observed(known, { from, to: from + 1_000, sentAt: at, receivedAt: at + there + back })
          }
          const estimate = ClockSkew.estimate(known)
          assert.isAtMost(Math.abs(estimate), Math.abs(skew))
          assert.isAtMost(Math.abs(estimate - skew), 1_000 + 800)
        }
      )
    )
  })

  it("begins anew when a clock was set", () => {
    const of = (from: number, at: number) => ({ from, to: from + 1_000, sentAt: at, receivedAt: at + 10 })
    const known = ClockSkew.observed(ClockSkew.unknown, of(50_000, 10_000))
    assert.strictEqual(ClockSkew.estimate(known), 39_990)
    assert.strictEqual(ClockSkew.estimate(ClockSkew.observed(known, of(20_000, 20_000))), 0)
  })

  it("reads no time from a header that has none", () => {
    assert.strictEqual(ClockSkew.ofDate(null, 0, 1), undefined)
    assert.strictEqual(ClockSkew.ofDate("tomorrow", 0, 1), undefined)
    assert.strictEqual(ClockSkew.ofDate("Thu, 01 Jan 1970 00:00:05 GMT", 0, 1)?.from, 5_000)
  })
})
