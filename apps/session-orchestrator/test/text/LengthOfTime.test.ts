/** Tests lengths of time as a person writes them. */
import { expect, it } from "@effect/vitest"
import { Duration } from "effect"
import * as LengthOfTime from "../../src/text/LengthOfTime.ts"

const MINUTE = 60_000

it.each([
  ["12 hours", 720 * MINUTE],
  ["12h", 720 * MINUTE],
  ["1h30m", 90 * MINUTE],
  ["1 hour 30 min", 90 * MINUTE],
  ["90s", 1.5 * MINUTE],
  ["1.5h", 90 * MINUTE],
  ["2d", 2880 * MINUTE],
  ["2 weeks", 20_160 * MINUTE],
  ["1w2d", 12_960 * MINUTE],
  ["500 micros", 0.5],
  ["100 millis", 100]
])("%j is a length of time", (text, millis) => {
  expect(Duration.toMillis(LengthOfTime.parse(text) ?? expect.fail("none"))).toBe(millis)
})

it.each(["", "22", "1 fortnight", "h", "12h now", "1h 30", "Infinity", "2026-11-22", "constructor", "1 constructor"])(
  "%j is none",
  (text) => {
    expect(LengthOfTime.parse(text)).toBeUndefined()
  }
)
