/** Durations and moments for people, in the units and the clock of the command line. Pure. */
import { Rfc3339 } from "@holdfast/wire"

/** A countdown: `7 h 02 m`, `4 m 09 s`, `9 s`. Rounded up, so that it reads 0 s only once it is over. */
export const countdown = (ms: number): string => {
  const seconds = Math.max(0, Math.ceil(ms / 1_000))
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  if (hours > 0) return `${hours} h ${padded(minutes % 60)} m`
  return minutes > 0 ? `${minutes} m ${padded(seconds % 60)} s` : `${seconds} s`
}

/** A length of time: `3 h`, `1 h 30 m`, `45 s`, `200 ms`. */
export const duration = (ms: number): string => {
  if (ms > 0 && ms < 1_000) return `${Math.round(ms)} ms`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} m` : `${minutes} m ${seconds % 60} s`
  const hours = Math.floor(minutes / 60)
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} m`
}

/** A time of day to the second, with the date where it is not the day of `now`. */
export const time = (at: number, now: number): string => {
  const seconds = ofSecond().format(at)
  return new Date(at).toDateString() === new Date(now).toDateString() ? seconds : moment(at, now)
}

/** A time of day, with the date where it is not the day of `now`. */
export const moment = (at: number, now: number): string => {
  const date = new Date(at)
  const time = clock(at)
  if (date.toDateString() === new Date(now).toDateString()) return time
  return `${ofDay().format(date)}, ${time}`
}

/** A time of day alone: `04:57`. */
export const clock = (at: number): string => ofMinute().format(at)

/** A time of day, to the second where the wait that ends there is shorter than a minute. */
export const after = (at: number, waitMs: number): string => (waitMs < 60_000 ? ofSecond() : ofMinute()).format(at)

/** A text of the service, whose times are UTC, with times of this place. */
export const local = (words: string, now: number): string => Rfc3339.local(words, (at) => time(at, now))

/** A moment as a field for local times (`datetime-local`) has it, to the minute. */
export const forField = (at: number): string =>
  new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)

// --- internal

/** A format of the person's language, made at its first use: making one takes as long as hundreds of its uses. */
const format = (options: Intl.DateTimeFormatOptions): (() => Intl.DateTimeFormat) => {
  let made: Intl.DateTimeFormat | undefined = undefined
  return () => (made ??= new Intl.DateTimeFormat(undefined, options))
}

const ofMinute = format({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" })
const ofSecond = format({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" })
const ofDay = format({ weekday: "short", day: "numeric", month: "short" })

const padded = (value: number): string => String(value).padStart(2, "0")
