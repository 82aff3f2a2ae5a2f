import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Span from "../../src/hint/Span.ts"
import * as Instant from "../../src/hint/Instant.ts"

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const zones = fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")
/** Whole minutes of 2020 to 2033. */
const moments = fc.integer({ min: 26_297_280, max: 33_138_720 }).map((minutes) => minutes * MINUTE)

/** A moment as agents write it; `timeZone` is named. */
const written = (at: number, timeZone: string, withDay: boolean): string => {
  const options = { timeZone, hour: "numeric", minute: "2-digit" } as const
  const day = withDay ? ({ month: "short", day: "numeric", year: "numeric" } as const) : {}
  return `resets ${new Intl.DateTimeFormat("en-US", { ...options, ...day }).format(at)} (${timeZone})`.replaceAll(
    /\s/g,
    " "
  )
}

/** Whether a zone's offset changes near a moment: some local times exist twice then, or not at all. */
const isChanging = (at: number, timeZone: string): boolean => {
  const hours = [-26, 26].map((hours) =>
    new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" })
      .formatToParts(at + hours * HOUR)
      .find(({ type }) => type === "timeZoneName")
  )
  return hours[0]?.value !== hours[1]?.value
}

describe("a time of day with a zone", () => {
  it("rule P5: is the next such time in that zone", () => {
    fc.assert(
      fc.property(moments, zones, fc.integer({ min: 1, max: 22 * 60 }), (now, zone, ahead) => {
        const at = now + ahead * MINUTE
        fc.pre(!isChanging(now, zone))
        expect(Instant.timesIn(written(at, zone, false), now)).toEqual([at])
      })
    )
  })

  it("rule P5: is past where it passed within the last hour, and not tomorrow's", () => {
    fc.assert(
      fc.property(moments, zones, fc.integer({ min: 1, max: 59 }), (now, zone, ago) => {
        const at = now - ago * MINUTE
        fc.pre(!isChanging(now, zone))
        expect(Instant.timesIn(written(at, zone, false), now)).toEqual([at])
      })
    )
  })

  it("rule P5: with a day is that moment", () => {
    fc.assert(
      fc.property(moments, zones, fc.integer({ min: -40, max: 40 }), (now, zone, days) => {
        const at = now + days * 24 * HOUR
        fc.pre(!isChanging(at, zone))
        expect(Instant.timesIn(written(at, zone, true), now)).toEqual([at])
      })
    )
  })

  it("rule P5: no text makes it throw, and every result is finite", () => {
    const pieces = fc.constantFrom(
      "resets ",
      "at ",
      "Nov 31, ",
      "99",
      "6:20",
      "pm",
      " (UTC)",
      "(",
      ")",
      " GMT",
      "24:61"
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), moments, (words, now) => {
        expect(Instant.timesIn(words.join(""), now).every(Number.isFinite)).toBe(true)
      })
    )
  })
})

describe("a span as a clock shows it", () => {
  it("rule P5: is read to the second, and only whole", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999 * 3600 + 3599 }), (seconds) => {
        const two = (value: number) => String(value).padStart(2, "0")
        const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
        const text = `${two(hours)}:${two(minutes)}:${two(seconds % 60)}`
        expect(Span.parseClock(text)).toBe(seconds * 1000)
        expect(Span.parseClock(`${text}:00`)).toBeUndefined()
      })
    )
  })
})
