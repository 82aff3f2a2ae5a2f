/** The values within a script's name: durations, whole numbers, and text that holds what the syntax needs for itself. */
import { Duration } from "effect"

/** A longer wait than a week would only be a slip of the finger. */
const MAX_DURATION_MS = Duration.toMillis(Duration.days(7))

const units = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const

/** Reads `90s`; `undefined` where it is no duration. */
export const readDuration = (text: string): number | undefined => {
  const [, digits, unit] = /^(\d{1,9})(h|m|s|ms)$/.exec(text) ?? []
  if (digits === undefined) return undefined
  const ms = Number(digits) * units[unit === "h" || unit === "m" || unit === "s" ? unit : "ms"]
  return ms <= MAX_DURATION_MS ? ms : undefined
}

/** Writes a duration in the largest unit in which it is whole. */
export const writeDuration = (ms: number): string => {
  if (ms > 0 && ms % units.h === 0) return `${ms / units.h}h`
  if (ms > 0 && ms % units.m === 0) return `${ms / units.m}m`
  return ms % units.s === 0 ? `${ms / units.s}s` : `${ms}ms`
}

/** Reads a whole number up to `max`. */
export const readWholeNumber = (digits: string, max: number): number | undefined =>
  /^\d{1,9}$/.test(digits) && Number(digits) <= max ? Number(digits) : undefined

export const twoDigits = (n: number): string => String(n).padStart(2, "0")

/** Writes text so that it holds nothing of the syntax. */
export const encode = (value: string): string =>
  encodeURIComponent(value).replaceAll("%20", " ").replaceAll("%3A", ":").replaceAll("%2F", "/")

/** Reads it again; `undefined` where a percent sign stands wrong, or a character that must be encoded is not. */
export const decode = (value: string): string | undefined => {
  if (value.includes("=") || !value.isWellFormed()) return undefined
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}
