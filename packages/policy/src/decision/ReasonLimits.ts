/**
 * Limits the retries and the waiting for failures of one reason (X11), beside the step's own limits.
 *
 * Only failures of its reason count, in any order: four rate limits are four, with any other failures between them. A person's extension
 * of the step's budget (X4) counts here too: otherwise it would have no effect.
 */
import type { RetryStrategy } from "@holdfast/kernel"
import type { Failure, TurnEvent } from "@holdfast/wire"
import type * as Budget from "./Budget.ts"
import type { ReasonWait } from "./WaitRules.ts"

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
  readonly budget: Budget.WaitBudget
}

/** Returns the budget of a reason; `undefined`: it has none. */
export const budgetOf = (
  { budget, reasons }: Rules,
  reason: Failure.Reason | undefined
): Budget.WaitBudget | undefined => {
  const own = reason && reasons[reason]?.budget
  return own && { totalMs: own.totalMs, clip: own.clip ?? budget.clip, measure: budget.measure }
}

/** Whether a reason has its own limit. */
export const has = ({ reasons }: Pick<Rules, "reasons">, reason: Failure.Reason | undefined): boolean => {
  const own = reason && reasons[reason]
  return own?.budget !== undefined || own?.maxRetries !== undefined
}

/** Returns the spending that counts against a reason's budget: its own part, or, if that is unknown, all of the step's spending. */
export const spentOn = ({ onReason, ...whole }: RetryStrategy.Spent): Omit<RetryStrategy.Spent, "onReason"> =>
  onReason === undefined ? whole : { ...whole, sleptMs: onReason.sleptMs, elapsedMs: onReason.elapsedMs }
