/**
 * What to do about a failure: the decision, apart from doing it.
 *
 * D1. After content nothing is ever retried: what a person has seen is not produced twice (D4).
 * D2. A failure that calls itself final is final (D3), and a context that is too long is never sent again (P2).
 * D3. A bug is tried again at most `MAX_DEFECT_RETRIES` times, whatever the schedule has left (C10).
 * D4. An abort that the user did not ask for is like any other fault of the network (M3); one that he did ask for
 *     interrupts the turn and never comes here.
 */
import type { Failure } from "@holdfast/wire"
import { Duration } from "effect"
import type { Because, Directive } from "./Records.ts"
import type { RetryStrategy, Spent } from "./RetryStrategy.ts"

/** C10: a bug fails the same way a third time. */
export const MAX_DEFECT_RETRIES = 2

export { Because, Directive } from "./Records.ts"

/** What a decision is made from, besides the strategy. */
export interface Situation {
  readonly failure: Failure.Failure
  readonly contentSeen: boolean
  /** The response was complete, and would not do (A9): nothing is wrong with where it came from. */
  readonly whole?: true
  /** Retries of this step so far; the number of the next one. */
  readonly retries: number
  /** Bugs this step has met so far, this one included. */
  readonly defects: number
  readonly spent: Spent
  /** Epoch milliseconds. */
  readonly now: number
}

/** Decides. Pure, as far as the strategy is. */
export const decide = (
  situation: Situation,
  strategy: Pick<RetryStrategy["Service"], "decide"> | undefined
): Directive => {
  const { failure, retries, spent, now } = situation
  const final = finality(situation)
  if (final !== undefined) return { _tag: "GiveUp", because: final }
  if (strategy === undefined) return { _tag: "GiveUp", because: "no-strategy" }
  const { basis, delay } = strategy.decide(retries, failure, spent) ?? {}
  const based = basis === undefined ? undefined : { basis }
  if (delay === undefined) return { _tag: "GiveUp", because: "exhausted", ...based }
  const delayMs = Duration.toMillis(delay)
  return { _tag: "Retry", attempt: retries, delayMs, retryAt: now + delayMs, ...based }
}

/**
 * Whether another route might mend what has failed: not what a person has seen, nor a context that is too long, nor a bug. A
 * failure that is final where it happened may be none elsewhere.
 */
export const isRoutable = (situation: Omit<Situation, "now">): boolean => {
  const because = finality(situation)
  return because === undefined || because === "not-retryable"
}

/** Whether a retry goes on without a sleep: a router sent it somewhere, now. */
export const isImmediate = ({ delayMs, route }: Extract<Directive, { readonly _tag: "Retry" }>): boolean =>
  route !== undefined && delayMs <= 0

// --- internal

const finality = ({ failure, contentSeen, defects }: Omit<Situation, "now">): Because | undefined => {
  if (contentSeen) return "after-content"
  if (failure.reason === "context-overflow") return "context-overflow"
  if (failure.reason === "aborted") return undefined
  if (!failure.retryable) return "not-retryable"
  return defects > MAX_DEFECT_RETRIES ? "defect" : undefined
}
