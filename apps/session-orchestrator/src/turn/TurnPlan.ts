/**
 * Collects what turns of one policy share: ten thousand conversations with the configuration's policy have one plan in an orchestrator. A plan
 * has nothing of a turn or of a conversation.
 */
import type { Provider } from "@holdfast/kernel"
import { ProviderCall } from "@holdfast/kernel/host"
import { type RetryPolicy, RetryStrategies } from "@holdfast/policy"
import { Limits } from "@holdfast/providers"
import { defined, type Target, type TurnEvent } from "@holdfast/wire"
import type { Defaults } from "../conversation/Defaults.ts"
import type { Providers } from "../conversation/Providers.ts"
import * as MostRetries from "./MostRetries.ts"
import * as TurnPorts from "./TurnPorts.ts"

/** The shared part of turns. */
export interface TurnPlan {
  readonly policy: RetryPolicy.RetryPolicy
  /** Decides by the policy, and shows how many retries its budget allows. */
  readonly strategy: ReturnType<typeof RetryStrategies.deciding>
  /** Whether its turns count tokens. */
  readonly counts: boolean
}

/** Finds the plan of a policy, and the providers for it. */
export interface TurnPlans {
  /** `own` is the policy of the conversation; turns that are submitted have other defaults. */
  readonly of: (own: RetryPolicy.RetryPolicy, isSubmitted: boolean) => TurnPlan
  /** The providers of all targets, bounded by the limits of the plan's policy. */
  readonly providerOf: (plan: TurnPlan) => Provider.Provider["Service"]
}

/** The plans and the providers of an orchestrator. */
export const make = (providers: Providers["Service"], { models }: Pick<Defaults["Service"], "models">): TurnPlans => {
  const routed = route(providers)
  const attached = new WeakMap<RetryPolicy.RetryPolicy, TurnPlan>()
  const submitted = new WeakMap<RetryPolicy.RetryPolicy, TurnPlan>()
  // Nearly all turns of an orchestrator have one plan.
  let last: { readonly plan: TurnPlan; readonly provider: Provider.Provider["Service"] } | undefined
  const planOf = (own: RetryPolicy.RetryPolicy, isSubmitted: boolean): TurnPlan => {
    const policy = { ...own, midStream: own.midStream ?? defaultMidStream(isSubmitted), enabled: true }
    const strategy = RetryStrategies.deciding(policy)
    return {
      policy,
      strategy: { ...strategy, budget: { ...strategy.budget, ...defined({ maxRetries: MostRetries.of(policy) }) } },
      counts: TurnPorts.counts(models, policy)
    }
  }
  return {
    of: (own, isSubmitted) => {
      const known = isSubmitted ? submitted : attached
      const plan = known.get(own) ?? planOf(own, isSubmitted)
      known.set(own, plan)
      return plan
    },
    providerOf: (plan) => {
      if (last?.plan !== plan) last = { plan, provider: Limits.withLimits(routed, plan.policy.requestTimeout) }
      return last.provider
    }
  }
}

/** The default for failures after content (rule X7): usually no client is attached to a submitted turn. */
export const defaultMidStream = (isSubmitted: boolean): TurnEvent.MidStream => (isSubmitted ? "unseen" : "fail")

// --- internal

/** Calls each target's own provider, with the chosen credential: a turn may change between them. */
const route = (providers: Providers["Service"]): Provider.Provider["Service"] =>
  ProviderCall.provider((request, world, listener) => {
    const found = providers.held?.(request.conversationId) ?? providers.get(request.target.provider, request.credential)
    if (found !== undefined) return ProviderCall.of(found)(request, world, listener)
    return ProviderCall.refuse(listener, missing(request.target, providers.names))
  })

/** A turn whose provider is no longer in the configuration is sealed as failed, with the reason: it does not block the turns behind it. */
const missing = (target: Target.Target, names: ReadonlyArray<string>): ProviderCall.Refusal => ({
  type: "error",
  failure: {
    reason: "model-unavailable",
    message: `There is no provider named "${target.provider}" in the configuration; there are: ${names.join(", ")}.`,
    retryable: false
  }
})
