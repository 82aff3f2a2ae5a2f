/** What a turn runs by: its policy, its target, and the provider behind its limits and gates. */
import { type Provider, ResponseLimit } from "@holdfast/kernel"
import { Profile, RetryPolicy } from "@holdfast/policy"
import { Limits } from "@holdfast/providers"
import { Target } from "@holdfast/wire"
import { Result, Stream } from "effect"
import type { Conversation } from "../storage/Store.ts"
import * as Admission from "./Admission.ts"
import type { Defaults } from "../conversation/Defaults.ts"
import type { Providers } from "../conversation/Providers.ts"
import type { Session } from "../session/Session.ts"
import type * as TurnLife from "../session/TurnLife.ts"
import type { TurnServices } from "./TurnServices.ts"

export interface TurnSetting {
  readonly target: Target.Target
  readonly policy: RetryPolicy.RetryPolicy
  /** The conversation's switch, as it stands (P15). */
  readonly isEnabled: () => boolean
  /** Held to the limits of the policy, and through the gates. */
  readonly provider: Provider.Provider["Service"]
}

/** Of one turn. */
export const of = (
  { defaults, gates, providers }: Pick<TurnServices, "defaults" | "gates" | "providers">,
  session: Session,
  turn: TurnLife.TurnLife,
  conversation: Conversation
): TurnSetting => {
  // What the settings say is where a conversation's switch begins; from then on the switch alone says it (P15).
  const policy = { ...policyOf(conversation, defaults), enabled: true }
  const isEnabled = () => session.autoRetry ?? conversation.autoRetryEnabled
  const isRetried = () => isEnabled() && RetryPolicy.mostRetries(policy) !== 0
  // The gate stands outside the limits: a call that runs into one has failed, and the gate has to know.
  const limited = Limits.withLimits(route(providers), policy.requestTimeout)
  return {
    target: Target.parse(conversation.model) ?? defaults.model,
    policy,
    isEnabled,
    provider: Admission.gated(limited, gates, turn, isRetried)
  }
}

/**
 * The policy of a conversation: its own settings over the configuration's. It may lower the limit of a response and not raise it: the
 * memory is the service's (C11).
 */
export const policyOf = ({ retry: own }: Conversation, { retry }: Defaults["Service"]): RetryPolicy.RetryPolicy => {
  if (own === undefined) return resolved(retry)
  const { maxResponseCharacters: most = ResponseLimit.MOST_CHARACTERS } = retry
  const policy = Profile.resolve({ ...retry, ...Result.getOrElse(Profile.decode(own), () => undefined) })
  return (policy.maxResponseCharacters ?? 0) > most ? { ...policy, maxResponseCharacters: most } : policy
}

// --- internal

const policies = new WeakMap<Profile.RetrySettings, RetryPolicy.RetryPolicy>()

/** The configuration's own, which most conversations have. */
const resolved = (retry: Profile.RetrySettings): RetryPolicy.RetryPolicy => {
  const known = policies.get(retry)
  if (known !== undefined) return known
  const policy = Profile.resolve(retry)
  policies.set(retry, policy)
  return policy
}

/** Every target's own provider, with the credential that was chosen: a turn goes from one to another. */
const route = (providers: Providers["Service"]): Provider.Provider["Service"] => ({
  stream: (request) =>
    (providers.get(request.target.provider, request.credential) ?? missing(request.target, providers.names)).stream(
      request
    )
})

/** TurnQueue.Q3 */
const missing = (target: Target.Target, names: ReadonlyArray<string>): Provider.Provider["Service"] => ({
  stream: () =>
    Stream.make({
      type: "error",
      failure: {
        reason: "model-unavailable",
        message: `There is no provider named "${target.provider}" in the configuration; there are: ${names.join(", ")}.`,
        retryable: false
      }
    })
})
