import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Since from "../../src/cli/Since.ts"

const NOW = new Date(2026, 10, 22, 7, 0, 0).getTime()
const HOUR = 3_600_000

describe("a moment in the past", () => {
  it("is a length of time before now", () => {
    assert.strictEqual(Since.parse("12 hours", NOW), NOW - 12 * HOUR)
    assert.strictEqual(Since.parse("90 minutes", NOW), NOW - 1.5 * HOUR)
  })

  it("is the latest past occurrence of a time of day, today's or yesterday's", () => {
    assert.strictEqual(Since.parse("06:30", NOW), NOW - HOUR / 2)
    assert.strictEqual(Since.parse("22:00", NOW), NOW - 9 * HOUR)
    assert.strictEqual(Since.parse("7:00", NOW), NOW)
  })

  it("is a date, with a time of day and a zone or without", () => {
    assert.strictEqual(Since.parse("2026-11-22T05:00:00Z", NOW), Date.UTC(2026, 10, 22, 5))
    assert.strictEqual(Since.parse("2026-11-22T05:00:00+02:00", NOW), Date.UTC(2026, 10, 22, 3))
    assert.strictEqual(Since.parse("2026-11-21", NOW), Date.UTC(2026, 10, 21))
  })

  it("is the beginning of a day", () => {
    assert.strictEqual(Since.parse("today", NOW), new Date(2026, 10, 22).getTime())
    assert.strictEqual(Since.parse("yesterday", NOW), new Date(2026, 10, 21).getTime())
    const first = new Date(2026, 11, 1, 9).getTime()
    assert.strictEqual(Since.parse("yesterday", first), new Date(2026, 10, 30).getTime())
  })

  it("is nothing else", () => {
    for (const text of ["", "tomorrow", "24:00", "12:60", "2026-13-01", "Infinity", "22", "1 fortnight"])
      assert.isUndefined(Since.parse(text, NOW), text)
  })

  it("is never a future time of day, nor one more than a day ago", () => {
    fc.assert(
      fc.property(fc.nat(23), fc.nat(59), fc.nat(86_400_000), (hours, minutes, later) => {
        const now = NOW + later
        const at = Since.parse(`${hours}:${String(minutes).padStart(2, "0")}`, now) ?? Number.NaN
        assert.isAtMost(at, now)
        // A day may have 25 hours.
        assert.isAbove(at, now - 25 * HOUR - 1)
      })
    )
  })
})
