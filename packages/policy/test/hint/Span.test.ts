import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Span from "../../src/hint/Span.ts"

describe("Span", () => {
  it.each([
    ["12ms", 12],
    ["7.66s", 7_660],
    ["6m0s", 360_000],
    ["1h2m3.5s", 3_723_500],
    ["2d", 172_800_000],
    ["1w", 604_800_000],
    ["1.5 seconds", 1_500],
    ["1 minute", 60_000],
    ["250 milliseconds", 250],
    ["1 hour, 5 minutes and 3 seconds", 3_903_000],
    ["2 HRS 3 Mins", 7_380_000]
  ])("reads %s", (text, ms) => {
    expect(Span.parse(text)).toBeCloseTo(ms, 6)
  })

  it.each(["", "s", "20", "-5s", "1e3s", "5 parsecs", "5 months", "5s later", "in 5s", "1..5s", "5 s5"])(
    "rejects %j as a span",
    (text) => {
      expect(Span.parse(text)).toBeUndefined()
    }
  )

  it.each(["", " ", "1e3", "0x10", "-1", "+1", "NaN", "Infinity", "1,5", "1.", ".5", "5s", "06 Nov"])(
    "rejects %j as a number",
    (text) => {
      expect(Span.parseNumber(text)).toBeUndefined()
    }
  )

  it("reads back every span of hours, minutes and seconds", () => {
    fc.assert(
      fc.property(fc.nat(100), fc.nat(59), fc.nat(59_999), (hours, minutes, millis) => {
        const ms = (hours * 60 + minutes) * 60_000 + millis
        expect(Span.parse(`${hours}h${minutes}m${millis / 1000}s`)).toBeCloseTo(ms, 4)
      })
    )
  })
})
