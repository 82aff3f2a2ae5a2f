/**
 * Finds the moments of a time of day in the time zone of this process. Pure.
 *
 * There is one a day. A time that the clocks skip in spring is an hour later on that day; of a time that they repeat in autumn the first
 * counts.
 */

/** The texts that are times of day, such as `07:00`. */
export const PATTERN = /^(?:[01]\d|2[0-3]):[0-5]\d$/u

/** The last moment of a time of day up to `now`, in epoch milliseconds. */
export const last = (time: string, now: number): number => {
  const today = onDay(time, now, 0)
  return today <= now ? today : onDay(time, now, -1)
}

/** The next moment of a time of day after `now`. */
export const next = (time: string, now: number): number => {
  const today = onDay(time, now, 0)
  return today > now ? today : onDay(time, now, 1)
}

/** The moment of a time of day so many days after `now`. */
export const onDay = (time: string, now: number, days: number): number => {
  const [hours = 0, minutes = 0] = time.split(":").map(Number)
  const date = new Date(now)
  date.setHours(0, 0, 0, 0)
  date.setDate(date.getDate() + days)
  date.setHours(hours, minutes, 0, 0)
  return date.getTime()
}
