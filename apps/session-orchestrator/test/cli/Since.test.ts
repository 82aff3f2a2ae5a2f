import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Since from "../../src/cli/Since.ts"
import * as Law from "../Law.ts"

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
  it.each([
    ["12 hours", NOW - 12 * HOUR],
    ["90 minutes", NOW - 1.5 * HOUR],
    ["06:30", NOW - HOUR / 2],
    ["22:00", NOW - 9 * HOUR],
    ["7:00", NOW],
    ["2026-11-22T05:00:00Z", Date.UTC(2026, 10, 22, 5)],
    ["2026-11-22T05:00:00+02:00", Date.UTC(2026, 10, 22, 3)],
    ["2026-11-21", Date.UTC(2026, 10, 21)],
    ["today", new Date(2026, 10, 22).getTime()],
    ["yesterday", new Date(2026, 10, 21).getTime()]
  ])("is a length before now, the latest time of day, a date or the beginning of a day: %s", (text, moment) => {
    assert.strictEqual(Since.PAST.read(text, NOW), moment)
  })

  it("is the beginning of a day of the month before, on the first of a month", () => {
    const first = new Date(2026, 11, 1, 9).getTime()
    assert.strictEqual(Since.PAST.read("yesterday", first), new Date(2026, 10, 30).getTime())
  })

  it("is nothing else", () => {
    for (const text of ["", "tomorrow", "24:00", "12:60", "2026-13-01", "Infinity", "22", "1 fortnight"])
      assert.isUndefined(Since.PAST.read(text, NOW), text)
  })

  it("is never a future time of day, nor one more than a day ago", () =>
    Law.holds([fc.nat(23), fc.nat(59), fc.nat(86_400_000)], (hours, minutes, later) => {
      const now = NOW + later
      const at = Since.PAST.read(`${hours}:${String(minutes).padStart(2, "0")}`, now) ?? Number.NaN
      assert.isAtMost(at, now)
      // A day may have 25 hours.
      assert.isAbove(at, now - 25 * HOUR - 1)
    }))
})
