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
export const monthOf = (name: string | undefined): number =>
  name === undefined ? -1 : MONTHS.findIndex((month) => month.toLowerCase() === name.toLowerCase())

// --- internal

/** RFC 9110: a year that seems more than 50 years ahead is the last one that ended in these digits. */
const fullYear = (twoDigits: number, now: number): number => {
  const thisYear = new Date(now).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + twoDigits
  return year > thisYear + 50 ? year - 100 : year
}
