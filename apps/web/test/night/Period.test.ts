import * as fc from "fast-check"
import { expect, it } from "vitest"
import * as Period from "../../src/night/Period.ts"

const HOUR_MS = 3_600_000

it("a period has at most eight marks, in order and within it", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2e12 }), fc.constantFrom(1 / 6, 1, 12, 24, 72), (until, hours) => {
      const since = until - hours * HOUR_MS
      const places = Period.ticksOf(since, until).map(({ place }) => place)
      expect(places.length).toBeLessThanOrEqual(8)
      expect(places.length).toBeGreaterThanOrEqual(3)
      expect(places).toEqual(places.toSorted((a, b) => a - b))
      for (const place of places) expect(place >= 0 && place <= 1).toBe(true)
    })
  )
})

it("moments outside of a period are at its nearer end", () => {
  expect([0, 100, 150, 200, 900].map((at) => Period.placeOf(at, 100, 200))).toEqual([0, 0, 0.5, 1, 1])
  expect(Period.placeOf(5, 100, 100)).toBe(0)
})

it("a period has the same beginning for a minute", () => {
  expect(Period.sinceOf(1, 2 * HOUR_MS + 59_999)).toBe(HOUR_MS)
})

it("an outage lasts until its answer, until now, or until the last call that is known of it", () => {
  const outage = { target: "a/b", beganAt: 1, lastFailureAt: 5, failures: 2, reason: "network" } as const
  expect(Period.knownUntil({ ...outage, endedAt: 7 }, 100)).toBe(7)
  expect(Period.knownUntil(outage, 100)).toBe(100)
  expect(Period.knownUntil({ ...outage, hasUnknownEnd: true }, 100)).toBe(5)
})

it("a line of time begins with the first thing to see, with some room before it", () => {
  const minute = 60_000
  expect(Period.begunOf(0, 720 * minute, [])).toBe(0)
  expect(Period.begunOf(0, 720 * minute, [700 * minute, 710 * minute])).toBe(699 * minute)
  expect(Period.begunOf(0, 720 * minute, [719.9 * minute])).toBe(719 * minute)
  expect(Period.begunOf(0, 720 * minute, [minute])).toBe(0)
})
