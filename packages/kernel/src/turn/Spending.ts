/**
 * Counts what a step has spent on failures: in total, and by reason (D2, X11). Pure.
 *
 * - It follows from the recorded failures, decisions and waits alone: a step that resumes has spent the same amount.
 * - Every failure and every wait counts for one reason, so the shares of the reasons add up to the total.
 */
import type { Failure } from "@holdfast/wire"
import type { Spent } from "../ports/RetryStrategy.ts"

/** The amounts that a step has spent until now. */
export interface Spending {
  /** Retries so far; the number of the next one. */
  readonly retries: number
  /** Sleep that was scheduled, in milliseconds. */
  readonly sleptMs: number
  /** The amount that a person added to the budget (X4), in milliseconds. */
  readonly extendedMs: number
  /** Epoch milliseconds. */
  readonly firstFailureAt: number | undefined
  readonly reasons: Shares
}

type Shares = Readonly<Partial<Record<Failure.Reason, Share>>>

/** The amounts spent on failures of one reason. Times are in milliseconds. */
export interface Share {
  readonly retries: number
  readonly sleptMs: number
  readonly firstFailureAt: number
}

/** The spending of a step without a failure. */
export const none: Spending = {
  retries: 0,
  sleptMs: 0,
  extendedMs: 0,
  firstFailureAt: undefined,
  reasons: {}
}

/** Counts a failure; `at` is in epoch milliseconds. */
export const fail = (spending: Spending, { reason }: Failure.Failure, at: number): Spending => ({
  ...spending,
  firstFailureAt: spending.firstFailureAt ?? at,
  reasons: { ...spending.reasons, [reason]: shareOf(spending, reason, at) }
})

/** Returns the spending at a failure that was counted. `spread` is drawn for the decision about it. */
export const spentAt = (spending: Spending, { reason }: Failure.Failure, at: number, spread: number): Spent => {
  const { extendedMs, firstFailureAt = at, sleptMs } = spending
  const share = shareOf(spending, reason, at)
  return {
    sleptMs,
    elapsedMs: Math.max(0, at - firstFailureAt),
    extendedMs,
    onReason: {
      retries: share.retries,
      sleptMs: share.sleptMs,
      elapsedMs: Math.max(0, at - share.firstFailureAt)
    },
    spread
  }
}

/** Counts a retry, with the delay that was decided, for the failure that it follows: when its wait is over, or at once without a wait. */
export const retry = (
  { reasons, retries, sleptMs, ...spending }: Spending,
  { reason }: Pick<Failure.Failure, "reason">,
  delayMs: number
): Spending => {
  const share = reasons[reason]
  return {
    ...spending,
    retries: retries + 1,
    sleptMs: sleptMs + delayMs,
    reasons:
      share === undefined
        ? reasons
        : { ...reasons, [reason]: { ...share, retries: share.retries + 1, sleptMs: share.sleptMs + delayMs } }
  }
}

/** Counts an extension of the budget by a person (X4), in milliseconds. */
export const extend = (spending: Spending, byMs: number): Spending =>
  byMs === 0 ? spending : { ...spending, extendedMs: spending.extendedMs + byMs }

// --- internal

/** The part of a reason; `at` is the time of its failure. */
const shareOf = ({ reasons }: Spending, reason: Failure.Reason, at: number): Share =>
  reasons[reason] ?? { retries: 0, sleptMs: 0, firstFailureAt: at }
