import { describe, expect, it } from "@effect/vitest"
import { Duration, Option, Schema } from "effect"
import { Durations } from "../src/index.ts"

const DAY_MS = 86_400_000

const millisOf = (schema: Schema.Codec<Duration.Duration, string>, text: string): number | undefined =>
  Option.getOrUndefined(Option.map(Schema.decodeUnknownOption(schema)(text), Duration.toMillis))

const problemOf = (schema: Schema.Codec<Duration.Duration, string>, value: unknown): string => {
  const result = Schema.decodeUnknownResult(schema)(value)
  return result._tag === "Failure" ? String(result.failure) : "none"
}

describe("a duration in a configuration", () => {
  it.each([
    ["100 millis", 100],
    ["30 minutes", 1_800_000],
    ["8 hours", 28_800_000],
    ["Infinity", Infinity]
  ])("is read: %s", (text, millis) => {
    expect(millisOf(Durations.Any, text)).toBe(millis)
    expect(millisOf(Durations.Limit, text)).toBe(millis)
  })

  it.each(["", "soon", "5", "5 fortnights", "minutes 5"])("that is invalid is rejected with an example: %j", (text) => {
    for (const schema of [Durations.Any, Durations.NotNegative, Durations.Positive, Durations.Limit]) {
      expect(problemOf(schema, text)).toContain('Expected a duration such as "30 minutes", "8 hours" or "100 millis"')
    }
  })

  it("that is no text is rejected with an example", () => {
    expect(problemOf(Durations.Any, 5)).toContain('Expected a string such as "30 minutes" or "100 millis"')
  })

  it.each([
    ["NotNegative", Durations.NotNegative, 0],
    ["Positive", Durations.Positive, 1]
  ])("%s has a least and a greatest value, both included", (_, schema, least) => {
    expect(millisOf(schema, `${least} millis`)).toBe(least)
    expect(millisOf(schema, "365 days")).toBe(365 * DAY_MS)
    expect(problemOf(schema, `${365 * DAY_MS + 1} millis`)).toContain("Expected a duration of 365 days at most")
    expect(problemOf(schema, "Infinity")).toContain("Expected a finite duration")
    expect(problemOf(schema, "-1 millis")).toContain("Expected a finite duration")
  })

  it("that has to be positive is a millisecond at least", () => {
    expect(problemOf(Durations.Positive, "0 millis")).toContain("Expected a finite duration of at least 1 millisecond")
    expect(problemOf(Durations.Positive, "999 micros")).toContain("at least 1 millisecond")
  })

  it("that is a limit may be zero or infinite, not negative", () => {
    expect(millisOf(Durations.Limit, "0 millis")).toBe(0)
    expect(problemOf(Durations.Limit, "-1 millis")).toContain('Expected a duration of 0 or more, or "Infinity"')
  })

  it("has a default if it is absent", () => {
    expect(Durations.millisOr(Duration.seconds(2), 7)).toBe(2_000)
    expect(Durations.millisOr(undefined, 7)).toBe(7)
  })
})
