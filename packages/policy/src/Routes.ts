/**
 * Where attempts go and when, as one decision: what the kernel's `Router` port asks, answered by pure functions.
 *
 * The shell that implements the port reads the standing, asks here, stores `changes`, and then returns the directive to be
 * recorded. In that order: a directive that is on record must never rest on a pause that nobody else hears of, while a pause that
 * was stored for a directive that was then lost does no harm (U1 of the port).
 */
import type { Directive, Router } from "@holdfast/kernel"
import * as Basis from "./Basis.ts"
import type * as RetryPolicy from "./RetryPolicy.ts"
import * as Answer from "./routing/Answer.ts"
import * as FallbackChain from "./routing/FallbackChain.ts"
import type { Known } from "./routing/Prospect.ts"
import * as RoundRobin from "./routing/RoundRobin.ts"

export type { Answer } from "./routing/Answer.ts"
export type { Known } from "./routing/Prospect.ts"

/** Where a step begins. `now` is in epoch milliseconds. */
export const begin = (
  { routing }: Pick<RetryPolicy.RetryPolicy, "routing">,
  question: Router.Question,
  known: Known,
  now: number
): Router.Beginning => {
  switch (routing.type) {
    case "fallback-chain":
      return FallbackChain.begin(routing, question, known, now)
    case "round-robin":
      return RoundRobin.begin(routing, question, known, now)
    default:
      return routing satisfies never
  }
}

/**
 * What to do about a failure, and what others should know of it.
 *
 * **Details**
 *
 * Content that has been seen, a context that is too long and bugs are the kernel's to decide, and are not asked about here.
 */
export const direct = (
  policy: RetryPolicy.RetryPolicy,
  situation: Directive.Situation,
  question: Router.Question,
  known: Known
): Answer.Answer => {
  const { routing } = policy
  switch (routing.type) {
    case "fallback-chain":
      return FallbackChain.direct(policy, routing, situation, question, known)
    case "round-robin":
      return RoundRobin.direct(policy, routing, situation, question, known)
    default:
      return routing satisfies never
  }
}

/** What to do about a failure while a person has switched retries off (P15). */
export const switchedOff = (
  policy: RetryPolicy.RetryPolicy,
  { failure, spent }: Directive.Situation
): Directive.Directive =>
  Answer.isPassing(failure)
    ? { _tag: "GiveUp", because: "exhausted", basis: Basis.switchedOff(policy, spent) }
    : Answer.notRetryable
