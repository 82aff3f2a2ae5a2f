/**
 * The calls that the gateway holds (rule X13): each is a turn of one step, in a conversation of its own.
 *
 * HeldCalls.H1. Such a turn is run only while a client is attached to its call: on disk is its wait, and never its request. So a start leaves it
 *     alone, and it leaves memory when its client does.
 * HeldCalls.H2. Its provider is the relay of the attached call, which sends the client's own bytes.
 * HeldCalls.H3. The first attempt of a call is made before its turn, through the same limits and the same gate. Its turn begins with the failure.
 * HeldCalls.H4. A client has the bytes of an answer, so nothing is retried after content. The turn has no report, and takes no target of another
 *     wire format.
 */
import type { Provider } from "@holdfast/kernel"
import { type CallFailure, ProviderCall } from "@holdfast/kernel/host"
import type { RetryPolicy, Routing } from "@holdfast/policy"
import type { Ids, Target } from "@holdfast/wire"
import { Context, Layer, Stream } from "effect"
import * as HeldCallIds from "../storage/HeldCallIds.ts"

/** A held call with its client. */
export interface HeldCall {
  /** Makes one attempt with the client's request. */
  readonly stream: Provider.Provider["Service"]["stream"]
  /** Whether the request can be sent to a target: it has the same wire format. */
  readonly fits: (target: Target.Target) => boolean
  /** How its first attempt failed, until its turn has that; absent: the turn has begun before. */
  first?: CallFailure.Broken | undefined
}

/** The held calls with a client, by conversation. */
export class HeldCalls extends Context.Service<HeldCalls, Map<Ids.ConversationId, HeldCall>>()(
  "@holdfast/session-orchestrator/conversation/HeldCalls"
) {}

/** No calls yet. */
export const layer: Layer.Layer<HeldCalls> = Layer.sync(HeldCalls, () => new Map())

/** The held call of a conversation; `undefined` for any other conversation. Without a client nothing is sent (HeldCalls.H1). */
export const find = (calls: HeldCalls["Service"], id: Ids.ConversationId): HeldCall | undefined =>
  HeldCallIds.isHeld(id) ? (calls.get(id) ?? NOT_ATTACHED) : undefined

/** The provider of the turn (HeldCalls.H3). `begun` is called instead of the first attempt. */
export const provider = (
  held: HeldCall,
  provider: Provider.Provider["Service"],
  begun: (request: Provider.ProviderRequest) => void
): Provider.Provider["Service"] => {
  const call = ProviderCall.of(provider)
  return ProviderCall.provider((request, world, listener) => {
    const { first } = held
    held.first = undefined
    if (first === undefined || request.attempt > 0) return call(request, world, listener)
    begun(request)
    return ProviderCall.refuse(listener, { type: "error", ...first })
  })
}

/** The policy of a held call (HeldCalls.H4). */
export const policyOf = (
  { finalReport: _report, maxTurns: _turns, spendGuard: _guard, ...policy }: RetryPolicy.RetryPolicy,
  fits: HeldCall["fits"]
): RetryPolicy.RetryPolicy => ({ ...policy, midStream: "fail", routing: routingOf(policy.routing, fits) })

// --- internal

const NOT_ATTACHED: HeldCall = { stream: () => Stream.never, fits: () => false }

const routingOf = (routing: Routing.Routing, fits: HeldCall["fits"]): Routing.Routing =>
  routing.type === "round-robin"
    ? { ...routing, targets: routing.targets.filter(fits) }
    : {
        ...routing,
        chains: Object.fromEntries(
          Object.entries(routing.chains).map(([role, targets]) => [role, targets.filter(fits)])
        )
      }
