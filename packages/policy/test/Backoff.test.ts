import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Backoff } from "../src/index.ts"

const first = (schedule: Backoff.Schedule, count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, n) => Backoff.delayAt(schedule, n))

describe("Backoff", () => {
  it("rule D1: the overnight schedule is 5 s, 10 s, 30 s, 60 s, 5 min, 10 min, 15 min, 30 min, then 30 min again and again", () => {
    expect(first(Backoff.overnight, 12)).toEqual([
      5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 900_000, 1_800_000, 1_800_000, 1_800_000, 1_800_000, 1_800_000
    ])
    expect(Backoff.delayAt(Backoff.overnight, 1_000_000)).toBe(1_800_000)
  })

  it("rule P4: the interactive schedule is 2 s, 4 s, 8 s", () => {
    expect(first(Backoff.interactive, 3)).toEqual([2_000, 4_000, 8_000])
  })

  it("a tail of its own follows the steps", () => {
    expect(first(Backoff.steps([1_000, 2_000], 500), 4)).toEqual([1_000, 2_000, 500, 500])
  })

  it("a linear schedule adds its increment", () => {
    expect(first(Backoff.linear(1_000, 250), 4)).toEqual([1_000, 1_250, 1_500, 1_750])
  })

  it("an exponential schedule ends at a year instead of overflowing", () => {
    expect(Backoff.delayAt(Backoff.interactive, 10_000)).toBe(Backoff.LONGEST_MS)
    expect(Backoff.delayAt(Backoff.exponential(0, 10), 10_000)).toBe(0)
  })

  it("the sum before a retry is that of all delays before it", () => {
    expect(Backoff.sumBefore(Backoff.overnight, 0)).toBe(0)
    expect(Backoff.sumBefore(Backoff.overnight, 8)).toBe(3_705_000)
    expect(Backoff.sumBefore(Backoff.overnight, 21)).toBe(27_105_000)
  })

  it("delays are whole, finite and never negative, for any schedule and retry", () => {
    const schedule = fc.oneof(
      fc
        .tuple(fc.double({ min: 0, max: 1e18 }), fc.double({ min: 0, max: 1e6 }))
        .map(([b, f]) => Backoff.exponential(b, f)),
      fc
        .tuple(fc.double({ min: 0, max: 1e18 }), fc.double({ min: 0, max: 1e18 }))
        .map(([b, i]) => Backoff.linear(b, i)),
      fc
        .tuple(fc.double({ min: 0, max: 1e18 }), fc.double({ min: 0, max: 1e18 }))
        .map(([d, t]) => Backoff.steps([d], t))
    )
    fc.assert(
      fc.property(schedule, fc.nat(1_000_000), (schedule, n) => {
        const delay = Backoff.delayAt(schedule, n)
        expect(Number.isSafeInteger(delay)).toBe(true)
        expect(delay).toBeGreaterThanOrEqual(0)
        expect(delay).toBeLessThanOrEqual(Backoff.LONGEST_MS)
      }),
      { numRuns: 2_000 }
    )
  })
})
