/** Reads lengths of time as a person writes them: "12 hours", "12h", "1h30m". Pure. */
import { Duration, Option } from "effect"

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
