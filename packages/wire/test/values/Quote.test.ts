import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Quote from "../../src/values/Quote.ts"

describe("Quote", () => {
  it("a short text is quoted whole", () => {
    expect(Quote.of('a "b"')).toBe('"a \\"b\\""')
    expect(Quote.clip("a")).toBe("a")
    expect(Quote.of("m".repeat(60))).toBe(`"${"m".repeat(60)}"`)
    expect(Quote.of("m".repeat(61))).toBe(`"${"m".repeat(60)}" and 1 characters more`)
  })

  it("a quotation is short, and well-formed, however long the text is and wherever it is cut", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), fc.integer({ min: 1, max: 500 }), (text, times) => {
        const long = text.repeat(times)
        for (const quoted of [Quote.of(long), Quote.clip(long), Quote.message(long)]) {
          expect(quoted.length).toBeLessThan(800)
          expect(quoted.isWellFormed()).toBe(true)
        }
      })
    )
  })
})
