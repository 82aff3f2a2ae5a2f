import { describe, expect, it } from "@effect/vitest"
import { Duration } from "effect"
import * as fc from "fast-check"
import * as DurationText from "../../../src/base/text/DurationText.ts"
import * as Law from "../../Law.ts"

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 }

/** Reads a duration back. */
const parse = (text: string): number =>
  Array.from(text.matchAll(/(\d+(?:\.\d+)?) (ms|h|m|s)/g)).reduce(
    (sum, [, number, unit]) => sum + Number(number) * (UNITS[unit ?? ""] ?? Number.NaN),
    0
  )

const length = fc.integer({ min: 0, max: 100 * 3_600_000 })

describe("DurationText", () => {
  it("a duration in words is exact to the millisecond", () =>
    Law.holds([length], (ms) => void expect(Math.round(parse(DurationText.format(ms)))).toBe(ms)))

  it("a setting of whole days is in days", () => {
    expect([DurationText.setting(30 * 24 * 3_600_000), DurationText.setting(24 * 3_600_000)]).toEqual(["30 d", "1 d"])
    expect([DurationText.setting(36 * 3_600_000), DurationText.setting(0)]).toEqual(["36 h", "0 s"])
  })

  it("a duration has all of its units", () => {
    const shown = [0, 250, 1500, 60_000, 299_000, 3_600_000, 27_105_000].map(DurationText.format)
    expect(shown.join()).toBe("0 s,250 ms,1.5 s,1 m,4 m 59 s,1 h,7 h 31 m 45 s")
  })

  it("a countdown has whole seconds, rounded up, and all units below its first", () => {
    const shown = [0, 1, 59_001, 299_000, 299_999, 3_605_000, -5].map(DurationText.countdown)
    expect(shown.join()).toBe("0 s,1 s,1 m 0 s,4 m 59 s,5 m 0 s,1 h 0 m 5 s,0 s")
  })

  it("a countdown is never shorter than the time left, a second longer at most, and never grows", () =>
    Law.holds([length, fc.nat({ max: 10_000 })], (ms, passed) => {
      const shown = parse(DurationText.countdown(ms))
      expect(shown).toBeGreaterThanOrEqual(ms)
      expect(shown).toBeLessThan(ms + 1000)
      expect(parse(DurationText.countdown(ms - passed))).toBeLessThanOrEqual(shown)
    }))
})

it("a duration is roughly its first two units, rounded down", () => {
  const lengths = [0, -5, 999, 12_999, 60_000, 245_000, 7_384_000, 86_400_000, 183_600_000, 86_460_000]
  expect(lengths.map(DurationText.rough).join()).toBe("0 s,0 s,0 s,12 s,1 m,4 m 5 s,2 h 3 m,1 d,2 d 3 h,1 d")
})

it("a length of time is read in each of its forms", () => {
  const hours = ["12 hours", "12h", "1h30m", "1 hour 30 min", "1.5h", "2d", "2 weeks", "1w2d"]
  const millisOf = (text: string) => Duration.toMillis(DurationText.parse(text) ?? expect.fail(text))
  expect(hours.map((text) => millisOf(text) / 3_600_000)).toEqual([12, 12, 1.5, 1.5, 1.5, 48, 336, 216])
  expect(["90s", "500 micros", "100 millis"].map(millisOf)).toEqual([90_000, 0.5, 100])
})

const others = "22|1 fortnight|h|12h now|1h 30|Infinity|2026-11-22|constructor|1 constructor".split("|")
it.each(["", ...others])("%j is none", (text) => {
  expect(DurationText.parse(text)).toBeUndefined()
})
