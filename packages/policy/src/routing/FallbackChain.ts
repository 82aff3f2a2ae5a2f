/**
 * Decides routes along fallback chains (P6 to P9).
 *
 * `Prospect.ts` has the availability of targets. A used-up quota limits what the error names (C12) until its
 * reset, and another credential is used, without a wait; a rate limit keeps its credential: it is over within a minute, and a new
 * credential would lose the prompt cache (P7). Any other failure that a target may have caused puts it into cooldown, and the next
 * target takes over, without a wait (P8). Faults of the request, bugs of the program (C10) and rejected responses (A9) would occur
 * everywhere, so they cause no switch.
 *
 * Between two waits no target, and no credential of a target, is left twice. So every round has a wait, and the schedule bounds the
 * retries, each of which counts.
 */
import type { Directive, Route, Router } from "@holdfast/kernel"
import { Target, defined } from "@holdfast/wire"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Basis from "../decision/Basis.ts"
import type { ConsideredTarget } from "../decision/Basis.ts"
import * as RetryPolicy from "../decision/RetryPolicy.ts"
import * as WaitRules from "../decision/WaitRules.ts"
import * as RouteDecision from "./RouteDecision.ts"
import * as Pauses from "./Pauses.ts"
import * as Prospect from "./Prospect.ts"
import * as Routing from "./Routing.ts"
import * as Standing from "./Standing.ts"
import * as Models from "./Models.ts"

/** Returns the first route of a step: the first free target in order, or else the target that is free first (P9). */
export const begin = (
  chain: Routing.FallbackChain,
  question: Router.Question,
  known: Prospect.Known,
  now: number
): Router.Beginning => {
  const plan = planOf(chain, question, known)
  const prospects = plan.order.map((target) => Prospect.of(known, target, question.current, now))
  const chosen = prospects.find(({ freeAt }) => freeAt <= now) ?? Prospect.soonest(prospects)
  return { route: chosen === undefined ? { target: question.primary } : routeTo(plan, chosen) }
}

/** Decides about a failure, and returns its findings about its target and credential. */
export const direct = (
  policy: RetryPolicy.RetryPolicy,
  chain: Routing.FallbackChain,
  situation: Directive.Situation,
  question: Router.Question,
  known: Prospect.Known
): RouteDecision.RouteDecision => {
  if (!isOfTarget(situation)) {
    return { directive: RouteDecision.stay(policy, situation, untried(question)), changes: Standing.empty }
  }
  const scene = sceneOf(policy, chain, situation, question, known)
  const move = moveOf(scene)
  return {
    directive: move === undefined ? waitOrEnd(scene) : moveUnlessRefused(scene, move),
    changes: scene.changes
  }
}

// Orders the targets of a fallback chain, from the turn's present target.
//
// The primary comes first; under "never" the order begins at the turn's present target (P9). A fallback must fit the request. The primary
// is skipped only if it does not take a file of the prompt, and a fallback does.

/** The targets of a chain, in order, for one request. */
interface RoutePlan {
  readonly primary: Target.Target
  /** The key of the chain; absent: there is none. */
  readonly role: string | undefined
  readonly order: ReadonlyArray<Target.Target>
  /** The targets that the request does not fit. */
  readonly unfit: ReadonlyArray<ConsideredTarget>
}

/** Makes the plan for a request of a turn. */
const planOf = (chain: Routing.FallbackChain, question: Router.Question, known: Prospect.Known): RoutePlan => {
  const { current, primary, request } = question
  const role = [Target.format(primary), Routing.ANY_PRIMARY].find((key) => Object.hasOwn(chain.chains, key))
  const standIns = (role === undefined ? undefined : chain.chains[role])?.filter(
    (target) => !Prospect.isSame(target, primary)
  )
  const judged = (standIns ?? []).map((target) => ({
    target,
    unfit: Models.unfit(known.models, request, target, known.countTokens)
  }))
  const fit = judged.filter(({ unfit }) => unfit === undefined).map(({ target }) => target)
  const isSkipped = fit.length > 0 && Models.isUnfitForFiles(known.models, request, primary)
  const order = isSkipped ? fit : [primary, ...fit]
  const at = chain.revert === "never" ? order.findIndex((target) => isAt(current, target)) : 0
  return {
    primary,
    role,
    order: at > 0 ? [...order.slice(at), ...order.slice(0, at)] : order,
    unfit: [
      ...(isSkipped ? [{ target: Target.format(primary), unfit: "files" as const }] : []),
      ...judged.flatMap(({ target, unfit }) => (unfit === undefined ? [] : [{ target: Target.format(target), unfit }]))
    ]
  }
}

/** Whether a route leads to a target. */
const isAt = (route: Route.Route | undefined, target: Target.Target): boolean =>
  route !== undefined && Prospect.isSame(route.target, target)

/** Makes the route to a target of the plan, with its role (P8). */
const routeTo = ({ primary, role }: RoutePlan, { credential, target }: Prospect.TargetProspect): Route.Route => ({
  target,
  ...defined({ credential }),
  ...(role === undefined || Prospect.isSame(target, primary) ? {} : { role })
})

// --- internal

/** The targets and credentials left since the last wait. */
const Tried = Schema.Struct({ targets: Schema.Array(Schema.String), credentials: Schema.Array(Schema.String) })
type Tried = typeof Tried.Type

const UNTRIED: Tried = { targets: [], credentials: [] }

/** The state after a wait, when everything may be tried again; absent if there was no state. */
const untried = ({ state }: Pick<Router.Question, "state">): { readonly state?: Tried } =>
  state === undefined ? {} : { state: UNTRIED }

const decodeTried = Schema.decodeUnknownOption(Tried)

const triedOf = (state: Schema.Json | undefined): Tried =>
  state === undefined ? UNTRIED : Option.getOrElse(decodeTried(state), () => UNTRIED)

/** A failure, with the facts for the decision about it. */
type Scene = ReturnType<typeof sceneOf>

/** A possible retry without a wait. */
interface Move {
  readonly because: "other-credential" | "other-target"
  readonly route: Route.Route
  readonly tried: Tried
}

/** Whether the target or a credential may have caused the failure, and not the request. */
const isOfTarget = ({ failure: { defect, reason, retryable }, whole }: Directive.Situation): boolean => {
  if (defect === true || whole === true) return false
  switch (reason) {
    case "auth":
    case "quota-exhausted":
    case "model-unavailable":
      return true
    case "bad-request":
    case "refused":
    case "context-overflow":
      return false
    case "rate-limited":
    case "overloaded":
    case "server-error":
    case "network":
    case "timeout":
    case "invalid-response":
    case "aborted":
    case "unknown":
      return retryable
    default:
      return reason satisfies never
  }
}

const sceneOf = (
  policy: RetryPolicy.RetryPolicy,
  chain: Routing.FallbackChain,
  situation: Directive.Situation,
  question: Router.Question,
  before: Prospect.Known
) => {
  const { failure, now } = situation
  const here = question.current ?? { target: question.primary }
  const plan = planOf(chain, question, before)
  const tried = triedOf(question.state)

  const credential = Prospect.credentialOf(before, here)
  const isQuota = failure.reason === "quota-exhausted" && credential !== undefined
  const spare = isQuota ? spareOf(before, here, credential, tried, now) : undefined
  const changes = learnt(chain, policy, situation, here, before, credential, spare !== undefined)

  const known = { ...before, standing: Standing.merge(before.standing, changes) }
  const prospects = plan.order.map((target) => Prospect.of(known, target, here, now))
  return {
    policy,
    situation,
    plan,
    here,
    question,
    tried,
    /** Includes the findings of this failure. */
    known,
    changes,
    /** The targets with those findings, in order. */
    prospects,
    /** Another credential of this target, for a used-up one. */
    spare,
    /** Another turn had put the target into cooldown. */
    isCooling: Standing.of(before.standing, Standing.target(here.target), now) !== undefined,
    ways: [...prospects.map((prospect) => consideredTargetOf(prospect, tried, now)), ...plan.unfit]
  }
}

/** Returns the findings of a failure. If another credential can continue, the target does not cool down. */
const learnt = (
  { chains, cooldownMs }: Routing.FallbackChain,
  policy: RetryPolicy.RetryPolicy,
  situation: Directive.Situation,
  { target }: Route.Route,
  { credentials }: Prospect.Known,
  credential: string | undefined,
  hasSpare: boolean
): Standing.Standing => {
  const { reason } = situation.failure
  // Without fallbacks a cooldown is never read; with one credential, neither is its rate limit.
  const hasStandIns = Object.keys(chains).length > 0
  if (credential !== undefined && reason === "rate-limited") {
    return hasStandIns || (credentials[target.provider]?.length ?? 0) > 1
      ? Pauses.rateLimit(policy, situation, target, credential, cooldownMs)
      : Standing.empty
  }
  const isQuota = reason === "quota-exhausted" && credential !== undefined
  const quota = isQuota ? Pauses.quota(policy, situation, target, credential) : Standing.empty
  return hasSpare || !hasStandIns
    ? quota
    : Standing.merge(quota, Pauses.cooldown(policy, situation, target, cooldownMs, isQuota))
}

const spareOf = (
  known: Prospect.Known,
  { target }: Route.Route,
  used: string,
  tried: Tried,
  now: number
): string | undefined =>
  Prospect.spares(known, target, used, now).find(
    (name) => !tried.credentials.includes(Standing.model(target, name).name)
  )

const moveOf = ({ here, isCooling, known, plan, prospects, situation, spare, tried }: Scene): Move | undefined => {
  const elsewhere = prospects.find(
    ({ freeAt, target }) =>
      freeAt <= situation.now && !isAt(here, target) && !tried.targets.includes(Target.format(target))
  )
  // A cooling target gets another credential only if no other target is free.
  if (spare !== undefined && !(isCooling && elsewhere !== undefined)) {
    const { credential: _, ...route } = here
    const left = Standing.model(here.target, Prospect.credentialOf(known, here) ?? "").name
    return {
      because: "other-credential",
      route: { ...route, ...nameOf(known, here.target.provider, spare) },
      tried: { ...tried, credentials: [...tried.credentials, left] }
    }
  }
  if (elsewhere === undefined) return undefined
  return {
    because: "other-target",
    route: routeTo(plan, elsewhere),
    tried: { ...tried, targets: [...tried.targets, Target.format(here.target)] }
  }
}

/** The `credential` of a route, if it needs one. */
const nameOf = (known: Prospect.Known, provider: string, credential: string): Pick<Route.Route, "credential"> =>
  credential === known.credentials[provider]?.[0] ? {} : { credential }

const moveUnlessRefused = (
  { policy, situation, ways }: Scene,
  { because, route, tried }: Move
): Directive.Directive => {
  const { retries, spent } = situation
  const refused = RetryPolicy.refusal(policy, retries, situation.failure, spent)
  return refused === undefined
    ? RouteDecision.retry(situation, RouteDecision.AT_ONCE, {
        route,
        state: tried,
        basis: Basis.atOnce(policy, because, situation, ways)
      })
    : RouteDecision.exhausted(policy, refused, situation, ways)
}

/**
 * Without another target the policy's wait follows; then the first target in order whose pause is over by then is called, or else the
 * target whose pause ends first. A hint counts for its own target only, and is never undercut (P5). There is no wait for a failure that time
 * does not cure: if that holds for every target, the step ends. A permanently broken fallback does not shorten a turn's retries.
 */
const waitOrEnd = (scene: Scene): Directive.Directive => {
  const { here, known, plan, policy, question, situation, ways } = scene
  const { failure, now, retries, spent } = situation
  const hopeful = hopefulOf(scene)
  const { hint: _, ...unasked } = failure
  const at = now + WaitRules.of(policy, retries, unasked).ms
  const to = hopeful.find(({ freeAt }) => freeAt <= at) ?? Prospect.soonest(hopeful)
  if (to === undefined) return RouteDecision.stay(policy, situation, untried(question))

  const asked = RouteDecision.askedOf(failure, to, here, known, now)
  const decision = RetryPolicy.decide(policy, retries, asked, spent)
  if (decision._tag === "Refused") return RouteDecision.exhausted(policy, decision, situation, ways)
  const route = routeTo(plan, to)
  return RouteDecision.retry(situation, decision, {
    ...(RouteDecision.isSameRoute(route, here) ? {} : { route }),
    ...untried(question),
    basis: Basis.decided(policy, decision, situation, ways, asked.hint?.source === RouteDecision.STANDING)
  })
}

/** The targets whose failure may pass. For the attempt's own target its failure counts, not earlier findings. */
const hopefulOf = ({ here, known, prospects, situation: { failure } }: Scene): ReadonlyArray<Prospect.TargetProspect> =>
  prospects.filter((prospect) => {
    if (Prospect.isRouteTo(prospect, here, known)) return failure.retryable
    return prospect.isHopeful || (failure.retryable && isAt(here, prospect.target))
  })

const consideredTargetOf = (
  { freeAt, target }: Prospect.TargetProspect,
  tried: Tried,
  now: number
): Basis.ConsideredTarget => {
  const name = Target.format(target)
  return {
    target: name,
    ...(freeAt > now ? { until: freeAt } : {}),
    ...(tried.targets.includes(name) ? { had: true as const } : {})
  }
}
