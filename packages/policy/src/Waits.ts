/**
 * How long a failure is waited out, before any limit has its say: by its reason, where the policy has a rule for that, and
 * otherwise by the policy's own schedule.
 *
 * W1. A wait is finite and never negative.
 * W2. Without a rule of its own, or with the hint "lengthen", it is never shorter than schedule and hint, up to `mostMs`.
 * W3. A rule of no wait at all holds only where the number of retries is limited, in all or for that reason; otherwise nothing
 *     would end them.
 */
import type { Failure } from "@holdfast/wire"
import * as Backoff from "./Backoff.ts"

/** How one reason is waited out. What is absent is the policy's. */
export interface ReasonWait {
  /** `none`: try again at once (W3). */
  readonly schedule?: Backoff.Schedule | "none"
  /**
   * What a provider's own delay does to the schedule's: it can only lengthen it (P5), stands instead of it (A6), or is not
   * followed. Absent: it can only lengthen it. With `hints` off in the policy it is never followed.
   */
  readonly hint?: "lengthen" | "replace" | "ignore"
  /** Milliseconds. A shorter wait becomes this long. */
  readonly leastMs?: number
  /** Milliseconds. A longer wait becomes this long, a provider's own as well. */
  readonly mostMs?: number
}

/** By reason. */
export type ReasonWaits = { readonly [Reason in Failure.Reason]?: ReasonWait & { readonly maxRetries?: number } }

/** A wait, and what it was made from. */
export interface Wait {
  /** Milliseconds. */
  readonly ms: number
  /** What the schedule says, within the reason's bounds. */
  readonly scheduledMs: number
  /** What the provider asked for, within the reason's bounds; absent where that did not count. */
  readonly hintMs?: number
}

/** What is needed of a policy. */
export interface Rules {
  readonly schedule: Backoff.Schedule
  readonly reasons: ReasonWaits
  readonly hints: boolean
  readonly maxRetries?: number
}

/** The wait before retry `attempt` (0-based). */
export const of = (
  { hints, maxRetries, reasons, schedule }: Rules,
  attempt: number,
  failure: Failure.Failure | undefined
): Wait => {
  const rule: ReasonWaits[Failure.Reason] = (failure && reasons[failure.reason]) ?? {}
  const isLimited = maxRetries !== undefined || rule.maxRetries !== undefined
  const chosen = rule.schedule === "none" && !isLimited ? schedule : (rule.schedule ?? schedule) // W3
  const scheduledMs = within(rule, chosen === "none" ? 0 : Backoff.delayAt(chosen, attempt))
  const asked = hints && rule.hint !== "ignore" ? askedMs(failure) : undefined
  if (asked === undefined) return { ms: scheduledMs, scheduledMs }
  if (rule.hint !== "replace") {
    const hintMs = within(rule, asked)
    return { ms: Math.max(scheduledMs, hintMs), scheduledMs, hintMs }
  }
  const hintMs = within({ leastMs: SHORTEST_REPLACEMENT_MS, ...rule }, asked)
  return { ms: hintMs, scheduledMs, hintMs }
}

/** Whether a policy has a rule of its own for how failures of a reason are waited out. */
export const hasRule = ({ reasons }: Pick<Rules, "reasons">, reason: Failure.Reason): boolean => {
  const { hint, leastMs, mostMs, schedule } = reasons[reason] ?? {}
  return [hint, leastMs, mostMs, schedule].some((part) => part !== undefined)
}

/** A failure may have been made elsewhere than by `Hint.find`: what is no usable number is no hint (P5). */
export const askedMs = (failure: Failure.Failure | undefined): number | undefined => {
  const ms = failure?.hint?.retryAfterMs
  return ms !== undefined && Number.isFinite(ms) && ms > 0 ? ms : undefined
}

/** A provider's own delay that stands instead of a schedule is no shorter, unless the rule says so (A6). */
const SHORTEST_REPLACEMENT_MS = 1_000

/** Rate limits of a service that is shared with many: seconds, as many as attempts were made, up to a minute (A6). */
const rateLimited: ReasonWait = {
  schedule: Backoff.linear(1_000, 1_000),
  hint: "replace",
  leastMs: 1_000,
  mostMs: 60_000
}

/** A connection that failed: seconds, as many as attempts were made, up to half a minute (A7). */
const disconnected: ReasonWait = {
  schedule: Backoff.linear(1_000, 1_000),
  hint: "ignore",
  leastMs: 1_000,
  mostMs: 30_000
}

/** The waits of the profile `cycling` (A6, A7). An abort that nobody here asked for is a fault of the network (M3). */
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
