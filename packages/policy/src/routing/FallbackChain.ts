/**
 * Fallback chains: where a step begins, and where it goes on after a failure (P6 to P9).
 *
 * The order in which targets are taken is `Plan.ts`'s; how they stand is `Prospect.ts`'s.
 *
 * F1. A used-up quota limits what the error names (C12) until its reset and moves to another credential, without a wait. A rate
 *     limit keeps its credential: by the minute it is over, and the prompt cache would be gone with a new one (P7).
 * F2. Otherwise, what a target may be to blame for puts it into cooldown, and the next one takes over, without a wait (P8). What
 *     is the request's own fault would fail everywhere, and goes nowhere else; nor does a bug of the program itself (C10), or a
 *     model that has answered, and not as it should (A9).
 * F3. Between two waits no target and no credential of a target is left twice. So there is a wait in every round, however short
 *     cooldowns are and however long attempts take, and the schedule ends what it is to end.
 * F4. With nowhere to go there is the policy's wait, to the first in order whose pause is over by then, or else the one whose
 *     pause is over first. What a provider asked for counts for its own target only, and is never undercut (P5).
 * F5. Nobody waits for what time does not mend: where that is true of every target, a failure that is not retryable ends the
 *     step. A stand-in that is broken for good makes no turn less patient than it would be without it.
 * F6. Every retry counts, one without a wait too: retry number n takes delay n of the schedule.
 * F7. With one target, one credential and nothing known it decides as the policy alone does.
 */
import type { Directive, Route, Router } from "@holdfast/kernel"
import { Target } from "@holdfast/wire"
import { Option, Schema } from "effect"
import * as Basis from "../Basis.ts"
import * as RetryPolicy from "../RetryPolicy.ts"
import * as Waits from "../Waits.ts"
import * as Answer from "./Answer.ts"
import * as Pauses from "./Pauses.ts"
import * as Plan from "./Plan.ts"
import * as Prospect from "./Prospect.ts"
import type * as Routing from "./Routing.ts"
import * as Standing from "./Standing.ts"

/** Where a step begins: with the first in order that is free, or else with the one that is free first (P9). */
export const begin = (
  chain: Routing.FallbackChain,
  question: Router.Question,
  known: Prospect.Known,
  now: number
): Router.Beginning => {
  const plan = Plan.of(chain, question, known)
  const prospects = plan.order.map((target) => Prospect.of(known, target, question.current, now))
  const chosen = prospects.find(({ freeAt }) => freeAt <= now) ?? Prospect.soonest(prospects)
  return { route: chosen === undefined ? { target: question.primary } : Plan.routeTo(plan, chosen) }
}

/** What comes after a failure, and what it says about its target and credential. */
export const direct = (
  policy: RetryPolicy.RetryPolicy,
  chain: Routing.FallbackChain,
  situation: Directive.Situation,
  question: Router.Question,
  known: Prospect.Known
): Answer.Answer => {
  if (!isOfTarget(situation)) {
    return { directive: Answer.stay(policy, situation, untried(question)), changes: Standing.empty }
  }
  const scene = sceneOf(policy, chain, situation, question, known)
  const move = moveOf(scene)
  return {
    directive: move === undefined ? waitOrEnd(scene) : moveUnlessRefused(scene, move),
    changes: scene.changes
  }
}

// --- internal

/** What has been left since the last wait (F3). */
const Tried = Schema.Struct({ targets: Schema.Array(Schema.String), credentials: Schema.Array(Schema.String) })
type Tried = typeof Tried.Type

const UNTRIED: Tried = { targets: [], credentials: [] }

/** After a wait everything may be tried again; where nothing was handed on, nothing need be. */
const untried = ({ state }: Pick<Router.Question, "state">): { readonly state?: Tried } =>
  state === undefined ? {} : { state: UNTRIED }

const triedOf = (state: Schema.Json | undefined): Tried =>
  Option.getOrElse(Schema.decodeUnknownOption(Tried)(state), () => UNTRIED)

/** A failure, and all that there is to decide about it from. */
interface Scene {
  readonly policy: RetryPolicy.RetryPolicy
  readonly situation: Directive.Situation
  readonly question: Router.Question
  readonly plan: Plan.Plan
  readonly here: Route.Route
  readonly tried: Tried
  /** With what this failure has taught. */
  readonly known: Prospect.Known
  readonly changes: Standing.Standing
  /** As they stand then, in order. */
  readonly prospects: ReadonlyArray<Prospect.Prospect>
  /** Another credential of this target's, for one that is used up (F1). */
  readonly spare: string | undefined
  /** The target had been put into cooldown by somebody else. */
  readonly isCooling: boolean
  readonly ways: ReadonlyArray<Basis.Way>
}

/** What a retry without a wait would be. */
interface Move {
  readonly because: "other-credential" | "other-target"
  readonly route: Route.Route
  readonly tried: Tried
}

/** Whether the target, or a credential, may be to blame, and not the request (F2). */
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
): Scene => {
  const { failure, now } = situation
  const here = question.current ?? { target: question.primary }
  const plan = Plan.of(chain, question, before)
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
    known,
    changes,
    prospects,
    spare,
    isCooling: Standing.of(before.standing, Standing.target(here.target), now) !== undefined,
    ways: [...prospects.map((prospect) => wayOf(prospect, tried, now)), ...plan.unfit]
  }
}

/** What a failure has taught. With another credential to go on with, a target does not cool down. */
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
  // Where nobody has a stand-in, nobody asks whether a target cools down; nor, with one credential, whether that is rate-limited.
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
      freeAt <= situation.now && !Plan.isAt(here, target) && !tried.targets.includes(Target.format(target))
  )
  // A target that cools down is worth another credential only where no other target is free.
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
    route: Plan.routeTo(plan, elsewhere),
    tried: { ...tried, targets: [...tried.targets, Target.format(here.target)] }
  }
}

/** A route's `credential`, where it needs one. */
const nameOf = (known: Prospect.Known, provider: string, credential: string): Pick<Route.Route, "credential"> =>
  credential === known.credentials[provider]?.[0] ? {} : { credential }

const moveUnlessRefused = (
  { policy, situation, ways }: Scene,
  { because, route, tried }: Move
): Directive.Directive => {
  const { retries, spent } = situation
  const refused = RetryPolicy.refusal(policy, retries, situation.failure, spent)
  return refused === undefined
    ? Answer.retry(situation, 0, { route, state: tried, basis: Basis.atOnce(policy, because, situation, ways) })
    : Answer.exhausted(policy, refused, situation, ways)
}

const waitOrEnd = (scene: Scene): Directive.Directive => {
  const { here, known, plan, policy, question, situation, ways } = scene
  const { failure, now, retries, spent } = situation
  const hopeful = hopefulOf(scene)
  const { hint: _, ...unasked } = failure
  const at = now + Waits.of(policy, retries, unasked).ms
  const to = hopeful.find(({ freeAt }) => freeAt <= at) ?? Prospect.soonest(hopeful)
  if (to === undefined) return Answer.stay(policy, situation, untried(question)) // F5

  const asked = Answer.askedOf(failure, to, here, known, now)
  const decision = RetryPolicy.decide(policy, retries, asked, spent) // F4
  if (decision._tag === "Refused") return Answer.exhausted(policy, decision, situation, ways)
  const route = Plan.routeTo(plan, to)
  return Answer.retry(situation, decision.delayMs, {
    ...(Answer.isSameRoute(route, here) ? {} : { route }),
    ...untried(question),
    basis: Basis.decided(policy, decision, situation, ways, asked.hint?.source === Answer.STANDING)
  })
}

/** What time may mend. About where the attempt went its own failure says more than what was known. */
const hopefulOf = ({ here, known, prospects, situation: { failure } }: Scene): ReadonlyArray<Prospect.Prospect> =>
  prospects.filter((prospect) => {
    if (Prospect.isRouteTo(prospect, here, known)) return failure.retryable
    return prospect.isHopeful || (failure.retryable && Plan.isAt(here, prospect.target))
  })

const wayOf = ({ freeAt, target }: Prospect.Prospect, tried: Tried, now: number): Basis.Way => {
  const name = Target.format(target)
  return {
    target: name,
    ...(freeAt > now ? { until: freeAt } : {}),
    ...(tried.targets.includes(name) ? { had: true as const } : {})
  }
}
