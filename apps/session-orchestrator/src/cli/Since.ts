/** Moments as a person writes them on a command line: a length of time, a time of day, a day, or a date. */
import { Duration } from "effect"
import * as LocalTime from "../base/text/LocalTime.ts"
import * as DurationText from "../base/text/DurationText.ts"
import * as Declaration from "./Declaration.ts"

/**
 * A moment in the past, in epoch milliseconds.
 *
 * **Details**
 *
 * A time of day means its latest past occurrence, in local time. At seven in the morning "22:00" means yesterday evening.
 * `yesterday` and `today` mean the beginning of that day, in local time.
 */
export const PAST: Declaration.Form<number> = {
  expected: '"12 hours", a time of day such as "22:00", "yesterday", or a date such as "2026-11-22T07:00:00Z"',
  read: (text, now) => {
    const daysAgo = ["today", "yesterday"].indexOf(text)
    return daysAgo === -1 ? read(text, now, false) : LocalTime.onDay(MIDNIGHT, now, -daysAgo)
  }
}

/** A moment to come: after a length of time, at the next time of day, or at a date. */
export const AHEAD: Declaration.Form<number> = {
  expected: '"2 hours", a time of day such as "03:00", or a date to come, such as "2026-11-22T07:00:00Z"',
  read: (text, now) => {
    const moment = read(text, now, true)
    return moment !== undefined && moment > now ? moment : undefined
  }
}

/** `--since`. `does` is what the command does with what is since then. */
export const flag = (does: string, more = "") =>
  Declaration.parsed("since", "MOMENT", `${does}: ${PAST.expected}${more}`, PAST)

// --- internal

const read = (text: string, now: number, isAhead: boolean): number | undefined => {
  const time = text.replace(/^\d:/, "0$&")
  if (LocalTime.DAILY.test(time)) return (isAhead ? LocalTime.nextDaily : LocalTime.lastDaily)(time, now)
  const length = DurationText.parse(text)
  if (length !== undefined) return now + (isAhead ? 1 : -1) * Duration.toMillis(length)
  const date = DATE.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : date
}

const MIDNIGHT = "00:00"

/** RFC 3339, or a day alone; `Date.parse` would accept many other texts. */
const DATE = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)?$/i
