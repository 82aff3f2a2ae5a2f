import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Budget } from "../src/index.ts"

const hour = 3_600_000
const strict: Budget.WaitBudget = { totalMs: 8 * hour, measure: "scheduled", clip: false }
const clipping: Budget.WaitBudget = { ...strict, clip: true }

describe("Budget", () => {
  it("rule D2: by default it counts scheduled sleep, by wall-clock the time since the first failure", () => {
    const spent = { sleptMs: hour, elapsedMs: 3 * hour }
    expect(Budget.overnight.measure).toBe("scheduled")
    expect(Budget.remainingMs(strict, spent)).toBe(7 * hour)
    expect(Budget.remainingMs({ ...strict, measure: "wall-clock" }, spent)).toBe(5 * hour)
  })

  it("the rest is never negative, and without a total it is unlimited", () => {
    expect(Budget.remainingMs(strict, { sleptMs: 9 * hour, elapsedMs: 0 })).toBe(0)
    expect(Budget.remainingMs(Budget.unlimited, { sleptMs: 9 * hour, elapsedMs: 9 * hour })).toBe(Infinity)
  })

  it("rule D2: a clock that was set back gives no budget back", () => {
    const spent = { sleptMs: hour, elapsedMs: -5 * hour }
    expect(Budget.remainingMs({ ...strict, measure: "wall-clock" }, spent)).toBe(8 * hour)
  })

  it("rule D1: strict, a wait that does not fit is refused; with clip it is cut to what is left", () => {
    expect(Budget.grant(strict, hour, hour)).toBe(hour)
    expect(Budget.grant(strict, hour, hour + 1)).toBeUndefined()
    expect(Budget.grant(clipping, hour, hour + 1)).toBe(hour)
    expect(Budget.grant(clipping, 0, 1)).toBeUndefined()
  })

  it("rule P5: clipping does not shorten a wait below a provider's hint", () => {
    expect(Budget.grant(clipping, hour, 2 * hour, 2 * hour)).toBeUndefined()
    expect(Budget.grant(clipping, hour, 2 * hour, hour)).toBe(hour)
  })

  it("a grant never exceeds the rest of the budget nor the wait", () => {
    fc.assert(
      fc.property(
        fc.boolean(),
        fc.nat(10 * hour),
        fc.nat(10 * hour),
        fc.nat(10 * hour),
        (clip, left, delay, atLeast) => {
          const granted = Budget.grant({ ...strict, clip }, left, delay, Math.min(delay, atLeast))
          if (granted === undefined) return
          expect(granted).toBeLessThanOrEqual(Math.min(left, delay))
          expect(granted).toBeGreaterThanOrEqual(Math.min(delay, atLeast))
        }
      ),
      { numRuns: 2_000 }
    )
  })
})

it("rule X4: a person's extension of a step's budget is part of it", () => {
  const spent = { sleptMs: Budget.OVERNIGHT_MS, elapsedMs: 0 }
  expect(Budget.remainingMs(Budget.overnight, spent)).toBe(0)
  expect(Budget.remainingMs(Budget.overnight, { ...spent, extendedMs: 60_000 })).toBe(60_000)
})

it("rule D2: attempts that took longer than the whole budget leave no retry, not even one without a wait", () => {
  const budget: Budget.WaitBudget = { totalMs: 1_000, measure: "wall-clock", clip: false }
  expect(Budget.isExceeded(budget, { sleptMs: 0, elapsedMs: 1_000 })).toBe(false)
  expect(Budget.isExceeded(budget, { sleptMs: 0, elapsedMs: 1_001 })).toBe(true)
})

it("rule D1: with clip any rest is granted, down to a provider's hint, and an empty rest is refused", () => {
  expect(Budget.grant(clipping, 0, 5)).toBeUndefined()
  expect(Budget.grant(clipping, 0.5, 5)).toBe(0.5)
  expect(Budget.grant(clipping, 5, 10, 5)).toBe(5)
  expect(Budget.grant(clipping, 5, 10, 6)).toBeUndefined()
  for (const budget of [strict, clipping]) {
    expect([Budget.grant(budget, 5, 5), Budget.grant(budget, 0, 0)]).toEqual([5, 0])
  }
  expect(Budget.grant(strict, 5, 6)).toBeUndefined()
})

it("rule D2: a budget that is spent to the last millisecond is not exceeded", () => {
  const spent = (sleptMs: number) => ({ sleptMs, elapsedMs: 0 })
  expect([8 * hour, 8 * hour + 1].map((ms) => Budget.isExceeded(strict, spent(ms)))).toEqual([false, true])
  expect(Budget.isExceeded(strict, { ...spent(8 * hour + 1), extendedMs: 1 })).toBe(false)
})
