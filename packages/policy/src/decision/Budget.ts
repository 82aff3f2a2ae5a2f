/**
 * Limits the total waiting time of a step: what was spent plus what is granted never exceeds the total, of which an extension by a
 * person (X4) is a part.
 *
 * `measure` selects the time that counts: the scheduled sleep, or the time since the step's first failure, attempts included (D2). By
 * default a wait that does not fit is refused as a whole, so a rest of the budget stays unused (D1: 1,695 s of 8 h). With `clip` the
 * last wait is cut to the rest, but never below a provider's hint (P5): that attempt would come too early and fail.
 */
import { RetryStrategy } from "@holdfast/kernel"

/** The time that the budget counts. */
export type Measure = RetryStrategy.Budget["measure"]

/** A limit of the total waiting time of a step. */
export interface WaitBudget {
  /** Milliseconds. Absent: unlimited. */
  readonly totalMs?: number
  readonly measure: Measure
  readonly clip: boolean
}

/** 8 hours: a night (D1). */
export const OVERNIGHT_MS = 8 * 3_600_000

/** 8 hours of scheduled sleep, strict (D1). */
export const overnight: WaitBudget = { totalMs: OVERNIGHT_MS, measure: "scheduled", clip: false }

/** A week, and a day more: the limit of a plan that ends once a week. */
export const weekly: WaitBudget = { ...overnight, totalMs: 8 * 24 * 3_600_000 }

/** A budget without a limit. */
export const unlimited: WaitBudget = { measure: "scheduled", clip: false }

type Spent = Pick<RetryStrategy.Spent, "sleptMs" | "elapsedMs" | "extendedMs">

/** Returns the rest of the budget, in milliseconds; never negative, `Infinity` without a total. */
export const remainingMs = (budget: WaitBudget, spent: Spent): number => {
  return Math.max(0, RetryStrategy.leftMs(budget, spent))
}

/** Whether more than the total was spent. By wall-clock the attempts alone can exceed it; then not even a retry without a wait is allowed. */
export const isExceeded = (budget: WaitBudget, spent: Spent): boolean => RetryStrategy.leftMs(budget, spent) < 0

/**
 * Returns the granted part of a wait, in milliseconds; `undefined`: it is refused.
 *
 * **Details**
 *
 * `atLeastMs` is the part of the wait that must not be cut; 0 without a hint.
 */
export const grant = (
  budget: WaitBudget,
  leftMs: number,
  delayMs: number,
  atLeastMs: number = 0
): number | undefined => {
  if (delayMs <= leftMs) return delayMs
  return budget.clip && leftMs > 0 && atLeastMs <= leftMs ? leftMs : undefined
}
