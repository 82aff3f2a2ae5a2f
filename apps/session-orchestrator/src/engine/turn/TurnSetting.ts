/** Finds what a turn runs with: its policy with its decisions, its target, and the provider behind its limits and gates. */
import { Compactor, Directive, type Records, RetryStrategy, type Router, type TurnLimits } from "@holdfast/kernel"
import { ResponseLimit } from "@holdfast/kernel/host"
import {
  Basis,
  type Models,
  Profile,
  RetryPolicy,
  RetrySettings,
  RetryStrategies,
  type SpendGuard
} from "@holdfast/policy"
import { defined, Failure, Target } from "@holdfast/wire"
import { Effect, Result } from "effect"
import type { Conversation, Resumption, Turn } from "../../storage/Stored.ts"
import * as Admission from "./Admission.ts"
import * as HeldCalls from "../conversation/HeldCalls.ts"
import type { Defaults } from "../conversation/Defaults.ts"
import type { Session } from "../session/Session.ts"
import * as Spending from "../spend/Spending.ts"
import * as ProviderName from "../../base/text/ProviderName.ts"
import * as FinalReports from "../../config/report/FinalReports.ts"
import * as SpendSums from "../../config/limits/SpendSums.ts"
import type * as TurnLife from "../session/TurnLife.ts"
import type * as TurnPlan from "./TurnPlan.ts"
import * as TurnRouter from "./TurnRouter.ts"
import type { TurnServices } from "./TurnServices.ts"
import * as ContextSize from "../../base/tokens/ContextSize.ts"
import * as Tokenizer from "../../base/tokens/Tokenizer.ts"
import * as Standings from "../../storage/Standings.ts"

type Dependencies = Pick<
  TurnServices,
  "defaults" | "gates" | "patiently" | "plans" | "providers" | "spending" | "standings"
>

/** What one turn runs with: its target, and its ports. `known`: its records until now. */
export const of = (
  { defaults, gates, patiently, plans, providers, spending, standings }: Dependencies,
  session: Session,
  life: TurnLife.TurnLife,
  { conversation, history, turn }: Pick<Resumption, "conversation" | "history" | "turn">,
  known: ReadonlyArray<Records.Stored>
) => {
  const held = providers.held?.(conversation.conversationId)
  const whole = policyOf(conversation, defaults)
  const plan = plans(held === undefined ? whole : HeldCalls.policyOf(whole, held), turn.isSubmitted === true)
  const { policy } = plan
  // The settings give the initial state of a conversation's switch; from then on the switch alone decides (rule P15).
  const isEnabled = () => session.present(conversation).autoRetryEnabled
  const goesOn = (failure: Failure.Failure) => isEnabled() && RetryPolicy.delay(policy, 0, failure) !== undefined
  // The gate stands outside the limits: a call that exceeds a limit has failed, and the gate must get that failure.
  const gated = Admission.throughGates(plan.provider, gates, life, goesOn, Admission.isOrdered(known))
  const provider = spending === undefined ? gated : spending.checked(gated, checkedOf(life, turn))
  // The request of a held call is not in its turn: no window is compared with it, and its guard counts its bytes.
  const countTokens: Models.CountTokens =
    held === undefined ? (request) => ContextSize.of(request, Tokenizer.count) : () => 0
  const found = held?.account === undefined ? standings : Standings.ofClient(standings, held.account)
  const router = TurnRouter.make({
    standings: life.draft === undefined ? found : Standings.orUnknown(found),
    countTokens,
    credentials: providers.credentials,
    models: defaults.models,
    policy,
    history,
    isEnabled,
    patiently: patiently(turn.turnId),
    modelSince: conversation.modelSince
  })
  const priceOf: SpendGuard.PriceOf = (target) => SpendSums.priceOf(defaults.prices ?? {}, Target.format(target))
  const counting = held === undefined ? countTokens : () => held.inputTokens
  const strategy = deciding({ countTokens: counting, isEnabled, life, plan, priceOf, spending })
  return {
    report: FinalReports.make(policy),
    compactor: Compactor.make(provider), // rule P19
    limits: limitsOf(policy, countTokens),
    target: targetOf(conversation.model),
    provider,
    strategy,
    router: router && routed(life, router, strategy),
    hasCompactor: held === undefined
  }
}

/** Decides by a turn's plan, behind its switch, its gate and the limits of spending. */
export const deciding = ({
  countTokens,
  isEnabled,
  life,
  plan: { policy, strategy },
  priceOf,
  spending
}: {
  readonly countTokens: Models.CountTokens
  /** The present state of the conversation's auto-retry switch. */
  readonly isEnabled: () => boolean
  readonly life: TurnLife.TurnLife
  readonly plan: Pick<TurnPlan.TurnPlan, "policy" | "strategy">
  /** The price of a target, for a question. */
  readonly priceOf?: SpendGuard.PriceOf
  /** The limits of spending; absent: there are none. */
  readonly spending: Spending.Spending | undefined
}) => {
  const switched: typeof strategy = {
    ...strategy,
    decide: (attempt, failure, spent) =>
      isEnabled()
        ? RetryStrategy.decide(strategy, attempt, failure, spent)
        : { basis: Basis.switchedOff(policy, spent) } // rule P15
  }
  const guarded = { ...switched, ...RetryStrategies.guardedBy(policy.spendGuard, countTokens, priceOf) }
  const decided = Spending.deciding(Admission.remembering(life).strategy(guarded))
  return spending === undefined ? decided : spending.asking(decided, life.turnId)
}

/**
 * A turn's router, which records what the gate keeps of the turn. It gets no failure of a limit of spending. A refusal of a client's own key goes
 * to the client, which may renew it: no other key takes its place unnoticed.
 */
export const routed = (
  life: TurnLife.TurnLife,
  router: Router.Router["Service"],
  strategy: RetryStrategy.Deciding
): Router.Router["Service"] =>
  Admission.remembering(life).router({
    ...router,
    direct: (situation, question) => {
      const { provider } = question.current?.target ?? question.primary
      const isOfClient = situation.failure.reason === "auth" && ProviderName.hasClientKey(provider)
      return isOfClient || Failure.isOfSpendLimit(situation.failure)
        ? Effect.succeed(Directive.decide(situation, strategy))
        : router.direct(situation, question)
    }
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

/** Rules A11, C11. `undefined` if only the kernel's own limits apply: a turn without limits costs less. */
const limitsOf = (
  { finalReport, maxFailedToolSteps, maxResponseCharacters, maxTurns }: RetryPolicy.RetryPolicy,
  countTokens: Models.CountTokens
): TurnLimits.TurnLimits | undefined => {
  const budget = finalReport?.contextBudget
  if ([budget, maxFailedToolSteps, maxTurns, maxResponseCharacters].every((limit) => limit === undefined))
    return undefined
  const exceedsContext: TurnLimits.TurnLimits["exceedsContext"] | undefined =
    budget === undefined ? undefined : (prospect) => countTokens(prospect, prospect.target) > budget
  return defined({ maxFailedToolSteps, maxResponseCharacters, maxTurns, exceedsContext })
}

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
