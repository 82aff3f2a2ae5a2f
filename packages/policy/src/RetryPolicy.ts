/**
 * One retry policy, resolved: every primitive as a plain number, and the decision that they make together.
 *
 * The kernel has already said that the failure may be retried at all; here it is decided how long to wait, or that the
 * patience is used up. Nothing here reads a clock or draws a number.
 *
 * R1. A wait is never negative and always finite.
 * R2. It is never shorter than `Waits` says, unless the budget clips it: by default than schedule and hint (P5).
 * R3. It is never above `maxDelayMs`: one that would be is refused at once (P6).
 * R4. No budget is ever exceeded, neither the step's nor a reason's (X11); jitter is cut before a retry is refused for its sake.
 * R5. Everything else equal, the more has been spent the shorter is the wait, down to none.
 */
import type { RetryStrategy } from "@holdfast/kernel"
import type { Failure } from "@holdfast/wire"
import { Data } from "effect"
import * as Backoff from "./Backoff.ts"
import * as Budget from "./Budget.ts"
import type { FinalReport } from "./FinalReport.ts"
import * as Jitter from "./Jitter.ts"
import * as ReasonLimits from "./ReasonLimits.ts"
import type { Routing } from "./routing/Routing.ts"
import type { SpendGuard } from "./SpendGuard.ts"
import * as Waits from "./Waits.ts"

/** How long an attempt may go without progress (C8). The same for every attempt: a limit never shrinks. */
export interface RequestTimeout {
  /** Milliseconds from the request to its first content. */
  readonly firstContentMs: number
  /** Milliseconds from one content to the next. */
  readonly idleMs: number
}

export interface RetryPolicy {
  /** `false`: the first error ends the step. */
  readonly enabled: boolean
  readonly schedule: Backoff.Schedule
  /** How single reasons are waited out, where that differs from the schedule, and what they may cost. */
  readonly reasons: ReasonLimits.ReasonRules
  readonly jitter: Jitter.Jitter
  /** Retries of a step, as `counts` counts them. Every retry counts, one without a wait too. Absent: no limit. */
  readonly maxRetries?: number
  /** Whether `maxRetries` counts the retries after the first attempt (P3), or all attempts (A2). */
  readonly counts: "retries" | "attempts"
  readonly budget: Budget.Budget
  /** Milliseconds. A longer wait fails the turn at once (P6). Absent, 0 or less: no cap (P3). */
  readonly maxDelayMs?: number
  /** Whether a provider's own delay counts (P5). */
  readonly hints: boolean
  /** What is not spent without asking after a long wait (X11). Absent: nothing is asked. */
  readonly spendGuard?: SpendGuard
  readonly requestTimeout: RequestTimeout
  /** Characters of one response (C11). Absent: the kernel's own limit. */
  readonly maxResponseCharacters?: number
  /** Where attempts go. */
  readonly routing: Routing
  /** Steps of a turn, the last of which is the final one (A11). Absent: no limit. */
  readonly maxTurns?: number
  /** Steps in a row with nothing but failed tool calls, after which the turn fails. 0: no limit. Absent: the kernel's own. */
  readonly maxFailedToolSteps?: number
  /** What a turn has to end with (A9 to A14). Absent: whatever the model says last. */
  readonly finalReport?: FinalReport
}

/** Why there is no further retry. */
export type Because = "disabled" | "max-retries" | "max-delay" | "budget"

/** A decision with the numbers behind it. */
export type Decision = Data.TaggedEnum<{
  Delay: {
    /** What to wait, in milliseconds: the sum of what follows, or less where the budget clipped it. */
    readonly delayMs: number
    /** What the schedule says. */
    readonly scheduledMs: number
    /** What the provider asked for, when it counted. */
    readonly hintMs?: number
    /** What chance added. */
    readonly jitterMs: number
    /** The budget cut the wait short. */
    readonly clipped: boolean
  }
  Refused: {
    readonly because: Because
    /** The wait that was refused, where one was considered, in milliseconds. */
    readonly delayMs?: number
    /** The limit is that of the failure's reason (X11). */
    readonly byReason?: true
  }
}>
export const Decision = Data.taggedEnum<Decision>()

/** There is no further retry. */
export type Refused = Extract<Decision, { readonly _tag: "Refused" }>

/**
 * The wait before retry `attempt` (0-based), or why there is none.
 *
 * **Details**
 *
 * The wait is what `Waits` says, by default the longer of schedule and hint, plus jitter. Jitter is a share of the
 * schedule's delay, so that a hint of hours is spread by minutes, not stretched by hours.
 *
 * Without `failure` there is no hint and no reason; without `spent` every earlier delay counts as slept to its end, with no
 * jitter, and for the same reason.
 */
export const decide = (
  policy: RetryPolicy,
  attempt: number,
  failure?: Failure.Failure,
  spent: RetryStrategy.Spent = spentBefore(policy, attempt)
): Decision =>
  ended(policy, attempt, failure?.reason, spent) ??
  grant(policy, Waits.of(policy, attempt, failure), failure?.reason, spent)

/** Why there is no retry `attempt`, not even one without a wait; `undefined` when there may be one. */
export const refusal = (
  policy: RetryPolicy,
  attempt: number,
  { reason }: Failure.Failure,
  spent: RetryStrategy.Spent
): Refused | undefined => ended(policy, attempt, reason, spent) ?? exceeded(policy, reason, spent)

/** What the limits and chance make of a wait. */
export const grant = (
  policy: RetryPolicy,
  { ms: baseMs, scheduledMs, hintMs }: Waits.Wait,
  reason: Failure.Reason | undefined,
  spent: RetryStrategy.Spent
): Decision => {
  const capMs = maxDelayOf(policy)
  if (baseMs > capMs) return Decision.Refused({ because: "max-delay", delayMs: baseMs }) // R3

  let leftMs = Infinity
  let grantedMs = baseMs
  for (const { budget, spent: own, ...which } of budgetsOf(policy, reason, spent)) {
    const ownLeftMs = Budget.remainingMs(budget, own)
    const ownMs = Budget.isExceeded(budget, own) ? undefined : Budget.grant(budget, ownLeftMs, baseMs, hintMs)
    if (ownMs === undefined) return Decision.Refused({ because: "budget", delayMs: baseMs, ...which })
    leftMs = Math.min(leftMs, ownLeftMs)
    grantedMs = Math.min(grantedMs, ownMs)
  }

  // R4: chance takes what room there is, and never costs the retry itself.
  const roomMs = Math.min(leftMs, capMs) - grantedMs
  const jitterMs = Math.min(Jitter.jitterMs(policy.jitter, scheduledMs, spent.spread), Math.floor(roomMs))
  return Decision.Delay({
    delayMs: grantedMs + jitterMs,
    scheduledMs,
    ...(hintMs === undefined ? {} : { hintMs }),
    jitterMs,
    clipped: grantedMs < baseMs
  })
}

/** `decide`, reduced to the wait in milliseconds; `undefined` to give up. */
export const delay = (
  policy: RetryPolicy,
  attempt: number,
  failure?: Failure.Failure,
  spent?: RetryStrategy.Spent
): number | undefined => {
  const decision = decide(policy, attempt, failure, spent)
  return decision._tag === "Delay" ? decision.delayMs : undefined
}

/** How many retries there may be after the first attempt, whatever `counts` says; `undefined` without a limit. */
export const mostRetries = ({ counts, maxRetries }: Pick<RetryPolicy, "counts" | "maxRetries">): number | undefined =>
  maxRetries === undefined || counts === "retries" ? maxRetries : Math.max(0, maxRetries - 1)

/** How many of them may follow failures of one reason; `undefined` without a limit of its own. */
export const mostRetriesOn = (
  { counts, reasons }: Pick<RetryPolicy, "counts" | "reasons">,
  reason: Failure.Reason | undefined
): number | undefined => {
  const maxRetries = reason && reasons[reason]?.maxRetries
  return maxRetries === undefined ? undefined : mostRetries({ counts, maxRetries })
}

// --- internal

const ended = (
  policy: RetryPolicy,
  attempt: number,
  reason: Failure.Reason | undefined,
  { onReason }: RetryStrategy.Spent
): Refused | undefined => {
  if (!policy.enabled) return Decision.Refused({ because: "disabled" })
  if (attempt >= (mostRetries(policy) ?? Infinity)) return Decision.Refused({ because: "max-retries" })
  return (onReason?.retries ?? attempt) >= (mostRetriesOn(policy, reason) ?? Infinity)
    ? Decision.Refused({ because: "max-retries", byReason: true })
    : undefined
}

const exceeded = (
  policy: RetryPolicy,
  reason: Failure.Reason | undefined,
  spent: RetryStrategy.Spent
): Refused | undefined => {
  const found = budgetsOf(policy, reason, spent).find(({ budget, spent: own }) => Budget.isExceeded(budget, own))
  return found && Decision.Refused({ because: "budget", ...(found.byReason === true ? { byReason: true } : {}) })
}

/** The budgets that a wait has to fit into, the step's own first, and what counts against each. */
const budgetsOf = (
  policy: RetryPolicy,
  reason: Failure.Reason | undefined,
  spent: RetryStrategy.Spent
): ReadonlyArray<{ readonly budget: Budget.Budget; readonly spent: RetryStrategy.Spent; readonly byReason?: true }> => {
  const own = ReasonLimits.budgetOf(policy, reason)
  const whole = { budget: policy.budget, spent }
  return own === undefined ? [whole] : [whole, { budget: own, spent: ReasonLimits.spentOn(spent), byReason: true }]
}

/** The schedule as one would print it: every earlier delay slept to its end, and the attempts taking no time. */
const spentBefore = (policy: RetryPolicy, attempt: number): RetryStrategy.Spent => {
  const sleptMs =
    policy.budget.totalMs === undefined ? 0 : Backoff.sumBefore(policy.schedule, attempt, policy.budget.totalMs)
  return { sleptMs, elapsedMs: sleptMs, spread: 0 }
}

const maxDelayOf = ({ maxDelayMs }: RetryPolicy): number =>
  maxDelayMs === undefined || maxDelayMs <= 0 ? Infinity : maxDelayMs
