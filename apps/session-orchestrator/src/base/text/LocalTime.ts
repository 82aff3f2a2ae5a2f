/** Writes moments in a time zone: a time of day, with its date where the day is not clear. Pure. */

/** A period in a time zone. Times are in epoch milliseconds. */
interface LocalPeriod {
  readonly since: number
  readonly until: number
  /** As the time zone database names it: `UTC`, `Europe/Berlin`. */
  readonly timeZone: string
}

/** The time zone of this process. */
export const here = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

/** A date and a time of day in minutes, `2031-04-01 22:00`, or to the second (`medium`). */
export const full = (timeZone: string, timeStyle: "short" | "medium" = "short"): ((at: number) => string) => {
  // Swedish writes dates as ISO 8601 does.
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle })
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
export const toSeconds = (now: number): ((at: number) => string) => seenFrom(clock(here()), now)

/** A moment as a date and a time of day to the second. */
export type Clock = (at: number) => { readonly date: string; readonly time: string }

/** The clock of a time zone. */
export const clock = (timeZone: string): Clock => {
  const write = full(timeZone, "medium")
  return (at) => {
    const [date = "", time = ""] = write(at).split(" ")
    return { date, time }
  }
}

/** Moments with their dates, but for those on the day of `from`. */
export const seenFrom = (clock: Clock, from: number | undefined): ((at: number) => string) => {
  const day = from === undefined ? undefined : clock(from).date
  return (at) => {
    const { date, time } = clock(at)
    return date === day ? time : `${date} ${time}`
  }
}

// --- internal

const DAY = 86_400_000
