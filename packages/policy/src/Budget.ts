/**
 * How much waiting a step may cost in all.
 *
 * B1. What has been spent and what is granted never exceed the total together.
 * B2. What has been spent is counted by `measure`: the sleep that was scheduled, or the time since the step's first
 *     failure, which also counts what the attempts themselves took (D2).
 * B3. Strict, the default: a wait that does not fit is refused whole, so a rest of the budget stays unused (D1:
 *     1,695 s of 8 h). With `clip` the last wait is cut to what is left.
 * B4. What a person added to a step's budget (X4) counts as part of its total.
 * B5. Clipping never cuts a wait short that a provider asked for (P5): that attempt would come too early and fail.
 */
import { RetryStrategy } from "@holdfast/kernel"

/** What the budget counts. */
export type Measure = RetryStrategy.Budget["measure"]

export interface Budget {
  /** Milliseconds. Absent: unlimited. */
  readonly totalMs?: number
  readonly measure: Measure
  readonly clip: boolean
}

/** 8 hours: a night (D1). */
export const OVERNIGHT_MS = 8 * 3_600_000

/** 8 hours of scheduled sleep, strict (D1). */
export const overnight: Budget = { totalMs: OVERNIGHT_MS, measure: "scheduled", clip: false }

/** No limit in time. */
export const unlimited: Budget = { measure: "scheduled", clip: false }

type Spent = Pick<RetryStrategy.Spent, "sleptMs" | "elapsedMs" | "extendedMs">

/** What is left, in milliseconds; never negative, `Infinity` without a total. */
export const remainingMs = (budget: Budget, spent: Spent): number => {
  return Math.max(0, RetryStrategy.leftMs(budget, spent))
}

/** Whether more has been spent than there was: by wall-clock the attempts themselves can do that, and then not even a retry without a wait is left. */
export const isExceeded = (budget: Budget, spent: Spent): boolean => RetryStrategy.leftMs(budget, spent) < 0

/**
 * What is granted of a wait, in milliseconds; `undefined` when it is refused.
 *
 * **Details**
 *
 * `atLeastMs` is the part of the wait that must not be cut (B5); 0 when nobody asked for one.
 */
export const grant = (budget: Budget, leftMs: number, delayMs: number, atLeastMs: number = 0): number | undefined => {
  if (delayMs <= leftMs) return delayMs
  return budget.clip && leftMs > 0 && atLeastMs <= leftMs ? leftMs : undefined
}
