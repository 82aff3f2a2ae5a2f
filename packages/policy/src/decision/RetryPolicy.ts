/**
 * One resolved retry policy as plain numbers, and its decision about a failure.
 *
 * The kernel has already decided that the failure may be retried; this module decides how long to wait, or that the limits are reached.
 * Nothing here reads a clock or draws a number.
 *
 * A wait is finite, and never shorter than that of `WaitRules` (by default the longer of schedule and hint, P5), unless the budget clips it.
 * A wait above `maxDelayMs` is refused at once (P6). No budget is exceeded, neither the step's nor a reason's (X11); jitter is cut
 * before a retry is refused because of it.
 */
import type { RetryStrategy } from "@holdfast/kernel"
import { defined, type Failure, type TurnEvent } from "@holdfast/wire"
import * as Data from "effect/Data"
import * as Backoff from "./Backoff.ts"
import * as Budget from "./Budget.ts"
import * as Gate from "../gate/Gate.ts"
import type { FinalReportSetting } from "../profile/FinalReportSettings.ts"
import type { Routing } from "../routing/Routing.ts"
import type { SpendGuard } from "./SpendGuard.ts"
import * as WaitRules from "./WaitRules.ts"

/** The limits of an attempt without progress (C8). They are the same for every attempt: a limit never shrinks. */
interface RequestTimeout {
  /** Milliseconds from the request to its first content. */
  readonly firstContentMs: number
  /** Milliseconds from one content to the next. */
  readonly idleMs: number
}

/** A resolved retry policy. Times are in milliseconds; absent means no limit. */
export interface RetryPolicy {
  /** `false`: the first error ends the step. */
  readonly enabled: boolean
  readonly schedule: Backoff.Schedule
  /** The waits and limits of single reasons, where they differ from the schedule. */
  readonly reasons: Budget.ReasonRules
  readonly jitter: Backoff.Jitter
  /** Retries of a step, as `counts` counts them. Every retry counts, one without a wait too. Absent: no limit. */
  readonly maxRetries?: number
  /** Whether `maxRetries` counts the retries after the first attempt (P3), or all attempts (A2). */
  readonly counts: "retries" | "attempts"
  readonly budget: Budget.WaitBudget
  /** Milliseconds. A longer wait fails the turn at once (P6). Absent, 0 or less: no cap (P3). */
  readonly maxDelayMs?: number
  /** Whether a provider's own delay counts (P5). */
  readonly hints: boolean
  /**
   * What follows a failure after content (X7). Absent: `fail`, unless the host has a default of its own: a service has `unseen` for turns
   * that were submitted.
   */
  readonly midStream?: TurnEvent.MidStream
  /** The tokens that are not spent without a question after a long wait (X11). Absent: there are no questions. */
  readonly spendGuard?: SpendGuard
  readonly requestTimeout: RequestTimeout
  /** Characters of one response (C11). Absent: the kernel's own limit. */
  readonly maxResponseCharacters?: number
  /** The routing of attempts. */
  readonly routing: Routing
  /** Steps of a turn, the last of which is the final one (A11). Absent: no limit. */
  readonly maxTurns?: number
  /** Steps in a row with nothing but failed tool calls, after which the turn fails. 0: no limit. Absent: the kernel's own. */
  readonly maxFailedToolSteps?: number
  /** The final report of a turn (A9 to A14). Absent: a turn ends with the model's last text. */
  readonly finalReport?: FinalReportSetting
}

/** Why there is no further retry. */
export type RefusalReason = "disabled" | "max-retries" | "max-delay" | "budget"

/** A decision with the numbers behind it. */
export type RetryDecision = Data.TaggedEnum<{
  Delay: {
    /** The wait, in milliseconds: the sum of the following parts, or less if the budget clipped it. */
    readonly delayMs: number
    /** The schedule's delay. */
    readonly scheduledMs: number
    /** The provider's hint, if it counted. */
    readonly hintMs?: number
    /** The jitter. */
    readonly jitterMs: number
    /** The budget cut the wait short. */
    readonly clipped: boolean
  }
  Refused: {
    readonly because: RefusalReason
    /** The refused wait, in milliseconds; absent: none was considered. */
    readonly delayMs?: number
    /** The limit belongs to the failure's reason (X11). */
    readonly byReason?: true
  }
}>
export const RetryDecision = Data.taggedEnum<RetryDecision>()

/** The decision that there is no further retry. */
export type NoRetry = Extract<RetryDecision, { readonly _tag: "Refused" }>

/**
 * Returns the wait before retry `attempt` (0-based), or why there is none.
 *
 * **Details**
 *
 * The wait is that of `WaitRules`, by default the longer of schedule and hint, plus jitter. Jitter is a share of the schedule's delay, so that
 * a hint of hours is spread by minutes, not stretched by hours.
 *
 * Without `failure` there is no hint and no reason; without `spent` every earlier delay counts as slept to its end, with no
 * jitter, and for the same reason.
 */
export const decide = (
  policy: RetryPolicy,
  attempt: number,
  failure?: Failure.Failure,
  spent: RetryStrategy.Spent = spentBefore(policy, attempt)
): RetryDecision =>
  ended(policy, attempt, failure?.reason, spent) ??
  grant(policy, WaitRules.of(policy, attempt, failure), failure?.reason, spent)

/** Returns why there is no retry `attempt`, not even without a wait; `undefined`: there may be one. */
export const refusal = (
  policy: RetryPolicy,
  attempt: number,
  { reason }: Failure.Failure,
  spent: RetryStrategy.Spent
): NoRetry | undefined => ended(policy, attempt, reason, spent) ?? exceeded(policy, reason, spent)

/** The longest time for which a gate holds a turn that nothing answers, in milliseconds (X5). */
const LONGEST_HOLD_MS = 600_000

/**
 * Whether a failure that retry `attempt` shares, after a wait of `delayMs`, would end the step (X5). It may be of any reason of an endpoint;
 * of a reason other than this failure's, all that the step has spent may count.
 */
export const isLast = (
  policy: RetryPolicy,
  attempt: number,
  delayMs: number,
  failure: Failure.Failure,
  spent: RetryStrategy.Spent
): boolean => {
  const { hint: _, ...unasked } = failure
  const passedMs = delayMs + LONGEST_HOLD_MS
  const after = { ...spent, sleptMs: spent.sleptMs + delayMs, elapsedMs: spent.elapsedMs + passedMs }
  const most = { retries: attempt + 1, sleptMs: after.sleptMs, elapsedMs: after.elapsedMs }
  const { elapsedMs, retries, sleptMs } = spent.onReason ?? most
  const own = { retries: retries + 1, sleptMs: sleptMs + delayMs, elapsedMs: elapsedMs + passedMs }
  return Array.from(Gate.ENDPOINTS).some((reason) => {
    const onReason = reason === failure.reason ? own : most
    return decide(policy, attempt + 1, { ...unasked, reason }, { ...after, onReason })._tag === "Refused"
  })
}

/** Returns what follows a failure after content (X7). */
export const midStreamOf = (
  { midStream = "fail", reasons }: Pick<RetryPolicy, "midStream" | "reasons">,
  { reason }: Failure.Failure
): TurnEvent.MidStream => reasons[reason]?.midStream ?? midStream

/** Applies limits and jitter to a wait. The delay that a provider asked of another turn never fails this one (P6). */
export const grant = (
  policy: RetryPolicy,
  wait: WaitRules.Wait,
  reason: Failure.Reason | undefined,
  spent: RetryStrategy.Spent
): RetryDecision => {
  const decision = granted(policy, wait, reason, spent)
  const { isShared, scheduledMs } = wait
  return decision._tag === "Refused" && isShared === true
    ? granted(policy, { ms: scheduledMs, scheduledMs }, reason, spent)
    : decision
}

const granted = (
  policy: RetryPolicy,
  { ms: baseMs, scheduledMs, hintMs }: WaitRules.Wait,
  reason: Failure.Reason | undefined,
  spent: RetryStrategy.Spent
): RetryDecision => {
  const capMs = maxDelayOf(policy)
  if (baseMs > capMs) return RetryDecision.Refused({ because: "max-delay", delayMs: baseMs })

  let leftMs = Infinity
  let grantedMs = baseMs
  for (const { budget, spent: own, ...which } of budgetsOf(policy, reason, spent)) {
    const ownLeftMs = Budget.remainingMs(budget, own)
    const ownMs = Budget.isExceeded(budget, own) ? undefined : Budget.grant(budget, ownLeftMs, baseMs, hintMs)
    if (ownMs === undefined) return RetryDecision.Refused({ because: "budget", delayMs: baseMs, ...which })
    leftMs = Math.min(leftMs, ownLeftMs)
    grantedMs = Math.min(grantedMs, ownMs)
  }

  // Jitter takes at most the rest of the budget, and never causes a refusal.
  const roomMs = Math.min(leftMs, capMs) - grantedMs
  const jitterMs = Math.min(Backoff.jitterMs(policy.jitter, scheduledMs, spent.spread), Math.floor(roomMs))
  return RetryDecision.Delay({
    delayMs: grantedMs + jitterMs,
    scheduledMs,
    ...defined({ hintMs }),
    jitterMs,
    clipped: grantedMs < baseMs
  })
}

/** Returns the wait of `decide`, in milliseconds; `undefined`: there is no retry. */
export const delay = (
  policy: RetryPolicy,
  attempt: number,
  failure?: Failure.Failure,
  spent?: RetryStrategy.Spent
): number | undefined => {
  const decision = decide(policy, attempt, failure, spent)
  return decision._tag === "Delay" ? decision.delayMs : undefined
}

/** Returns the limit of retries after the first attempt, for either value of `counts`; `undefined`: there is no limit. */
export const mostRetries = ({ counts, maxRetries }: Pick<RetryPolicy, "counts" | "maxRetries">): number | undefined =>
  maxRetries === undefined || counts === "retries" ? maxRetries : Math.max(0, maxRetries - 1)

/** Returns the limit of retries after failures of one reason; `undefined`: the reason has no limit. */
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
): NoRetry | undefined => {
  if (!policy.enabled) return RetryDecision.Refused({ because: "disabled" })
  if (attempt >= (mostRetries(policy) ?? Infinity)) return RetryDecision.Refused({ because: "max-retries" })
  return (onReason?.retries ?? attempt) >= (mostRetriesOn(policy, reason) ?? Infinity)
    ? RetryDecision.Refused({ because: "max-retries", byReason: true })
    : undefined
}

const exceeded = (
  policy: RetryPolicy,
  reason: Failure.Reason | undefined,
  spent: RetryStrategy.Spent
): NoRetry | undefined => {
  const found = budgetsOf(policy, reason, spent).find(({ budget, spent: own }) => Budget.isExceeded(budget, own))
  return found && RetryDecision.Refused({ because: "budget", ...(found.byReason === true ? { byReason: true } : {}) })
}

/** The budgets that a wait has to fit into, the step's own first, each with the spending that counts against it. */
const budgetsOf = (
  policy: RetryPolicy,
  reason: Failure.Reason | undefined,
  spent: RetryStrategy.Spent
): ReadonlyArray<{
  readonly budget: Budget.WaitBudget
  readonly spent: RetryStrategy.Spent
  readonly byReason?: true
}> => {
  const own = Budget.ofReason(policy, reason)
  const whole = { budget: policy.budget, spent }
  return own === undefined ? [whole] : [whole, { budget: own, spent: Budget.spentOn(spent), byReason: true }]
}

/** The spending of the printed schedule: every earlier delay slept to its end, and attempts that take no time. */
const spentBefore = (policy: RetryPolicy, attempt: number): RetryStrategy.Spent => {
  const sleptMs =
    policy.budget.totalMs === undefined ? 0 : Backoff.sumBefore(policy.schedule, attempt, policy.budget.totalMs)
  return { sleptMs, elapsedMs: sleptMs, spread: 0 }
}

const maxDelayOf = ({ maxDelayMs }: RetryPolicy): number =>
  maxDelayMs === undefined || maxDelayMs <= 0 ? Infinity : maxDelayMs
