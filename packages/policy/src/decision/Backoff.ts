/**
 * Computes the delay before each retry from its number alone: a whole number of milliseconds from 0 to `LONGEST_MS`, for any schedule.
 * Limits, jitter and hints are in other files.
 */

/** Delays one by one, then `tailMs` repeatedly. */
export interface Steps {
  readonly type: "steps"
  readonly delaysMs: ReadonlyArray<number>
  readonly tailMs: number
}

/** `baseMs`, multiplied by `factor` from one retry to the next. */
export interface Exponential {
  readonly type: "exponential"
  readonly baseMs: number
  readonly factor: number
}

/** `baseMs`, plus `incrementMs` from one retry to the next. */
export interface Linear {
  readonly type: "linear"
  readonly baseMs: number
  readonly incrementMs: number
}

/** The delays before retries, by the number of the retry. */
export type Schedule = Steps | Exponential | Linear

/** A year, in milliseconds: the longest wait. Sums of such delays stay exact numbers. */
export const LONGEST_MS = 365 * 86_400_000

/** Makes a schedule of steps, in milliseconds; without a tail the last step is repeated. */
export const steps = (
  delaysMs: readonly [number, ...ReadonlyArray<number>],
  tailMs: number = delaysMs.at(-1) ?? delaysMs[0]
): Steps => ({ type: "steps", delaysMs, tailMs })

/** Makes a schedule that multiplies. */
export const exponential = (baseMs: number, factor: number): Exponential => ({ type: "exponential", baseMs, factor })

/** Makes a schedule that adds. */
export const linear = (baseMs: number, incrementMs: number): Linear => ({ type: "linear", baseMs, incrementMs })

const SECOND = 1000
const MINUTE = 60 * SECOND

/** 5 s, 10 s, 30 s, 60 s, 5 min, 10 min, 15 min, 30 min, then every 30 minutes (D1). */
export const overnight: Schedule = steps([
  5 * SECOND,
  10 * SECOND,
  30 * SECOND,
  60 * SECOND,
  5 * MINUTE,
  10 * MINUTE,
  15 * MINUTE,
  30 * MINUTE
])

/** 2 s, 4 s, 8 s … (P4). */
export const interactive: Schedule = exponential(2 * SECOND, 2)

/** Returns the delay before retry `n` (0-based), in milliseconds. */
export const delayAt = (schedule: Schedule, n: number): number => {
  switch (schedule.type) {
    case "steps":
      return bounded(schedule.delaysMs[n] ?? schedule.tailMs)
    case "exponential":
      // 0 times an infinite power would be NaN.
      return schedule.baseMs === 0 ? 0 : bounded(schedule.baseMs * schedule.factor ** n)
    case "linear":
      return bounded(schedule.baseMs + schedule.incrementMs * n)
    default:
      return schedule satisfies never
  }
}

/**
 * Returns the sum of the delays before retry `n`, in milliseconds: the total sleep if each was slept to its end.
 *
 * **Details**
 *
 * Stops adding once the sum is above `enoughMs`, which bounds the time for a large `n`.
 */
export const sumBefore = (schedule: Schedule, n: number, enoughMs: number = Infinity): number => {
  let sum = 0
  for (let i = 0; i < n && sum <= enoughMs; i++) sum += delayAt(schedule, i)
  return sum
}

/** Adds from 0 up to `factor` times the delay: never less than the delay itself (P5). `factor` is from 0 to 1. */
export interface Jitter {
  readonly factor: number
}

/** Adds nothing. */
export const noJitter: Jitter = { factor: 0 }

/** Returns the jitter of a delay, in whole milliseconds: from 0 up to, and not including, `factor` times the delay. */
export const jitterMs = (jitter: Jitter, delayMs: number, spread: number): number =>
  Math.floor(delayMs * jitter.factor * spread)

// --- internal

const bounded = (ms: number): number => (ms < LONGEST_MS ? Math.max(0, Math.round(ms)) : LONGEST_MS)
