import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Backoff } from "../src/index.ts"

describe("Jitter", () => {
  it("no jitter adds nothing", () => {
    expect(Backoff.jitterMs(Backoff.noJitter, 60_000, 0.999)).toBe(0)
  })

  it("half a spread adds half of the factor", () => {
    expect(Backoff.jitterMs({ factor: 0.5 }, 60_000, 0.5)).toBe(15_000)
  })

  it("rule P5: jitter only adds, and stays below its factor of the delay", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.nat(86_400_000),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (factor, delayMs, spread) => {
          const added = Backoff.jitterMs({ factor }, delayMs, spread)
          expect(Number.isInteger(added)).toBe(true)
          expect(added).toBeGreaterThanOrEqual(0)
          expect(added).toBeLessThanOrEqual(delayMs * factor)
        }
      ),
      { numRuns: 2_000 }
    )
  })
})
