/**
 * Collects what turns of one policy share: ten thousand conversations with the configuration's policy have one plan in an orchestrator. A plan
 * has nothing of a turn or of a conversation.
 */
import type { Provider } from "@holdfast/kernel"
import { ProviderCall } from "@holdfast/kernel/host"
import { Preview, RetryPolicy, RetryStrategies } from "@holdfast/policy"
import { Limits } from "@holdfast/providers"
import { defined, type Target, type TurnEvent } from "@holdfast/wire"
import type { Providers } from "../conversation/Providers.ts"

/** The shared part of turns. */
export type TurnPlan = ReturnType<TurnPlans>

/** Finds the plan of a policy. `own` is the policy of the conversation; turns that are submitted have other defaults. */
export type TurnPlans = ReturnType<typeof make>

/** The plans of an orchestrator. */
export const make = (providers: Providers["Service"]) => {
  const routed = route(providers)
  const planOf = (own: RetryPolicy.RetryPolicy, isSubmitted: boolean) => {
    const policy = { ...own, midStream: own.midStream ?? defaultMidStream(isSubmitted), enabled: true }
    const strategy = RetryStrategies.deciding(policy)
    return {
      policy,
      /** Decides by the policy, and shows how many retries its budget allows. */
      strategy: { ...strategy, budget: { ...strategy.budget, ...defined({ maxRetries: mostRetriesOf(policy) }) } },
      /** The providers of all targets, bounded by the limits of the policy. */
      provider: Limits.withLimits(routed, policy.requestTimeout)
    }
  }
  // Nearly all turns of an orchestrator have the configuration's policy.
  const plans = new WeakMap<
    RetryPolicy.RetryPolicy,
    Partial<Record<"attached" | "submitted", ReturnType<typeof planOf>>>
  >()
  return (own: RetryPolicy.RetryPolicy, isSubmitted: boolean) => {
    const known = plans.get(own) ?? {}
    plans.set(own, known)
    return (known[isSubmitted ? "submitted" : "attached"] ??= planOf(own, isSubmitted))
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

/**
 * The most retries of a step: the policy's own number, or as many as the budget allows waits of the schedule; `undefined`: there is no limit, or it
 * is too far away to be shown.
 */
export const mostRetriesOf = (policy: RetryPolicy.RetryPolicy): number | undefined => {
  const most = RetryPolicy.mostRetries(policy)
  if (most !== undefined) return most
  const { budget, maxDelayMs, schedule } = policy
  const known = counted.get(schedule)
  if (known !== undefined && known.budget === budget && known.maxDelayMs === maxDelayMs) return known.most
  const { because, rows } = Preview.rows({ ...policy, enabled: true })
  const count = because === undefined ? undefined : rows.length
  counted.set(schedule, { budget, maxDelayMs, most: count })
  return count
}

/** A count with the parts of the policy that it follows from, beside the schedule. */
interface Counted {
  readonly budget: RetryPolicy.RetryPolicy["budget"]
  readonly maxDelayMs: number | undefined
  readonly most: number | undefined
}

/** Every turn has a copy of its policy, and the copies share their parts: a thousand turns need one count. */
const counted = new WeakMap<RetryPolicy.RetryPolicy["schedule"], Counted>()
