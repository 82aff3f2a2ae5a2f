/**
 * How long to wait before each retry, as far as that depends on its number alone.
 *
 * B1. `delayAt` is a pure function of the schedule and the number; limits, jitter and hints are other files' business.
 * B2. A delay is a whole number of milliseconds from 0 to `LONGEST_MS`: finite, whatever the schedule grows to.
 */

/** Delays one by one, then the last one, `tailMs`, again and again. */
export interface Steps {
  readonly type: "steps"
  readonly delaysMs: ReadonlyArray<number>
  readonly tailMs: number
}

/** `baseMs`, and `factor` times as long from one retry to the next. */
export interface Exponential {
  readonly type: "exponential"
  readonly baseMs: number
  readonly factor: number
}

/** `baseMs`, and `incrementMs` longer from one retry to the next. */
export interface Linear {
  readonly type: "linear"
  readonly baseMs: number
  readonly incrementMs: number
}

export type Schedule = Steps | Exponential | Linear

/** A year. Nothing waits longer, and sums of such delays stay exact numbers. */
export const LONGEST_MS = 365 * 86_400_000

/** A schedule by steps; without a tail the last step is repeated. */
export const steps = (
  delaysMs: readonly [number, ...ReadonlyArray<number>],
  tailMs: number = delaysMs.at(-1) ?? delaysMs[0]
): Steps => ({ type: "steps", delaysMs, tailMs })

/** A schedule that multiplies. */
export const exponential = (baseMs: number, factor: number): Exponential => ({ type: "exponential", baseMs, factor })

/** A schedule that adds. */
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

/** The delay before retry `n`, where 0 is the first retry, in milliseconds. */
export const delayAt = (schedule: Schedule, n: number): number => {
  switch (schedule.type) {
    case "steps":
      return bounded(schedule.delaysMs[n] ?? schedule.tailMs)
    case "exponential":
      // 0 times an infinite power would be no number.
      return schedule.baseMs === 0 ? 0 : bounded(schedule.baseMs * schedule.factor ** n)
    case "linear":
      return bounded(schedule.baseMs + schedule.incrementMs * n)
    default:
      return schedule satisfies never
  }
}

/**
 * The sum of the delays before retry `n`: what has been slept when every one of them was slept to its end.
 *
 * **Details**
 *
 * Stops adding once the sum is above `enoughMs`, so that asking for a far retry costs no more than the budget allows.
 */
export const sumBefore = (schedule: Schedule, n: number, enoughMs: number = Infinity): number => {
  let sum = 0
  for (let i = 0; i < n && sum <= enoughMs; i++) sum += delayAt(schedule, i)
  return sum
}

// --- internal

const bounded = (ms: number): number => (ms < LONGEST_MS ? Math.max(0, Math.round(ms)) : LONGEST_MS)
