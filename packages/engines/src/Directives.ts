/**
 * Decides what follows an error of a call: it is final, or the call is made again after some time.
 *
 * The engine keeps the wait and makes the call; what it lacks is which errors pass and how long they take. Both are those of a turn: the
 * classification of `@holdfast/policy` (rules C1 to C10), the provider's own delay (P5), the schedule, its jitter, caps and budget (P2 to P6).
 */
import { Backoff, Classification, RetryPolicy } from "@holdfast/policy"
import type { Failure } from "@holdfast/wire"
import type { RetryChoice } from "holdfast"
import { policyOf } from "holdfast/bridge"

/** What decisions are made from. */
export interface DirectiveOptions {
  /** A profile, or settings over one. Default: `overnight`, which waits for hours. Its routing and its timeouts are not used. */
  readonly retry?: RetryChoice
}

/** One call that failed. */
export interface Failed {
  /** The retries that were made before, from 0. */
  readonly retries: number
  /** When the first attempt began, in milliseconds since 1970: the budget counts from then. Absent: it counts the waits of the schedule. */
  readonly since?: number | undefined
}

/** A decision about an error. */
export type EngineDirective = {
  /** The reason, such as `overloaded`, and the message of the provider. */
  readonly failure: Failure.Failure
} & (
  | {
      readonly fatal: true
      /** The limit that ended it; `not-retryable`: no time mends the error. */
      readonly because: "not-retryable" | RetryPolicy.RefusalReason
    }
  | {
      readonly fatal: false
      /** Milliseconds from now. */
      readonly retryAfterMs: number
    }
)

/** Decides about errors by one policy. */
export type Directives = (error: unknown, failed: Failed) => EngineDirective

/** Reads the options once, for any number of decisions. Throws a `HoldfastError` that names what is wrong. */
export const directives = ({ retry }: DirectiveOptions = {}): Directives => {
  const policy = policyOf(retry)
  return (error, { retries, since }) => {
    const now = Date.now()
    const failure = Classification.ofThrown(error, now)
    if (!isMendable(failure, retries)) return { fatal: true, because: "not-retryable", failure }
    const sleptMs =
      since === undefined
        ? Backoff.sumBefore(policy.schedule, retries, policy.budget.totalMs)
        : Math.max(0, now - since)
    const spent = { sleptMs, elapsedMs: sleptMs, spread: Math.random() }
    const decision = RetryPolicy.decide(policy, retries, failure, spent)
    return decision._tag === "Refused"
      ? { fatal: true, because: decision.because, failure }
      : { fatal: false, retryAfterMs: decision.delayMs, failure }
  }
}

/** What an engine shows of a decision: the reason, the HTTP status, and the message of the provider. */
export const sentenceOf = ({ failure }: EngineDirective): string =>
  `${failure.reason}${failure.status === undefined ? "" : ` (${failure.status})`}: ${failure.message}`

/** Whether an error is a cancellation: it belongs to the engine, which must get it as it is. */
export const isCancellation = ({ failure }: EngineDirective): boolean => failure.reason === "aborted"

// --- internal

/** The retries of a bug of the program (rule C10). */
const RETRIES_OF_A_BUG = 2

/** The same call can never succeed with a context that is too long (P2): nothing here makes it smaller. */
const isMendable = ({ defect, reason, retryable }: Failure.Failure, retries: number): boolean =>
  retryable && reason !== "context-overflow" && (defect !== true || retries < RETRIES_OF_A_BUG)
