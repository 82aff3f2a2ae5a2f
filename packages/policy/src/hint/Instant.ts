/**
 * Parses points in time in the notations of providers to epoch milliseconds.
 *
 * Strict, unlike `Date.parse`, which takes "12" for a month and "try 5" for a day. `Rfc3339.parse` is as strict, for dates of that form.
 */
import { Rfc3339 } from "@holdfast/wire"

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

const TIME = String.raw`(?<hour>\d{2}):(?<minute>\d{2}):(?<second>\d{2})`

/** Anything like an HTTP date, for use in larger expressions; `parseHttpDate` decides whether it is one. */
export const HTTP_DATE: string = String.raw`[A-Z][a-z]{2,8},? [\w -]{5,12} ?\d{2}:\d{2}:\d{2} (?:GMT|\d{4})`

/** The forms of RFC 9110, 5.6.7. */
const HTTP_DATES = [
  // `Sun, 06 Nov 1994 08:49:37 GMT`: the form that is sent (IMF-fixdate).
  String.raw`[A-Z][a-z]{2}, (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) ${TIME} GMT`,
  // `Sunday, 06-Nov-94 08:49:37 GMT`: obsolete, still to be understood (rfc850-date).
  String.raw`[A-Z][a-z]{5,8}, (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) ${TIME} GMT`,
  // `Sun Nov  6 08:49:37 1994`: obsolete, still to be understood (asctime-date).
  String.raw`[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) ${TIME} (?<year>\d{4})`
].map((form) => new RegExp(`^${form}$`))

/**
 * Parses an HTTP date in any of the three forms of RFC 9110; `undefined`: it is none. `now` is needed for the form with a year of two
 * digits.
 */
export const parseHttpDate = (text: string, now: number): number | undefined => {
  const trimmed = text.trim()
  const form = HTTP_DATES.find((form) => form.test(trimmed))
  if (form === undefined) return undefined
  const { day, hour, minute, month, second, year = "" } = form.exec(trimmed)?.groups ?? {}
  const whole = year.length === 2 ? fullYear(Number(year), now) : Number(year)
  return Rfc3339.epochOf(whole, monthOf(month), Number(day), Number(hour), Number(minute), Number(second))
}

/**
 * Reads a number as epoch seconds or epoch milliseconds, by its size; `undefined`: it is no point in time.
 *
 * **Details**
 *
 * From 1e9 (September 2001) on a number counts seconds; from 1e12 on, which is the same day, milliseconds. A smaller number is no point in
 * time.
 */
export const fromNumber = (value: number): number | undefined => {
  if (value >= 1e12) return value
  return value >= 1e9 ? value * 1000 : undefined
}

/** The number of a month from its short name in English, from 0; -1: there is none. */
const monthOf = (name: string | undefined): number =>
  name === undefined ? -1 : MONTHS.findIndex((month) => month.toLowerCase() === name.toLowerCase())

// Finds times of day with a zone in an error's text: "resets 6:20pm (Europe/Berlin)", "resets Nov 27, 7:05pm (UTC)".
//
// Coding agents and their relays write resets like this. A time without a zone is not read: it is in the zone of a machine that is not
// known. Without a day, the next such time is meant; a time up to `JUST_PASSED_MS` ago is past, and not tomorrow's. Without a year, the
// occurrence nearest to now is meant.

/** A reset is written with its day if it is more than a day away, and a clock may be some minutes wrong. */
const JUST_PASSED_MS = 3_600_000

const DAY_MS = 86_400_000

const WRITTEN = new RegExp(
  String.raw`\b(?:resets?|try again|retry|available(?: again)?|access)\s{1,4}(?:(?:at|on|after|until)\s{1,4})?` +
    String.raw`(?:(${MONTHS.join("|")})[a-z]{0,6}\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?(?:,| at)? )?` +
    String.raw`(\d{1,2})(?::(\d{2}))? ?([ap]\.?m\.?)?(?: ?\(([A-Za-z][\w+/-]{1,40})\)| (UTC|GMT)\b)`,
  "gi"
)

/** Returns the times in a text as epoch milliseconds; a past one may be among them. */
export const timesIn = (text: string, now: number): ReadonlyArray<number> => {
  const times: Array<number | undefined> = []
  for (const [, month, day, year, hour, minute, half, zone, plain] of text.matchAll(WRITTEN)) {
    // "resets 6 (Anthropic)" is no time.
    if (minute === undefined && half === undefined) continue
    const time = timeOf(Number(hour), Number(minute ?? 0), half?.toLowerCase())
    const offset = offsetIn(zone ?? plain ?? "")
    if (time === undefined || offset === undefined) continue
    times.push(month === undefined ? nextAt(time, offset, now) : dateAt(month, Number(day), year, time, offset, now))
  }
  return times.filter((time) => time !== undefined)
}

// --- internal

/** RFC 9110: a year that seems more than 50 years ahead is the last one that ended in these digits. */
const fullYear = (twoDigits: number, now: number): number => {
  const thisYear = new Date(now).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + twoDigits
  return year > thisYear + 50 ? year - 100 : year
}

/** A time of day in milliseconds, on a clock of 12 or 24 hours. */
const timeOf = (hour: number, minute: number, half: string | undefined): number | undefined => {
  if (minute > 59 || hour > (half === undefined ? 23 : 12) || (half !== undefined && hour === 0)) return undefined
  const hours = half === undefined ? hour : (hour % 12) + (half.startsWith("p") ? 12 : 0)
  return (hours * 60 + minute) * 60_000
}

/** How far a zone is ahead of UTC at an epoch. */
type Offset = (epoch: number) => number

/** `undefined`: there is no such zone. */
const offsetIn = (zone: string): Offset | undefined => {
  try {
    const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" })
    return (epoch) => {
      const name = format.formatToParts(epoch).find(({ type }) => type === "timeZoneName")?.value ?? ""
      const [, sign, hours = "0", minutes = "0"] = /([+-])(\d{2}):(\d{2})/.exec(name) ?? []
      return (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -60_000 : 60_000)
    }
  } catch {
    return undefined
  }
}

/** The epoch of a local time, which is given as if it were UTC. The second step corrects a change of the offset in between. */
const epochOf = (local: number, offset: Offset): number => local - offset(local - offset(local))

const nextAt = (time: number, offset: Offset, now: number): number => {
  const today = Math.floor((now + offset(now)) / DAY_MS) * DAY_MS
  const times = [-1, 0, 1, 2].map((days) => epochOf(today + days * DAY_MS + time, offset))
  return times.find((epoch) => epoch > now - JUST_PASSED_MS) ?? now
}

/** `undefined`: there is no such day. */
const dateAt = (
  month: string,
  day: number,
  year: string | undefined,
  time: number,
  offset: Offset,
  now: number
): number | undefined => {
  const thisYear = new Date(now).getUTCFullYear()
  const years = year === undefined ? [thisYear - 1, thisYear, thisYear + 1] : [Number(year)]
  const epochs = years.flatMap((each) => {
    const midnight = Rfc3339.epochOf(each, monthOf(month), day, 0, 0, 0)
    return midnight === undefined ? [] : [epochOf(midnight + time, offset)]
  })
  return epochs.toSorted((one, other) => Math.abs(one - now) - Math.abs(other - now))[0]
}
