/**
 * Takes targets in turn (A2 to A7).
 *
 * The cursor is the target of the last attempt, and a step begins at its primary. A cycle is the time between two waits for rate limits;
 * it skips a target that the request does not fit, unless it is the primary. The cursor moves only on a skip and on a rate limit, by one
 * target (A4). There is no wait for a rate limit while a target of the cycle is not limited; after that there is one wait, the longest
 * of the cycle (A5).
 *
 * If the number of retries has no limit, the policy's own wait follows a round without a wait, and a round in which every failure was final
 * is the last. Otherwise the step would not end.
 */
import type { Directive, Route, Router } from "@holdfast/kernel"
import { defined, type Failure, Target } from "@holdfast/wire"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Basis from "../decision/Basis.ts"
import * as RetryPolicy from "../decision/RetryPolicy.ts"
import * as WaitRules from "../decision/WaitRules.ts"
import * as RouteDecision from "./RouteDecision.ts"
import * as Models from "./Models.ts"
import * as Pauses from "./Pauses.ts"
import * as Prospect from "./Prospect.ts"
import type { RoundRobin } from "./Routing.ts"
import * as Standing from "./Standing.ts"

/** Returns the first route of a step: its primary (A4). */
export const begin = (
  _: RoundRobin,
  { current, primary }: Router.Question,
  known: Prospect.Known,
  now: number
): Router.Beginning => ({ route: routeTo(known, primary, current, now) })

/** Decides about a failure, and returns its findings about its credential. */
export const direct = (
  policy: RetryPolicy.RetryPolicy,
  robin: RoundRobin,
  situation: Directive.Situation,
  question: Router.Question,
  before: Prospect.Known
): RouteDecision.RouteDecision => {
  const here = question.current ?? { target: question.primary }
  const changes = learnt(policy, situation, here, before)
  const known = { ...before, standing: Standing.merge(before.standing, changes) }
  const scene = sceneOf(policy, robin, situation, question, here, known)
  const refused = RetryPolicy.refusal(policy, situation.retries, situation.failure, situation.spent)
  return {
    directive: refused === undefined ? decide(scene) : RouteDecision.exhausted(policy, refused, situation, scene.ways),
    changes
  }
}

/**
 * The reaction to a failure, without its wait (A3, A4).
 *
 * - `limited`: the next target, and a wait once all are limited.
 * - `wait`: the same target, after the wait for its reason.
 * - `again`: the same target, at once, after an error inside a response that began with success.
 * - `skip`: the next target, at once.
 */
type Kind = "limited" | "wait" | "again" | "skip"

/** Returns the reaction to a failure. An HTTP status other than 200 outweighs the reason: the endpoint itself has refused. */
const kindOf = (failure: Failure.Failure): Kind => {
  const { reason, status } = failure
  if (reason === "rate-limited") return "limited"
  if ((status !== undefined && status !== 200) || !RouteDecision.isPassing(failure)) return "skip"
  switch (reason) {
    case "network":
    case "timeout":
    case "invalid-response":
    case "aborted":
      return "wait"
    case "auth":
    case "quota-exhausted":
      return "skip"
    case "overloaded":
    case "server-error":
    case "context-overflow":
    case "refused":
    case "model-unavailable":
    case "bad-request":
    case "unknown":
      return "again"
    default:
      return reason satisfies never
  }
}

// --- internal

/** The state that is passed from decision to decision within a step. */
const State = Schema.Struct({
  /** The targets that are limited in this cycle (A5). */
  limited: Schema.Array(Schema.String),
  /** The longest wait for a rate limit in it, in milliseconds. */
  longestMs: Schema.Finite,
  /** Retries since the last wait. */
  atOnce: Schema.Int,
  /** Whether a failure among them may pass with time. */
  isHopeful: Schema.Boolean
})
type State = typeof State.Type

const decodeState = Schema.decodeUnknownOption(State)

const START: State = { limited: [], longestMs: 0, atOnce: 0, isHopeful: false }

type Scene = ReturnType<typeof sceneOf>

const sceneOf = (
  policy: RetryPolicy.RetryPolicy,
  { targets }: RoundRobin,
  situation: Directive.Situation,
  { primary, request, state }: Router.Question,
  here: Route.Route,
  known: Prospect.Known
) => {
  const all = targets.some((target) => Prospect.isSame(target, primary)) ? targets : [primary, ...targets]
  const judged = all.map((target) => ({
    target,
    unfit: Prospect.isSame(target, primary) ? undefined : Models.unfit(known.models, request, target, known.countTokens)
  }))
  const cycle = judged.filter(({ unfit }) => unfit === undefined).map(({ target }) => target)
  const cursor = all.findIndex((target) => Prospect.isSame(target, here.target))
  const following = [...all.slice(cursor + 1), ...all.slice(0, cursor + 1)]
  const decoded = Option.getOrElse(decodeState(state), () => START)
  return {
    policy,
    situation,
    here,
    known,
    /** The targets that the request fits, in order. */
    cycle,
    /** The target after this one. */
    next: following.find((target) => cycle.includes(target)) ?? primary,
    state: decoded,
    ways: judged.map(({ target, unfit }): Basis.ConsideredTarget => {
      const name = Target.format(target)
      return {
        target: name,
        ...defined({ unfit }),
        ...(decoded.limited.includes(name) ? { had: true } : {})
      }
    })
  }
}

const decide = (scene: Scene): Directive.Directive => {
  const { here, next, policy, situation, state } = scene
  switch (kindOf(situation.failure)) {
    case "limited":
      return limited(scene)
    case "wait":
      return waitOr(scene, here.target, waitFor(policy, situation), { ...state, atOnce: 0 })
    case "again":
      return atOnce(scene, here.target, state)
    case "skip":
      return atOnce(scene, next, state)
  }
}

/** A5. */
const limited = (scene: Scene): Directive.Directive => {
  const { cycle, here, next, policy, situation, state } = scene
  const names = Array.from(new Set([...state.limited, Target.format(here.target)]))
  const wait = waitFor(policy, situation)
  const longestMs = Math.max(state.longestMs, wait.ms)
  const isAll = cycle.every((target) => names.includes(Target.format(target)))
  return isAll
    ? waitOr(scene, next, wait.ms === longestMs ? wait : { ms: longestMs, scheduledMs: longestMs }, START)
    : atOnce(scene, next, { ...state, limited: names, longestMs })
}

const waitFor = (policy: RetryPolicy.RetryPolicy, { failure, retries }: Directive.Situation): WaitRules.Wait =>
  WaitRules.of(policy, retries, failure)

const atOnce = (scene: Scene, to: Target.Target, state: State): Directive.Directive => {
  const { cycle, here, policy, situation, ways } = scene
  const isHopeful = state.isHopeful || RouteDecision.isPassing(situation.failure)
  const made = state.atOnce + 1
  if (policy.maxRetries === undefined && made >= cycle.length) {
    if (!isHopeful) return RouteDecision.notRetryable
    const { hint: _, ...unasked } = situation.failure
    const failure = Prospect.isSame(to, here.target) ? situation.failure : unasked
    return waitOr(scene, to, waitFor(policy, { ...situation, failure }), { ...state, atOnce: 0, isHopeful: false })
  }
  return RouteDecision.retry(situation, RouteDecision.AT_ONCE, {
    ...routed(scene, to),
    state: { ...state, atOnce: made, isHopeful },
    basis: Basis.atOnce(policy, Prospect.isSame(to, here.target) ? "same-target" : "other-target", situation, ways)
  })
}

/** Returns the retry after a wait, or gives up if the wait exceeds the policy's limits. */
const waitOr = (scene: Scene, to: Target.Target, wait: WaitRules.Wait, state: State): Directive.Directive => {
  const { policy, situation, ways } = scene
  const decision = RetryPolicy.grant(policy, wait, situation.failure.reason, situation.spent)
  return decision._tag === "Refused"
    ? RouteDecision.exhausted(policy, decision, situation, ways)
    : RouteDecision.retry(
        situation,
        { ...decision, hintMs: decision.delayMs },
        {
          // A15
          ...routed(scene, to),
          state,
          basis: Basis.decided(policy, decision, situation, ways)
        }
      )
}

/** The route of a retry, unless it is the attempt's own. */
const routed = ({ here, known, situation }: Scene, to: Target.Target): { readonly route?: Route.Route } => {
  const route = routeTo(known, to, here, situation.now)
  return RouteDecision.isSameRoute(route, here) ? {} : { route }
}

const routeTo = (
  known: Prospect.Known,
  to: Target.Target,
  inUse: Route.Route | undefined,
  now: number
): Route.Route => {
  const { credential } = Prospect.of(known, to, inUse, now)
  return { target: to, ...defined({ credential }) }
}

/** Returns the findings of a used-up quota, which all turns share (P7), including this one in its next round. */
const learnt = (
  policy: RetryPolicy.RetryPolicy,
  situation: Directive.Situation,
  here: Route.Route,
  known: Prospect.Known
): Standing.Standing => {
  const credential = Prospect.credentialOf(known, here)
  return situation.failure.reason === "quota-exhausted" && credential !== undefined
    ? Pauses.quota(policy, situation, here.target, credential)
    : Standing.empty
}
