/** Builds the decisions of routing, for every kind of routing. */
import { Directive, type Route } from "@holdfast/kernel"
import type { Failure } from "@holdfast/wire"
import type * as Schema from "effect/Schema"
import * as Basis from "../decision/Basis.ts"
import * as RetryPolicy from "../decision/RetryPolicy.ts"
import * as WaitRules from "../decision/WaitRules.ts"
import * as Prospect from "./Prospect.ts"
import type * as Standing from "./Standing.ts"

/** A decision, and the findings that it made. */
export interface RouteDecision {
  readonly directive: Directive.Directive
  /** To be stored for others before the decision is recorded; storing it twice does no harm. */
  readonly changes: Standing.Standing
}

type Situation = Directive.Situation

type Wait = Pick<Extract<RetryPolicy.RetryDecision, { readonly _tag: "Delay" }>, "delayMs" | "hintMs">

/** No wait. */
export const AT_ONCE: Wait = { delayMs: 0 }

/** Makes a retry after a wait. */
export const retry = (
  situation: Situation,
  { delayMs, hintMs }: Wait,
  more: { readonly route?: Route.Route; readonly state?: Schema.Json; readonly basis: Basis.Basis }
): Directive.Directive => ({
  _tag: "Retry",
  attempt: situation.retries,
  ...Directive.waitOf(situation, delayMs, hintMs),
  ...more
})

/** Gives up because a limit of the policy is reached. */
export const exhausted = (
  policy: RetryPolicy.RetryPolicy,
  refused: RetryPolicy.NoRetry,
  situation: Situation,
  ways: ReadonlyArray<Basis.ConsideredTarget> = []
): Directive.Directive => ({
  _tag: "GiveUp",
  because: "exhausted",
  basis: Basis.decided(policy, refused, situation, ways)
})

/** Gives up because the failure does not pass on any target. */
export const notRetryable: Directive.Directive = { _tag: "GiveUp", because: "not-retryable" }

/** Whether a failure may pass with time. An abort that the user did not request counts as a network fault (M3). */
export const isPassing = ({ reason, retryable }: Failure.Failure): boolean => retryable || reason === "aborted"

/** Decides by the policy alone, on the same route. `state` is passed on after a wait. */
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
    : retry(situation, decision, { ...state, basis: Basis.decided(policy, decision, situation) })
}

/** The source of an earlier hint: a provider gave it before this failure. */
export const STANDING = "standing"

/**
 * Returns the failure with the hint that counts for the wait before a call of `to`. A hint from `here` does not apply to another target or
 * credential.
 */
export const askedOf = (
  failure: Failure.Failure,
  to: Prospect.TargetProspect,
  here: Route.Route,
  known: Prospect.Known,
  now: number
): Failure.Failure => {
  const { hint, ...unasked } = failure
  const isOwn = Prospect.isRouteTo(to, here, known)
  const ownMs = (isOwn ? WaitRules.askedMs(failure) : undefined) ?? 0
  const theirMs = (to.askedUntil ?? now) - now
  // A pause is whole milliseconds long.
  if (theirMs > Math.ceil(ownMs)) return { ...unasked, hint: { retryAfterMs: theirMs, source: STANDING } }
  return isOwn && hint !== undefined ? failure : unasked
}

/** Whether two routes have the same target, credential and chain. */
export const isSameRoute = (a: Route.Route, b: Route.Route): boolean =>
  Prospect.isSame(a.target, b.target) && a.credential === b.credential && a.role === b.role
