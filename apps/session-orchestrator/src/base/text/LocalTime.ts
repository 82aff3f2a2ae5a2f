/** Writes moments in a time zone, with their date where the day is not clear; and finds the moments of a daily time such as `07:00`. Pure. */
import type { PeriodReport } from "@holdfast/wire"

/** A period in a time zone. */
type LocalPeriod = Pick<PeriodReport.PeriodReport, "since" | "until" | "timeZone">

/** Writes a moment, in epoch milliseconds. */
export type Format = (at: number) => string

/** The time zone of this process. */
export const here = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

/** A date and a time of day in minutes, `2031-04-01 22:00`, or to the second (`medium`). */
export const full = (timeZone: string, timeStyle: "short" | "medium" = "short"): Format => {
  // Swedish writes dates as ISO 8601 does.
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle })
  return (at) => format.format(at)
}

/** Moments of a period: the time of day alone if it is at most a day long, and for moments of that day. */
export const within = ({ since, timeZone, until }: LocalPeriod): Format => {
  const write = full(timeZone)
  return (at) => {
    const text = write(at)
    const isClear = until - since <= DAY && at >= since && at <= until
    return isClear ? text.slice(text.indexOf(" ") + 1) : text
  }
}

/** Moments to the second, in the time zone of this process: the time of day alone if it is on the day of `now`. */
export const toSeconds = (now: number): Format => seenFrom(full(here(), "medium"), now)

/** Moments as `write` has them, with their dates, but for those on the day of `from`. */
export const seenFrom = (write: Format, from: number | undefined): Format => {
  const day = from === undefined ? "" : write(from).replace(/ .*/, " ")
  return (at) => write(at).replace(day, "")
}

// Finds the moments of a time of day in the time zone of this process. Pure.
//
// There is one a day. A time that the clocks skip in spring is an hour later on that day; of a time that they repeat in autumn the first
// counts.

/** The texts that are times of day, such as `07:00`. */
export const DAILY = /^(?:[01]\d|2[0-3]):[0-5]\d$/u

/** The last moment of a time of day up to `now`, in epoch milliseconds. */
export const lastDaily = (time: string, now: number): number => {
  const today = onDay(time, now, 0)
  return today <= now ? today : onDay(time, now, -1)
}

/** The next moment of a time of day after `now`. */
export const nextDaily = (time: string, now: number): number => {
  const today = onDay(time, now, 0)
  return today > now ? today : onDay(time, now, 1)
}

/** The moment of a time of day so many days after `now`. */
export const onDay = (time: string, now: number, days: number): number => {
  const [hours = 0, minutes = 0] = time.split(":").map(Number)
  const date = new Date(now)
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + days, hours, minutes).getTime()
}

// --- internal

const DAY = 86_400_000
