/** The periods that a person can look at. Pure. */
import type { PeriodReport } from "@holdfast/wire"

const HOUR_MS = 3_600_000

/** The hours of each choice, with its words. */
export const CHOICES: ReadonlyArray<readonly [hours: number, words: string]> = [
  [1 / 6, "last 10 minutes"],
  [1, "last hour"],
  [12, "last 12 hours"],
  [24, "last day"],
  [72, "last 3 days"]
]

/** The choice at first: a night. */
export const NIGHT_HOURS = 12

/** The beginning of a period that ends now, down to the minute: so a period has one name for a minute. */
export const sinceOf = (hours: number, now: number): number => {
  const since = now - hours * HOUR_MS
  return since - (since % 60_000)
}

/** The beginning of what there is to see in a period: its first turn or outage, with some room before it. */
export const begunOf = (since: number, until: number, moments: ReadonlyArray<number>): number => {
  if (moments.length === 0) return since
  const first = moments.reduce((a, b) => Math.min(a, b), until)
  return Math.max(since, Math.min(first - (until - first) / 20, until - LEAST_MS))
}

/** A mark on the line of time. */
interface Tick {
  readonly at: number
  /** Part of the width, 0 to 1. */
  readonly place: number
}

/** Marks at whole hours of this place, at most eight. */
export const ticksOf = (since: number, until: number): ReadonlyArray<Tick> => {
  const every = STEPS.find((step) => (until - since) / step <= MOST_TICKS) ?? 24 * HOUR_MS
  const offset = new Date(since).getTimezoneOffset() * 60_000
  const ticks: Array<Tick> = []
  for (let at = Math.ceil((since - offset) / every) * every + offset; at < until; at += every) {
    ticks.push({ at, place: placeOf(at, since, until) })
  }
  return ticks
}

/** Where a moment is in a period: 0 at its beginning, 1 at its end. Moments outside are at the nearer end. */
export const placeOf = (at: number, since: number, until: number): number =>
  until <= since ? 0 : Math.min(1, Math.max(0, (at - since) / (until - since)))

/** The place of a span of time, as the style of an element. */
export const spanOf = (from: number, to: number, since: number, until: number) => {
  const left = placeOf(from, since, until)
  return { left: percent(left), width: percent(placeOf(to, since, until) - left) }
}

/** Until when an outage is known to have lasted. */
export const knownUntil = ({ endedAt, hasUnknownEnd, lastFailureAt }: PeriodReport.Outage, until: number): number =>
  endedAt ?? (hasUnknownEnd === true ? lastFailureAt : until)

/** A part of the width. */
export const percent = (place: number): string => `${(place * 100).toFixed(3)}%`

// --- internal

const MOST_TICKS = 8

/** The shortest line of time. */
const LEAST_MS = 60_000

const STEPS = [
  HOUR_MS / 60,
  HOUR_MS / 30,
  HOUR_MS / 6,
  HOUR_MS / 4,
  HOUR_MS / 2,
  HOUR_MS,
  2 * HOUR_MS,
  3 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS
]
