import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Since from "../../src/cli/Since.ts"

const NOW = new Date(2026, 10, 22, 7, 0, 0).getTime()
const HOUR = 3_600_000

describe("a moment to come", () => {
  it("is after a length of time, at the next time of day, or a date; and no other", () => {
    assert.strictEqual(Since.AHEAD.read("2 hours", NOW), NOW + 2 * HOUR)
    assert.strictEqual(Since.AHEAD.read("08:00", NOW), NOW + HOUR)
    assert.strictEqual(Since.AHEAD.read("06:00", NOW), NOW + 23 * HOUR)
    assert.strictEqual(Since.AHEAD.read("2099-11-22T05:00:00Z", NOW), Date.UTC(2099, 10, 22, 5))
    for (const text of ["yesterday", "2020-01-01", "soon", "0 s"]) assert.isUndefined(Since.AHEAD.read(text, NOW), text)
  })
})

describe("a moment in the past", () => {
  it("is a length of time before now", () => {
    assert.strictEqual(Since.PAST.read("12 hours", NOW), NOW - 12 * HOUR)
    assert.strictEqual(Since.PAST.read("90 minutes", NOW), NOW - 1.5 * HOUR)
  })

  it("is the latest past occurrence of a time of day, today's or yesterday's", () => {
    assert.strictEqual(Since.PAST.read("06:30", NOW), NOW - HOUR / 2)
    assert.strictEqual(Since.PAST.read("22:00", NOW), NOW - 9 * HOUR)
    assert.strictEqual(Since.PAST.read("7:00", NOW), NOW)
  })

  it("is a date, with a time of day and a zone or without", () => {
    assert.strictEqual(Since.PAST.read("2026-11-22T05:00:00Z", NOW), Date.UTC(2026, 10, 22, 5))
    assert.strictEqual(Since.PAST.read("2026-11-22T05:00:00+02:00", NOW), Date.UTC(2026, 10, 22, 3))
    assert.strictEqual(Since.PAST.read("2026-11-21", NOW), Date.UTC(2026, 10, 21))
  })

  it("is the beginning of a day", () => {
    assert.strictEqual(Since.PAST.read("today", NOW), new Date(2026, 10, 22).getTime())
    assert.strictEqual(Since.PAST.read("yesterday", NOW), new Date(2026, 10, 21).getTime())
    const first = new Date(2026, 11, 1, 9).getTime()
    assert.strictEqual(Since.PAST.read("yesterday", first), new Date(2026, 10, 30).getTime())
  })

  it("is nothing else", () => {
    for (const text of ["", "tomorrow", "24:00", "12:60", "2026-13-01", "Infinity", "22", "1 fortnight"])
      assert.isUndefined(Since.PAST.read(text, NOW), text)
  })

  it("is never a future time of day, nor one more than a day ago", () => {
    fc.assert(
      fc.property(fc.nat(23), fc.nat(59), fc.nat(86_400_000), (hours, minutes, later) => {
        const now = NOW + later
        const at = Since.PAST.read(`${hours}:${String(minutes).padStart(2, "0")}`, now) ?? Number.NaN
        assert.isAtMost(at, now)
        // A day may have 25 hours.
        assert.isAbove(at, now - 25 * HOUR - 1)
      })
    )
  })
})
