/**
 * Parses dates of RFC 3339, and calendar dates, to epoch milliseconds; and writes moments into sentences (`format`), where a reader's own
 * program finds them again and puts its local time in their place (`local`).
 *
 * Rfc3339.R1. Strict, unlike `Date.parse`: an offset or `Z` is required.
 * Rfc3339.R2. A day that does not exist (31 February) gives `undefined`, not the next existing day.
 */

/** `2026-03-01T00:00:00.5Z`, with an offset and a space for the T as RFC 3339 allows. */
const PATTERN = /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/

/** Epoch milliseconds of a timestamp of RFC 3339, with a fraction where it has one; `undefined` for any other text. */
export const parse = (text: string): number | undefined => {
  const match = PATTERN.exec(text.trim())
  if (match === null) return undefined
  const [, year, month, day, hour, minute, second, fraction = "", sign, offsetHours = "0", offsetMinutes = "0"] = match
  const epoch = epochOf(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second))
  if (epoch === undefined || Number(offsetHours) > 23 || Number(offsetMinutes) > 59) return undefined
  const offsetMs = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000
  const fractionMs = fraction === "" ? 0 : Number(`0.${fraction}`) * 1000
  return epoch + fractionMs - (sign === "-" ? -offsetMs : offsetMs)
}

/** Epoch milliseconds of a calendar second in UTC, months counted from 0; `undefined` where it does not exist (Rfc3339.R2). */
export const epochOf = (
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number
): number | undefined => {
  // A leap second is written :60; it ends one second later.
  if (hour > 23 || minute > 59 || second > 60) return undefined
  const epoch = Date.UTC(year, month, day, hour, minute, second)
  const midnight = new Date(Date.UTC(year, month, day))
  return midnight.getUTCMonth() === month && midnight.getUTCDate() === day ? epoch : undefined
}

/** A moment as sentences of the service have it, for readers in any time zone: `2031-04-01 02:14:05 UTC`. */
export const format = (epochMs: number): string =>
  `${new Date(epochMs).toISOString().slice(0, 19).replace("T", " ")} UTC`

/** A sentence with each moment that `format` wrote as `write` has it. What stands in quotation marks is foreign, and stays. */
export const local = (sentence: string, write: (epochMs: number) => string): string =>
  sentence.replaceAll(/"[^"]*"|(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC/g, (text, day?: string, time?: string) =>
    day === undefined || time === undefined ? text : write(Date.parse(`${day}T${time}Z`))
  )
