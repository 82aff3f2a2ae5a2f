/**
 * Limits the total waiting time of a step: what was spent plus what is granted never exceeds the total, of which an extension by a
 * person (X4) is a part.
 *
 * `measure` selects the time that counts: the scheduled sleep, or the time since the step's first failure, attempts included (D2). By
 * default a wait that does not fit is refused as a whole, so a rest of the budget stays unused (D1: 1,695 s of 8 h). With `clip` the
 * last wait is cut to the rest, but never below a provider's hint (P5): that attempt would come too early and fail.
 */
import { RetryStrategy } from "@holdfast/kernel"
import type { Failure, TurnEvent } from "@holdfast/wire"
import type { ReasonWait } from "./WaitRules.ts"

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

// Limits the retries and the waiting for failures of one reason (X11), beside the step's own limits.
//
// Only failures of its reason count, in any order: four rate limits are four, with any other failures between them. A person's extension
// of the step's budget (X4) counts here too: otherwise it would have no effect.

/** The limits of a reason; absent: only the step's own limit holds. */
export interface ReasonLimits {
  /** Retries that follow failures of this reason, as the policy's `counts` counts them. */
  readonly maxRetries?: number
  /** The total waiting time for them. The policy's `measure` applies. */
  readonly budget?: {
    /** Milliseconds. */
    readonly totalMs: number
    /** Cuts the last wait to the rest of the budget, instead of refusing it. Absent: as in the policy's budget. */
    readonly clip?: boolean
  }
}

/** The rule of a policy for one reason. */
export interface ReasonRule extends ReasonWait, ReasonLimits {
  /** What follows a failure of this reason after content (X7); absent: as in the policy. */
  readonly midStream?: TurnEvent.MidStream
}

/** By reason. */
export type ReasonRules = { readonly [Reason in Failure.Reason]?: ReasonRule }

/** The parts of a policy that are used here. */
interface Rules {
  readonly reasons: ReasonRules
  readonly budget: WaitBudget
}

/** Returns the budget of a reason; `undefined`: it has none. */
export const ofReason = ({ budget, reasons }: Rules, reason: Failure.Reason | undefined): WaitBudget | undefined => {
  const own = reason && reasons[reason]?.budget
  return own && { totalMs: own.totalMs, clip: own.clip ?? budget.clip, measure: budget.measure }
}

/** Whether a reason has its own limit. */
export const hasReasonLimits = ({ reasons }: Pick<Rules, "reasons">, reason: Failure.Reason | undefined): boolean => {
  const own = reason && reasons[reason]
  return own?.budget !== undefined || own?.maxRetries !== undefined
}

/** Returns the spending that counts against a reason's budget: its own part, or, if that is unknown, all of the step's spending. */
export const spentOn = ({ onReason, ...whole }: RetryStrategy.Spent): Omit<RetryStrategy.Spent, "onReason"> =>
  onReason === undefined ? whole : { ...whole, sleptMs: onReason.sleptMs, elapsedMs: onReason.elapsedMs }
