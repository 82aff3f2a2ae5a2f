/**
 * Decides the route and the wait of attempts, for the kernel's `Router` port. Pure.
 *
 * The shell that implements the port reads the standing, decides here, stores `changes`, and then returns the directive to be recorded. The
 * order matters: a recorded directive must never depend on a pause that other turns do not see, while a stored pause of a lost directive
 * does no harm (`Router`).
 */
import type { Directive, Router } from "@holdfast/kernel"
import * as Basis from "../decision/Basis.ts"
import type * as RetryPolicy from "../decision/RetryPolicy.ts"
import * as RouteDecision from "./RouteDecision.ts"
import * as FallbackChain from "./FallbackChain.ts"
import type { Known } from "./Prospect.ts"
import * as RoundRobin from "./RoundRobin.ts"
import * as Standing from "./Standing.ts"

export type { RouteDecision } from "./RouteDecision.ts"
export type { Known } from "./Prospect.ts"

/** Returns the first route of a step. `now` is in epoch milliseconds. */
export const begin = (
  { routing }: Pick<RetryPolicy.RetryPolicy, "routing">,
  question: Router.Question,
  known: Known,
  now: number
): Router.Beginning =>
  routing.type === "fallback-chain"
    ? FallbackChain.begin(routing, question, known, now)
    : RoundRobin.begin(routing, question, known, now)

/**
 * Decides about a failure, and returns the findings for other turns.
 *
 * **Details**
 *
 * The kernel decides about failures after content, a context that is too long and bugs: they do not reach this function.
 *
 * A failure that the turn shares (X5) sends it where its own would, and is no finding: the turn that made the call has stored that, and a cooldown is
 * not prolonged by turns that have not called.
 */
export const direct = (
  policy: RetryPolicy.RetryPolicy,
  situation: Directive.Situation,
  question: Router.Question,
  known: Known
): RouteDecision.RouteDecision => {
  const { routing } = policy
  const decision =
    routing.type === "fallback-chain"
      ? FallbackChain.direct(policy, routing, situation, question, known)
      : RoundRobin.direct(policy, routing, situation, question, known)
  return situation.failure.shared === true ? { ...decision, changes: Standing.empty } : decision
}

/** Decides about a failure while a person has switched retries off (P15). */
export const switchedOff = (
  policy: RetryPolicy.RetryPolicy,
  { failure, spent }: Directive.Situation
): Directive.Directive =>
  RouteDecision.isPassing(failure)
    ? { _tag: "GiveUp", because: "exhausted", basis: Basis.switchedOff(policy, spent) }
    : RouteDecision.notRetryable
