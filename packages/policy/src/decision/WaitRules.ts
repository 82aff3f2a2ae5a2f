/**
 * Computes the wait after a failure, before limits apply. The rule of the failure's reason decides, if the policy has one; otherwise the
 * policy's own schedule.
 *
 * Without a rule, or with the hint "lengthen", it is never shorter than schedule and hint, up to `mostMs`. A rule without a wait applies
 * only if the number of retries is limited, in total or for that reason; otherwise they would not end.
 */
import type { Failure } from "@holdfast/wire"
import * as Backoff from "./Backoff.ts"

/** The rule of waits for one reason. Absent: the policy's own value. */
export interface ReasonWait {
  /** `none`: retry at once. */
  readonly schedule?: Backoff.Schedule | "none"
  /**
   * The effect of a provider's hint on the schedule's delay: it can only lengthen it (P5), replaces it (A6), or is ignored. Absent: it can
   * only lengthen it. With `hints` off in the policy it is always ignored.
   */
  readonly hint?: "lengthen" | "replace" | "ignore"
  /** Milliseconds. A shorter wait becomes this long. */
  readonly leastMs?: number
  /** Milliseconds. A longer wait becomes this long, even one from a hint. */
  readonly mostMs?: number
}

/** By reason. */
export type ReasonWaits = { readonly [Reason in Failure.Reason]?: ReasonWait & { readonly maxRetries?: number } }

/** A wait and its parts. */
export interface Wait {
  /** Milliseconds. */
  readonly ms: number
  /** The schedule's delay, within the reason's bounds. */
  readonly scheduledMs: number
  /** The provider's hint, within the reason's bounds; absent if it did not count. */
  readonly hintMs?: number
  /** The failure is another turn's, and so is the hint (X5). */
  readonly isShared?: true
}

/** The parts of a policy that are used here. */
export interface WaitRules {
  readonly schedule: Backoff.Schedule
  readonly reasons: ReasonWaits
  readonly hints: boolean
  readonly maxRetries?: number
}

/** Returns the wait before retry `attempt` (0-based). */
export const of = (
  { hints, maxRetries, reasons, schedule }: WaitRules,
  attempt: number,
  failure: Failure.Failure | undefined
): Wait => {
  const rule: ReasonWaits[Failure.Reason] = (failure && reasons[failure.reason]) ?? {}
  const isLimited = maxRetries !== undefined || rule.maxRetries !== undefined
  const chosen = rule.schedule === "none" && !isLimited ? schedule : (rule.schedule ?? schedule)
  const scheduledMs = within(rule, chosen === "none" ? 0 : Backoff.delayAt(chosen, attempt))
  const asked = hints && rule.hint !== "ignore" ? askedMs(failure) : undefined
  if (asked === undefined) return { ms: scheduledMs, scheduledMs }
  const of = failure?.shared === true ? ({ isShared: true } as const) : undefined
  if (rule.hint !== "replace") {
    const hintMs = within(rule, asked)
    return { ms: Math.max(scheduledMs, hintMs), scheduledMs, hintMs, ...of }
  }
  const hintMs = within({ leastMs: SHORTEST_REPLACEMENT_MS, ...rule }, asked)
  return { ms: hintMs, scheduledMs, hintMs, ...of }
}

/** Whether a policy has its own rule for waits after failures of a reason. */
export const hasRule = ({ reasons }: Pick<WaitRules, "reasons">, reason: Failure.Reason): boolean => {
  const { hint, leastMs, mostMs, schedule } = reasons[reason] ?? {}
  return [hint, leastMs, mostMs, schedule].some((part) => part !== undefined)
}

/** Returns the hint of a failure, in milliseconds. A value that is not usable is no hint (P5): not every failure was made by `Hint.find`. */
export const askedMs = (failure: Failure.Failure | undefined): number | undefined => {
  const ms = failure?.hint?.retryAfterMs
  return ms !== undefined && Number.isFinite(ms) && ms > 0 ? ms : undefined
}

/** The shortest hint that replaces a schedule, unless the rule has its own bound (A6). */
const SHORTEST_REPLACEMENT_MS = 1_000

/** Rate limits: as many seconds as attempts were made, up to a minute (A6). */
const rateLimited: ReasonWait = {
  schedule: Backoff.linear(1_000, 1_000),
  hint: "replace",
  leastMs: 1_000,
  mostMs: 60_000
}

/** Failed connections: as many seconds as attempts were made, up to half a minute (A7). */
const disconnected: ReasonWait = {
  schedule: Backoff.linear(1_000, 1_000),
  hint: "ignore",
  leastMs: 1_000,
  mostMs: 30_000
}

/** The waits of the profile `cycling` (A6, A7). An abort that the user did not request counts as a network fault (M3). */
export const cycling: ReasonWaits = {
  "rate-limited": rateLimited,
  network: disconnected,
  timeout: disconnected,
  aborted: disconnected,
  "invalid-response": { schedule: "none", hint: "ignore" }
}

// --- internal

const within = ({ leastMs = 0, mostMs = Infinity }: ReasonWait, ms: number): number =>
  Math.min(Math.max(ms, leastMs), mostMs)
