/** What routing answers, and the parts that answers of every kind are made of. */
import type { Directive, Route } from "@holdfast/kernel"
import type { Failure } from "@holdfast/wire"
import type { Schema } from "effect"
import * as Basis from "../Basis.ts"
import * as RetryPolicy from "../RetryPolicy.ts"
import * as Waits from "../Waits.ts"
import * as Prospect from "./Prospect.ts"
import type * as Standing from "./Standing.ts"

/** A decision, and what was found out on the way. */
export interface Answer {
  readonly directive: Directive.Directive
  /** To be stored for others before the decision is recorded; storing it twice does no harm. */
  readonly changes: Standing.Standing
}

type Situation = Directive.Situation

/** The next attempt, `delayMs` after `now`. */
export const retry = (
  { now, retries }: Situation,
  delayMs: number,
  more: { readonly route?: Route.Route; readonly state?: Schema.Json; readonly basis: Basis.Basis }
): Directive.Directive => ({ _tag: "Retry", attempt: retries, delayMs, retryAt: now + delayMs, ...more })

/** The policy's patience is used up. */
export const exhausted = (
  policy: RetryPolicy.RetryPolicy,
  refused: RetryPolicy.Refused,
  situation: Situation,
  ways: ReadonlyArray<Basis.Way> = []
): Directive.Directive => ({
  _tag: "GiveUp",
  because: "exhausted",
  basis: Basis.decided(policy, refused, situation, ways)
})

/** Time mends it nowhere. */
export const notRetryable: Directive.Directive = { _tag: "GiveUp", because: "not-retryable" }

/** Whether waiting may mend a failure. An abort that nobody here asked for is the network's (M3). */
export const isPassing = ({ reason, retryable }: Failure.Failure): boolean => retryable || reason === "aborted"

/** What the policy alone decides: no other route would change anything. `state` is what is handed on after a wait. */
export const stay = (
  policy: RetryPolicy.RetryPolicy,
  situation: Situation,
  state: { readonly state?: Schema.Json }
): Directive.Directive => {
  const { failure, retries, spent } = situation
  if (!isPassing(failure)) return notRetryable
  const decision = RetryPolicy.decide(policy, retries, failure, spent)
  return decision._tag === "Refused"
    ? exhausted(policy, decision, situation)
    : retry(situation, decision.delayMs, { ...state, basis: Basis.decided(policy, decision, situation) })
}

/** The source of a hint that comes from what was known: a provider had asked for it before, and not by this failure. */
export const STANDING = "standing"

/**
 * The failure as it counts for the wait before a call of `to`: with what was asked for there. A hint of `here` says nothing about
 * another target or credential.
 */
export const askedOf = (
  failure: Failure.Failure,
  to: Prospect.Prospect,
  here: Route.Route,
  known: Prospect.Known,
  now: number
): Failure.Failure => {
  const { hint, ...unasked } = failure
  const isOwn = Prospect.isRouteTo(to, here, known)
  const ownMs = (isOwn ? Waits.askedMs(failure) : undefined) ?? 0
  const theirMs = (to.askedUntil ?? now) - now
  // A pause is whole milliseconds long.
  if (theirMs > Math.ceil(ownMs)) return { ...unasked, hint: { retryAfterMs: theirMs, source: STANDING } }
  return isOwn && hint !== undefined ? failure : unasked
}

/** Whether two routes lead to the same place, by the same chain. */
export const isSameRoute = (a: Route.Route, b: Route.Route): boolean =>
  Prospect.isSame(a.target, b.target) && a.credential === b.credential && a.role === b.role
