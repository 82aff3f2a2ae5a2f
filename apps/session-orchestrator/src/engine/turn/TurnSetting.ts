/** Finds a turn's policy with its decisions, its target, and the provider behind its limits and gates. */
import { Directive, type Provider, type Records, RetryStrategy, type Router } from "@holdfast/kernel"
import { ResponseLimit } from "@holdfast/kernel/host"
import { Basis, Profile, RetryPolicy, RetrySettings, RetryStrategies, type SpendGuard } from "@holdfast/policy"
import { type Failure, Target } from "@holdfast/wire"
import { Effect, Result } from "effect"
import type { Conversation, Resumption, Turn } from "../../storage/Stored.ts"
import * as Admission from "./Admission.ts"
import * as HeldCalls from "../conversation/HeldCalls.ts"
import type { Defaults } from "../conversation/Defaults.ts"
import type { Session } from "../session/Session.ts"
import * as Spending from "../spend/Spending.ts"
import * as ProviderName from "../../base/text/ProviderName.ts"
import * as SpendSums from "../../config/limits/SpendSums.ts"
import type * as TurnLife from "../session/TurnLife.ts"
import type * as TurnPlan from "./TurnPlan.ts"
import type * as TurnPorts from "./TurnPorts.ts"
import type { TurnServices } from "./TurnServices.ts"

/** The settings that one turn runs with. */
export interface TurnSetting {
  readonly target: Target.Target
  /** The part that it shares with the turns of the same policy. */
  readonly plan: TurnPlan.TurnPlan
  /** The present state of the conversation's auto-retry switch (rule P15). */
  readonly isEnabled: () => boolean
  /** Bounded by the limits of the policy, and connected to the gates. */
  readonly provider: Provider.Provider["Service"]
  /** Absent: it is not the turn of a held call. */
  readonly held?: HeldCalls.HeldCall | undefined
  /** The price of a target, for a question. */
  readonly priceOf: SpendGuard.PriceOf
}

/** The settings of one turn; `known`: its records until now. */
export const of = (
  {
    defaults,
    gates,
    plans,
    providers,
    spending
  }: Pick<TurnServices, "defaults" | "gates" | "plans" | "providers" | "spending">,
  session: Session,
  turn: TurnLife.TurnLife,
  { conversation, turn: own }: Pick<Resumption, "conversation" | "turn">,
  known: ReadonlyArray<Records.Stored>
): TurnSetting => {
  // The settings give the initial state of a conversation's switch; from then on the switch alone decides (rule P15).
  const held = providers.held?.(conversation.conversationId)
  const whole = policyOf(conversation, defaults)
  const plan = plans(held === undefined ? whole : HeldCalls.policyOf(whole, held), own.isSubmitted === true)
  const isEnabled = () => session.autoRetry ?? conversation.autoRetryEnabled
  const goesOn = (failure: Failure.Failure) => isEnabled() && RetryPolicy.delay(plan.policy, 0, failure) !== undefined
  // The gate stands outside the limits: a call that exceeds a limit has failed, and the gate must get that failure.
  const gated = Admission.throughGates(plan.provider, gates, turn, goesOn, Admission.isOrdered(known))
  return {
    target: targetOf(conversation.model),
    plan,
    isEnabled,
    held,
    priceOf: (target) => SpendSums.priceOf(defaults.prices ?? {}, Target.format(target)),
    provider: spending === undefined ? gated : spending.checked(gated, checkedOf(turn, own))
  }
}

/** Decides by a turn's plan, behind its switch, its gate and the limits of spending. */
export const deciding = ({
  held,
  isEnabled,
  life,
  plan: { policy, strategy },
  ports,
  priceOf,
  spending
}: Pick<TurnSetting, "held" | "isEnabled"> &
  Partial<Pick<TurnSetting, "priceOf">> & {
    readonly life: TurnLife.TurnLife
    readonly plan: Pick<TurnPlan.TurnPlan, "policy" | "strategy">
    readonly ports: Pick<TurnPorts.TurnPorts, "countTokens">
    /** The limits of spending; absent: there are none. */
    readonly spending: Spending.Spending | undefined
  }) => {
  // The request of a held call is not in its turn: it is counted by its bytes.
  const countTokens = held === undefined ? ports.countTokens : () => held.inputTokens
  const guarded = { ...strategy, ...RetryStrategies.guardedBy(policy.spendGuard, countTokens, priceOf) }
  const decided = Admission.remembering(life).strategy(switched(guarded, policy, isEnabled))
  return spending === undefined ? decided : spending.asking(decided, life.turnId)
}

/**
 * A turn's router, behind the limits of spending. It records what the gate keeps of the turn. A refusal of a client's own key goes to the client,
 * which may renew it: no other key takes its place unnoticed.
 */
export const routed = (
  life: TurnLife.TurnLife,
  router: Router.Router["Service"],
  strategy: RetryStrategy.Deciding,
  spending: Spending.Spending | undefined
): Router.Router["Service"] => {
  const own: Router.Router["Service"] = {
    ...router,
    direct: (situation, question) =>
      situation.failure.reason === "auth" &&
      ProviderName.hasClientKey((question.current?.target ?? question.primary).provider)
        ? Effect.succeed(Directive.decide(situation, strategy))
        : router.direct(situation, question)
  }
  return Admission.remembering(life).router(spending === undefined ? own : Spending.routed(own, strategy))
}

/** Decides as `strategy`, while the conversation's switch is on (rule P15). */
export const switched = <S extends RetryStrategy.Deciding>(
  strategy: S,
  policy: RetryPolicy.RetryPolicy,
  isEnabled: () => boolean
): S => ({
  ...strategy,
  decide: (attempt, failure, spent) =>
    isEnabled() ? RetryStrategy.decide(strategy, attempt, failure, spent) : { basis: Basis.switchedOff(policy, spent) }
})

/** The target of a stored name, which was checked when it was stored. */
export const targetOf = (model: string): Target.Target => Target.parse(model) ?? { provider: model, model }

/**
 * The policy of a conversation: its own settings override the configuration's. It may lower the limit of a response and not raise it: the
 * memory is the service's (rule C11).
 */
export const policyOf = (
  { retry: own }: Pick<Conversation, "retry">,
  { retry }: Pick<Defaults["Service"], "retry">
): RetryPolicy.RetryPolicy => {
  if (own === undefined) return resolved(retry)
  const { maxResponseCharacters: most = ResponseLimit.MOST_CHARACTERS } = retry
  const policy = Profile.resolve({ ...retry, ...Result.getOrElse(RetrySettings.decode(own), () => undefined) })
  return (policy.maxResponseCharacters ?? 0) > most ? { ...policy, maxResponseCharacters: most } : policy
}

// --- internal

/** A turn that has just arrived may not be on disk, so its own labels count. */
const checkedOf = (
  { arrival, draft }: TurnLife.TurnLife,
  { conversationId, labels, turnId }: Pick<Turn, "conversationId" | "labels" | "turnId">
): Spending.CheckedTurn =>
  arrival === undefined
    ? { conversationId, turnId }
    : { conversationId, turnId, tags: labels?.tags ?? [], isDraft: draft !== undefined }

const policies = new WeakMap<Profile.RetrySettings, RetryPolicy.RetryPolicy>()

/** The configuration's own policy, which most conversations have. */
const resolved = (retry: Profile.RetrySettings): RetryPolicy.RetryPolicy => {
  const known = policies.get(retry)
  if (known !== undefined) return known
  const policy = Profile.resolve(retry)
  policies.set(retry, policy)
  return policy
}
