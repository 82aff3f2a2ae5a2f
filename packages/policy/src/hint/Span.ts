/**
 * Parses spans of time in the notations of providers to milliseconds.
 *
 * All or nothing: text that is not entirely a number or a span gives `undefined`, never a part of it. (`parseInt` turns the HTTP date "06
 * Nov" into 6; `Number` turns "" into 0 and "0x10" into 16.) No sign, no exponent and at most fifteen digits before the point: the result
 * is finite and never negative.
 */

const NUMBER = String.raw`\d{1,15}(?:\.\d{1,20})?`

const UNIT_MS: { readonly [unit: string]: number } = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000
}

const UNIT = "milliseconds?|millis|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w"

/** `1h`, `2 minutes`, `12ms`; the unit must end at a word boundary. */
const PART = String.raw`${NUMBER}\s?(?:${UNIT})(?![a-z])`

/** Several parts, as in `1h2m3.5s` and "1 hour, 5 minutes and 3 seconds". For use in larger expressions. */
export const PATTERN: string = String.raw`${PART}(?:,?\s{0,4}(?:and\s{1,4})?${PART}){0,5}`

/** A span as a clock shows it, `00:04:10`: hours, minutes and seconds. For use in larger expressions. */
export const CLOCK: string = String.raw`\d{1,3}:\d{2}:\d{2}(?![\d:])`

const WHOLE_NUMBER = new RegExp(`^${NUMBER}$`)
const WHOLE_SPAN = new RegExp(`^${PATTERN}$`, "i")
const PARTS = new RegExp(String.raw`(${NUMBER})\s?(${UNIT})(?![a-z])`, "gi")

/** Parses a plain decimal number, e.g. `20` or `1.5`, without unit. */
export const parseNumber = (text: string): number | undefined => {
  const trimmed = text.trim()
  return WHOLE_NUMBER.test(trimmed) ? Number(trimmed) : undefined
}

/** Parses a span with units to milliseconds: `6m0s`, `12ms`, `34.07s`, `1.5 seconds`. */
export const parse = (text: string): number | undefined => {
  const trimmed = text.trim()
  if (!WHOLE_SPAN.test(trimmed)) return undefined
  let ms = 0
  for (const [, amount, unit] of trimmed.matchAll(PARTS)) ms += Number(amount) * unitMs(unit ?? "")
  return ms
}

/** Parses a span as a clock shows it to milliseconds; minutes and seconds are below 60. */
export const parseClock = (text: string): number | undefined => {
  const [, hours, minutes, seconds] = /^(\d{1,3}):([0-5]\d):([0-5]\d)$/.exec(text.trim()) ?? []
  return hours === undefined ? undefined : (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
}

// --- internal

/** The first letter selects the unit, except that minutes and milliseconds both begin with an m. */
const unitMs = (unit: string): number => {
  const name = unit.toLowerCase()
  const isMillis = name.startsWith("ms") || name.startsWith("mil")
  return UNIT_MS[isMillis ? "ms" : name.charAt(0)] ?? 0
}
