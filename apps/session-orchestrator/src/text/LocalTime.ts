/** Writes moments in a time zone: a time of day, with its date where the day is not clear. Pure. */

/** A period in a time zone. Times are in epoch milliseconds. */
export interface LocalPeriod {
  readonly since: number
  readonly until: number
  /** As the time zone database names it: `UTC`, `Europe/Berlin`. */
  readonly timeZone: string
}

/** The time zone of this process. */
export const here = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

/** A date and a time of day in minutes: `2031-04-01 22:00`. */
export const full = (timeZone: string): ((at: number) => string) => {
  // Swedish writes dates as ISO 8601 does.
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" })
  return (at) => format.format(at)
}

/** Moments of a period: the time of day alone if it is at most a day long, and for moments of that day. */
export const within = ({ since, timeZone, until }: LocalPeriod): ((at: number) => string) => {
  const write = full(timeZone)
  return (at) => {
    const text = write(at)
    const isClear = until - since <= DAY && at >= since && at <= until
    return isClear ? text.slice(text.indexOf(" ") + 1) : text
  }
}

/** Moments to the second, in the time zone of this process: the time of day alone if it is on the day of `now`. */
export const toSeconds =
  (now: number) =>
  (at: number): string => {
    const date = new Date(at)
    const time = date.toTimeString().slice(0, 8)
    if (date.toDateString() === new Date(now).toDateString()) return time
    const two = (n: number) => String(n).padStart(2, "0")
    return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`
  }

// --- internal

const DAY = 86_400_000
