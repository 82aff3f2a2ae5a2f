/** Reads a moment in the past as a person writes it: a length of time, a time of day, a day, or a date. */
import { Duration, Effect } from "effect"
import * as DailyTime from "../text/DailyTime.ts"
import * as DurationText from "../text/DurationText.ts"
import * as Prose from "../text/Prose.ts"
import { Refused } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"

/** The accepted forms, for the message of a refusal. */
export const EXPECTED =
  '"12 hours", a time of day such as "22:00", "yesterday", or a date such as "2026-11-22T07:00:00Z"'

/**
 * The moment in epoch milliseconds; `undefined` if the text has none of the forms.
 *
 * **Details**
 *
 * A time of day means its latest past occurrence, in local time. At seven in the morning "22:00" means yesterday evening.
 * `yesterday` and `today` mean the beginning of that day, in local time.
 */
export const parse = (text: string, now: number): number | undefined => {
  const daysAgo = ["today", "yesterday"].indexOf(text)
  if (daysAgo !== -1) return startOf(now, daysAgo)
  const [, hours, minutes] = TIME_OF_DAY.exec(text) ?? []
  if (hours !== undefined) return DailyTime.last({ hours: Number(hours), minutes: Number(minutes) }, now)
  const length = DurationText.parse(text)
  if (length !== undefined) return now - Duration.toMillis(length)
  const date = DATE.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : date
}

/** The moment of a flag; a text that has none of the forms is refused. */
export const orRefused = (text: string, now: number, flag = "--since"): Effect.Effect<number, Refused> => {
  const moment = parse(text, now)
  if (moment !== undefined) return Effect.succeed(moment)
  const found = JSON.stringify(Prose.clip(Prose.oneLine(text), 60))
  return Effect.fail(
    new Refused({ message: `${flag}: found ${found}; expected ${EXPECTED}.`, exitCode: ExitCode.USAGE })
  )
}

// --- internal

/** A day may have 23 or 25 hours. */
const startOf = (now: number, daysAgo: number): number => {
  const day = new Date(now)
  day.setDate(day.getDate() - daysAgo)
  return day.setHours(0, 0, 0, 0)
}

const TIME_OF_DAY = /^([01]?\d|2[0-3]):([0-5]\d)$/

/** RFC 3339, or a day alone; `Date.parse` would accept many other texts. */
const DATE = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)?$/i
