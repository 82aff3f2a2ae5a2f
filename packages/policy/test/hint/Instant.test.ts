import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Instant from "../../src/hint/Instant.ts"

const now = Date.UTC(2026, 2, 1, 12)
const example = Date.UTC(1994, 10, 6, 8, 49, 37)

describe("Instant", () => {
  it.each(["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])(
    "reads %s, as RFC 9110 writes it",
    (text) => {
      expect(Instant.parseHttpDate(text, now)).toBe(example)
    }
  )

  it("reads a year of two digits as past if it seems more than 50 years ahead (RFC 9110, 5.6.7)", () => {
    const yearOf = (digits: string) =>
      new Date(Instant.parseHttpDate(`Sunday, 06-Nov-${digits} 08:49:37 GMT`, now) ?? 0).getUTCFullYear()
    expect([yearOf("26"), yearOf("76"), yearOf("77"), yearOf("99")]).toEqual([2026, 2076, 1977, 1999])
  })

  it.each([
    "12",
    "",
    "06 Nov 1994",
    "Sun, 06 Nov 1994 08:49:37 CET",
    "Sun, 06 Foo 1994 08:49:37 GMT",
    "1994-11-06T08:49:37Z"
  ])("rejects %j as an HTTP date", (text) => {
    expect(Instant.parseHttpDate(text, now)).toBeUndefined()
  })

  it("distinguishes epoch seconds, epoch milliseconds and delays", () => {
    expect(Instant.fromNumber(1_777_936_568)).toBe(1_777_936_568_000)
    expect(Instant.fromNumber(1_777_936_568_123)).toBe(1_777_936_568_123)
    expect(Instant.fromNumber(602_705)).toBeUndefined()
  })

  it("counts seconds from 1e9 and milliseconds from 1e12, which are the same moment", () => {
    expect(Instant.fromNumber(1e9 - 1)).toBeUndefined()
    expect(Instant.fromNumber(1e9)).toBe(1e12)
    expect(Instant.fromNumber(1e12 - 1)).toBe((1e12 - 1) * 1_000)
    expect(Instant.fromNumber(1e12)).toBe(1e12)
  })

  it("reads back every second that is written as an HTTP date", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_102_444_799 }), (second) => {
        expect(Instant.parseHttpDate(new Date(second * 1000).toUTCString(), now)).toBe(second * 1000)
      })
    )
  })
})
