/**
 * Writes durations in words, `4 m 59 s`, and reads lengths of time as a person writes them: `12 hours`, `12h`, `1h30m`. Pure.
 *
 * `format` is exact to the millisecond, so a schedule can be added up by hand. A countdown shows whole seconds, rounded up: it never shows
 * less than the time left, shows `0 s` only when the time has come, and never grows with time.
 */
import { Duration, Option } from "effect"

/** A duration, exact to the millisecond. Zero units are left out: `7 h 31 m 45 s`, `5 m`, `1.5 s`, `250 ms`. */
export const format = (ms: number): string => {
  const whole = Math.max(0, Math.ceil(ms))
  if (whole < 1000) return whole === 0 ? "0 s" : `${whole} ms`
  return written(split(whole, HOURS).filter(([count]) => count > 0))
}

/** A duration as settings have it, exact to the millisecond: whole days as days, and any other as `format` writes it: `30 d`, `36 h`. */
export const setting = (ms: number): string => (ms >= DAY && ms % DAY === 0 ? `${ms / DAY} d` : format(ms))

/** The text of a countdown: `4 m 59 s`, `1 h 0 m 5 s`. Units below the first one stay even if 0, so that the text does not jump. */
export const countdown = (ms: number): string => {
  const parts = split(Math.max(0, Math.ceil(ms / 1000)) * 1000, HOURS)
  return written(parts.slice(parts.findIndex(([count]) => count > 0)))
}

/** A duration in two units at most: `2 d 3 h`, `4 m 5 s`, `12 s`. It is rounded down, and never negative. */
export const rough = (ms: number): string => {
  const parts = split(Math.max(0, Math.floor(ms / 1000)) * 1000, [["d", DAY], ...HOURS])
  const first = parts.findIndex(([count]) => count > 0)
  return first === -1 ? "0 s" : written(parts.slice(first, first + 2).filter(([count]) => count > 0))
}

/** A finite length of time; `undefined` if the text is none. A sign is ignored. */
export const parse = (text: string): Duration.Duration | undefined => {
  const parts = WHOLE.test(text) ? Array.from(text.matchAll(PART), ([part]) => spelledOut(part) ?? part) : [text]
  let sum = Duration.zero
  for (const part of parts) {
    // `fromInput` checks the text.
    const length = Option.getOrUndefined(Duration.fromInput(part as Duration.Input))
    if (length === undefined || !Duration.isFinite(length)) return undefined
    sum = Duration.sum(sum, Duration.abs(length))
  }
  return sum
}

/** The form of a configuration for a length of one unit, such as "8 hours" for "8h"; `undefined` for any other text. */
export const spelledOut = (text: string): string | undefined => {
  const [, count, name = ""] = ONE.exec(text) ?? []
  const unit = UNITS.get(name.toLowerCase())
  return unit === undefined ? undefined : `${count} ${unit}`
}

// --- internal

const DAY = 24 * 3_600_000

type Units = ReadonlyArray<readonly [name: string, ms: number]>

const HOURS: Units = [
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000]
]

/** How many there are of each unit; the last has the rest. */
const split = (ms: number, units: Units) =>
  units.map(([name, size], i) => {
    const count = (ms % (units[i - 1]?.[1] ?? Infinity)) / size
    return [i === units.length - 1 ? count : Math.floor(count), name] as const
  })

const written = (parts: ReturnType<typeof split>): string => parts.map((part) => part.join(" ")).join(" ")

const ONE = /^\s*(\d{1,15}(?:\.\d{1,15})?)\s*([a-z]+)\s*$/i

const PART = /\d{1,15}(?:\.\d{1,15})?\s*[a-z]+/gi

const WHOLE = /^\s*(?:\d{1,15}(?:\.\d{1,15})?\s*[a-z]+\s*)+$/i

/** Units by the names that people give them. */
const UNITS = new Map(
  Object.entries({
    millis: ["ms", "msec", "msecs", "millis", "millisecond", "milliseconds"],
    seconds: ["s", "sec", "secs", "second", "seconds"],
    minutes: ["m", "min", "mins", "minute", "minutes"],
    hours: ["h", "hr", "hrs", "hour", "hours"],
    days: ["d", "day", "days"],
    weeks: ["w", "wk", "wks", "week", "weeks"]
  }).flatMap(([unit, names]) => names.map((name): [string, string] => [name, unit]))
)
