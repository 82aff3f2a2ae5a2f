/**
 * Parses points in time in the notations of providers to epoch milliseconds.
 *
 * Strict, unlike `Date.parse`, which takes "12" for a month and "try 5" for a day. `Rfc3339.parse` is as strict, for dates of that form.
 */
import { Rfc3339 } from "@holdfast/wire"

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

const TIME = String.raw`(\d{2}):(\d{2}):(\d{2})`

/** Anything like an HTTP date, for use in larger expressions; `parseHttpDate` decides whether it is one. */
export const HTTP_DATE: string = String.raw`[A-Z][a-z]{2,8},? [\w -]{5,12} ?\d{2}:\d{2}:\d{2} (?:GMT|\d{4})`

/** `Sun, 06 Nov 1994 08:49:37 GMT`: the form that is sent (RFC 9110, 5.6.7: IMF-fixdate). */
const IMF_FIXDATE = new RegExp(String.raw`^[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) ${TIME} GMT$`)

/** `Sunday, 06-Nov-94 08:49:37 GMT`: obsolete, still to be understood (RFC 9110, 5.6.7: rfc850-date). */
const RFC_850 = new RegExp(String.raw`^[A-Z][a-z]{5,8}, (\d{2})-([A-Z][a-z]{2})-(\d{2}) ${TIME} GMT$`)

/** `Sun Nov  6 08:49:37 1994`: obsolete, still to be understood (RFC 9110, 5.6.7: asctime-date). */
const ASCTIME = new RegExp(String.raw`^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) ${TIME} (\d{4})$`)

/**
 * Parses an HTTP date in any of the three forms of RFC 9110; `undefined`: it is none. `now` is needed for the form with a year of two
 * digits.
 */
export const parseHttpDate = (text: string, now: number): number | undefined => {
  const trimmed = text.trim()
  const fixed = IMF_FIXDATE.exec(trimmed)
  if (fixed !== null) {
    const [, day, month, year, hour, minute, second] = fixed
    return Rfc3339.epochOf(Number(year), monthOf(month), Number(day), Number(hour), Number(minute), Number(second))
  }
  const old = RFC_850.exec(trimmed)
  if (old !== null) {
    const [, day, month, year, hour, minute, second] = old
    return Rfc3339.epochOf(
      fullYear(Number(year), now),
      monthOf(month),
      Number(day),
      Number(hour),
      Number(minute),
      Number(second)
    )
  }
  const asctime = ASCTIME.exec(trimmed)
  if (asctime !== null) {
    const [, month, day, hour, minute, second, year] = asctime
    return Rfc3339.epochOf(Number(year), monthOf(month), Number(day), Number(hour), Number(minute), Number(second))
  }
  return undefined
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
export const monthOf = (name: string | undefined): number =>
  name === undefined ? -1 : MONTHS.findIndex((month) => month.toLowerCase() === name.toLowerCase())

// --- internal

/** RFC 9110: a year that seems more than 50 years ahead is the last one that ended in these digits. */
const fullYear = (twoDigits: number, now: number): number => {
  const thisYear = new Date(now).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + twoDigits
  return year > thisYear + 50 ? year - 100 : year
}
