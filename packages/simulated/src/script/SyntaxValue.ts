/** Parses the values in a script: durations, sizes, whole numbers, encoded text. */
import * as Duration from "effect/Duration"

/** The longest duration: a week. A longer one is a mistake. */
const MAX_DURATION_MS = Duration.toMillis(Duration.days(7))

const units = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const

/** Parses `90s` or `7h30m` to milliseconds; `undefined` where it is no duration. */
export const readDuration = (text: string): number | undefined => {
  const read = /^(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?$/.exec(text)
  if (text === "" || read === null) return undefined
  const [h = 0, m = 0, s = 0, ms = 0] = read.slice(1).map((digits) => Number(digits ?? 0))
  const total = h * units.h + m * units.m + s * units.s + ms
  return total <= MAX_DURATION_MS ? total : undefined
}

/** Parses a time of day in UTC, `07:00Z`, to its minute of the day; `undefined` for any other text. */
export const readTimeOfDay = (text: string): number | undefined => {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)Z$/.exec(text) ?? []
  return hours === undefined ? undefined : Number(hours) * 60 + Number(minutes)
}

const sizes = { MB: 1_000_000, kB: 1_000, B: 1 } as const

/** Parses `10kB` to bytes; `undefined` where it is no size. */
export const readSize = (text: string): number | undefined => {
  const [, digits = "", unit] = /^(\d{1,9})(B|kB|MB)$/.exec(text) ?? []
  return unit === "B" || unit === "kB" || unit === "MB" ? Number(digits) * sizes[unit] : undefined
}

/** Formats a size in the largest unit in which it is a whole number; `space` is between number and unit. */
export const writeSize = (bytes: number, space = ""): string => {
  const unit = bytes > 0 && bytes % sizes.MB === 0 ? "MB" : bytes > 0 && bytes % sizes.kB === 0 ? "kB" : "B"
  return `${bytes / sizes[unit]}${space}${unit}`
}

/** Parses a whole number up to `max`; `undefined` for any other text. */
export const readWholeNumber = (digits: string, max: number): number | undefined =>
  /^\d{1,9}$/.test(digits) && Number(digits) <= max ? Number(digits) : undefined

/** Decodes percent-encoded text; `undefined` where a percent sign is misplaced, or a character is not encoded that must be. */
export const decode = (value: string): string | undefined => {
  if (value.includes("=") || !value.isWellFormed()) return undefined
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}
