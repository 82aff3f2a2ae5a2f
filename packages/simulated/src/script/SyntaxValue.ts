/** Parses and formats the values in a script: durations, whole numbers, encoded text. */
import * as Duration from "effect/Duration"

/** The longest duration: a week. A longer one is a mistake. */
const MAX_DURATION_MS = Duration.toMillis(Duration.days(7))

const units = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const

/** Parses `90s` to milliseconds; `undefined` where it is no duration. */
export const readDuration = (text: string): number | undefined => {
  const [, digits, unit] = /^(\d{1,9})(h|m|s|ms)$/.exec(text) ?? []
  if (digits === undefined) return undefined
  const ms = Number(digits) * units[unit === "h" || unit === "m" || unit === "s" ? unit : "ms"]
  return ms <= MAX_DURATION_MS ? ms : undefined
}

/** Formats a duration in the largest unit in which it is a whole number. */
export const writeDuration = (ms: number): string => {
  if (ms > 0 && ms % units.h === 0) return `${ms / units.h}h`
  if (ms > 0 && ms % units.m === 0) return `${ms / units.m}m`
  return ms % units.s === 0 ? `${ms / units.s}s` : `${ms}ms`
}

/** Parses a whole number up to `max`; `undefined` for any other text. */
export const readWholeNumber = (digits: string, max: number): number | undefined =>
  /^\d{1,9}$/.test(digits) && Number(digits) <= max ? Number(digits) : undefined

/** The number with a leading zero where it has one digit. */
export const twoDigits = (n: number): string => String(n).padStart(2, "0")

/** Percent-encodes the characters that the syntax uses. */
export const encode = (value: string): string =>
  encodeURIComponent(value).replaceAll("%20", " ").replaceAll("%3A", ":").replaceAll("%2F", "/")

/** Decodes it; `undefined` where a percent sign is misplaced, or a character is not encoded that must be. */
export const decode = (value: string): string | undefined => {
  if (value.includes("=") || !value.isWellFormed()) return undefined
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}
