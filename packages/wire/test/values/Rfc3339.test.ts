import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Rfc3339 from "../../src/values/Rfc3339.ts"

const example = Date.UTC(1994, 10, 6, 8, 49, 37)

describe("Rfc3339", () => {
  it("reads fractions, offsets and lower-case letters", () => {
    expect(Rfc3339.parse("1994-11-06T08:49:37Z")).toBe(example)
    expect(Rfc3339.parse("1994-11-06t08:49:37.25z")).toBe(example + 250)
    expect(Rfc3339.parse("1994-11-06 10:49:37+02:00")).toBe(example)
    expect(Rfc3339.parse("1994-11-06T03:19:37-05:30")).toBe(example)
  })

  it("rejects days that do not exist in the calendar", () => {
    expect(Rfc3339.parse("2028-02-29T00:00:00Z")).toBe(Date.UTC(2028, 1, 29))
    for (const text of [
      "2026-02-29T00:00:00Z",
      "2026-13-01T00:00:00Z",
      "2026-01-01T24:00:00Z",
      "2026-01-01T00:00:00"
    ]) {
      expect(Rfc3339.parse(text)).toBeUndefined()
    }
  })

  it("parses every millisecond that it formats", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_102_444_799_999 }), (at) => {
        expect(Rfc3339.parse(new Date(at).toISOString())).toBe(at)
      })
    )
  })
})
