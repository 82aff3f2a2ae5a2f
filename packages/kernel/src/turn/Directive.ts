/**
 * Decides about a failure: retry after a delay, or give up. Pure.
 *
 * - After content nothing is retried: text that a person has seen is not produced twice (D4). The exception is content that
 *   the setting `midStream` declares void (X7): then a failure of the transport is decided about as before content.
 * - A failure that is not `retryable` ends the step (D3), and a context that is too long is never sent again (P2).
 * - After a bug there are at most `MAX_DEFECT_RETRIES` retries, whatever the schedule has left (C10).
 * - An abort that the user did not request counts as a network fault (M3); an abort by the user interrupts the turn and is not
 *   decided here.
 *
 * An early attempt by the gate that fails before the end of its wait decides nothing: the wait continues (X5). Where it cannot, because the
 * failure is another one, what has passed of it is taken off the wait in its place, and so is time for which a turn was held: the schedule
 * stays that of a turn without a gate.
 */
import type { Failure, TurnEvent } from "@holdfast/wire"
import * as Duration from "effect/Duration"
import type { Because, Directive } from "../records/Records.ts"
import * as RetryStrategy from "../ports/RetryStrategy.ts"

/** The retries after a bug (C10): it fails the same way a third time. */
const MAX_DEFECT_RETRIES = 2

/** The shortest wait after a hold, in milliseconds. */
const SHORTEST_MS = 1_000

export { Because, Directive } from "../records/Records.ts"

/** The facts of a decision, besides the strategy. */
export interface Situation {
  readonly failure: Failure.Failure
  readonly contentSeen: boolean
  /** No client has received any of the content, and none will (X7). */
  readonly unseen?: true
  /** The setting for a failure after content (X7). Absent: `fail`. */
  readonly midStream?: TurnEvent.MidStream
  /** The response was complete, but was rejected (A9): its endpoint has no fault. */
  readonly whole?: true
  /** Retries of this step so far; the number of the next one. */
  readonly retries: number
  /** Bugs in this step so far, including this one. */
  readonly defects: number
  readonly spent: RetryStrategy.Spent
  /** The wait that the gate interrupted for the failed attempt, and that is not over (X5). Absent: there is none. */
  readonly interrupted?: Retry
  /** How much of the next wait has passed, in milliseconds: the gate held the attempt, or made it early (X5). Absent: nothing. */
  readonly passedMs?: number
  /** Epoch milliseconds. */
  readonly now: number
}

type Retry = Extract<Directive, { readonly _tag: "Retry" }>

/** Decides. Pure, as far as the strategy is. */
export const decide = (situation: Situation, strategy: RetryStrategy.Deciding | undefined): Directive => {
  const { failure, interrupted, now, retries, spent } = situation
  const final = finality(situation)
  if (final !== undefined) return { _tag: "GiveUp", because: final }
  if (strategy === undefined) return { _tag: "GiveUp", because: "no-strategy" }
  const { atLeast = Duration.zero, basis, delay } = RetryStrategy.decide(strategy, retries, failure, spent) ?? {}
  const based = basis === undefined ? undefined : { basis }
  const askedMs = Duration.toMillis(atLeast)
  if (interrupted !== undefined) {
    const { midStream: _, ...wait } = interrupted
    const retryAt = Math.max(wait.retryAt, now + askedMs) // P5
    return { ...wait, retryAt, since: now, resumes: true, ...(delay === undefined ? undefined : based) }
  }
  if (delay === undefined) return { _tag: "GiveUp", because: "exhausted", ...based }
  return { _tag: "Retry", attempt: retries, ...waitOf(situation, Duration.toMillis(delay), askedMs), ...based }
}

/** Returns the wait of a retry after `delayMs`, of which a provider asked for `askedMs`, less what has passed of it. */
export const waitOf = (
  { now, passedMs = 0 }: Pick<Situation, "now" | "passedMs">,
  delayMs: number,
  askedMs = 0
): Pick<Retry, "delayMs" | "retryAt" | "since"> => {
  const leftMs = Math.max(delayMs - passedMs, Math.min(delayMs, Math.max(SHORTEST_MS, askedMs)))
  return { delayMs, retryAt: now + leftMs, ...(leftMs < delayMs ? { since: now } : undefined) }
}

/**
 * Whether another route might help. It cannot after content that a person has seen, for a context that is too long, or after a bug. A
 * failure that is final at one endpoint may not occur at another.
 */
export const isRoutable = (situation: Omit<Situation, "now">): boolean => {
  const because = finality(situation)
  return because === undefined || because === "not-retryable"
}

/** Whether the failed attempt decides nothing: the wait that the gate interrupted for it continues (X5). */
export const isResumed = (situation: Omit<Situation, "now">): boolean =>
  situation.interrupted !== undefined && finality(situation) === undefined

/**
 * Whether a failure counts as a failure of the transport, so that its content can be void (X7): it would be retried before content, and is no
 * bug.
 */
export const isOfTransport = ({ defect, reason, retryable }: Failure.Failure): boolean =>
  defect !== true && reason !== "context-overflow" && (retryable || reason === "aborted")

/** Adds the setting that applied to an attempt with content (X7). */
export const marked = (directive: Directive, { contentSeen, midStream = "fail" }: Omit<Situation, "now">): Directive =>
  contentSeen && midStream !== "fail" ? { ...directive, midStream } : directive

/** Whether a retry needs no sleep: a router sent it elsewhere at once. */
export const isImmediate = ({ delayMs, route }: Retry): boolean => route !== undefined && delayMs <= 0

// --- internal

const finality = (situation: Omit<Situation, "now">): Because | undefined => {
  const { failure, contentSeen, defects } = situation
  if (contentSeen && !isVoid(situation)) return "after-content"
  if (failure.reason === "context-overflow") return "context-overflow"
  if (failure.reason === "aborted") return undefined
  if (!failure.retryable) return "not-retryable"
  return defects > MAX_DEFECT_RETRIES ? "defect" : undefined
}

/** Whether the content of the failed attempt is void (X7). */
const isVoid = ({ failure, midStream, unseen }: Omit<Situation, "now">): boolean =>
  isOfTransport(failure) && (midStream === "discard" || (midStream === "unseen" && unseen === true))
