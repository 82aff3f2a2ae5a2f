/**
 * Finds the moments of a time of day in the time zone of this process. Pure.
 *
 * There is one a day. A time that the clocks skip in spring is an hour later on that day; of a time that they repeat in autumn the first
 * counts.
 */

/** A time of day. */
export interface TimeOfDay {
  readonly hours: number
  readonly minutes: number
}

/** Reads `07:00`; `undefined` if it is no time of day. */
export const parse = (text: string): TimeOfDay | undefined => {
  const [, hours, minutes] = PATTERN.exec(text) ?? []
  return hours === undefined ? undefined : { hours: Number(hours), minutes: Number(minutes) }
}

/** The last moment of a time of day up to `now`, in epoch milliseconds. */
export const last = (time: TimeOfDay, now: number): number => {
  const today = onDay(time, now, 0)
  return today <= now ? today : onDay(time, now, -1)
}

/** The next moment of a time of day after `now`. */
export const next = (time: TimeOfDay, now: number): number => {
  const today = onDay(time, now, 0)
  return today > now ? today : onDay(time, now, 1)
}

/** The texts that `parse` reads. */
export const PATTERN = /^([01]\d|2[0-3]):([0-5]\d)$/

/** The moment of a time of day so many days after `now`. */
export const onDay = ({ hours, minutes }: TimeOfDay, now: number, days: number): number => {
  const date = new Date(now)
  date.setHours(0, 0, 0, 0)
  date.setDate(date.getDate() + days)
  date.setHours(hours, minutes, 0, 0)
  return date.getTime()
}
