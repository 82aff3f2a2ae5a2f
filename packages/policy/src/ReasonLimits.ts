/**
 * What failures of one reason may cost a step, within what all of them may (X11).
 *
 * L1. A limit of a reason only takes away: whatever it says, the step's own limits hold too.
 * L2. It counts what failures of its reason have cost, and nothing else, so that the order in which failures come changes
 *     nothing: four rate limits are four, whatever was between them.
 * L3. What a person added to the step's budget (X4) counts here too: without it more time would be of no use.
 */
import type { RetryStrategy } from "@holdfast/kernel"
import type { Failure } from "@holdfast/wire"
import type * as Budget from "./Budget.ts"
import type { ReasonWait } from "./Waits.ts"

/** The limits of a reason; what is absent is the step's own. */
export interface ReasonLimits {
  /** Retries that follow failures of this reason, as the policy's `counts` counts them. */
  readonly maxRetries?: number
  /** How much waiting for them may cost. The policy's `measure` applies. */
  readonly budget?: {
    /** Milliseconds. */
    readonly totalMs: number
    /** Cut the last wait to what is left, instead of refusing it. Absent: as the policy's budget does. */
    readonly clip?: boolean
  }
}

/** All that a policy may say about one reason. */
export interface ReasonRule extends ReasonWait, ReasonLimits {}

/** By reason. */
export type ReasonRules = { readonly [Reason in Failure.Reason]?: ReasonRule }

/** What is needed of a policy. */
interface Rules {
  readonly reasons: ReasonRules
  readonly budget: Budget.Budget
}

/** The budget of a reason; `undefined` where it has none of its own. */
export const budgetOf = ({ budget, reasons }: Rules, reason: Failure.Reason | undefined): Budget.Budget | undefined => {
  const own = reason && reasons[reason]?.budget
  return own && { totalMs: own.totalMs, clip: own.clip ?? budget.clip, measure: budget.measure }
}

/** Whether a reason has any limit of its own. */
export const has = ({ reasons }: Pick<Rules, "reasons">, reason: Failure.Reason | undefined): boolean => {
  const own = reason && reasons[reason]
  return own?.budget !== undefined || own?.maxRetries !== undefined
}

/** What counts against a reason's budget: its own part, or, where nobody says what that is, all that the step has spent. */
export const spentOn = ({ onReason, ...whole }: RetryStrategy.Spent): Omit<RetryStrategy.Spent, "onReason"> =>
  onReason === undefined ? whole : { ...whole, sleptMs: onReason.sleptMs, elapsedMs: onReason.elapsedMs }
