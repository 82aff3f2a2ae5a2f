/**
 * The calls that the gateway holds (rule X13): each is a turn of one step, in a conversation of its own.
 *
 * - Such a turn is run only while a client is attached to its call: on disk is its wait, and never its request. So a start leaves it
 *   alone, and it leaves memory when its client does.
 * - Its provider is the relay of the attached call, which sends the client's own bytes.
 * - Such a turn is on disk only if it goes on after a failure (`Draft`): a call that is answered at once leaves nothing there.
 * - A client has the bytes of an answer, so nothing is retried after content. The turn has no report, and takes no target of another
 *   wire format.
 */
import type { Provider } from "@holdfast/kernel"
import type { RetryPolicy, Routing } from "@holdfast/policy"
import type { Ids, Target } from "@holdfast/wire"
import { Context, Layer, Stream } from "effect"
import * as HeldCallIds from "../../storage/HeldCallIds.ts"

/** A held call with its client. */
export interface HeldCall {
  /** Makes one attempt with the client's request. */
  readonly stream: Provider.Provider["Service"]["stream"]
  /** Returns a digest of its client's own credential; absent: it has a key of Holdfast. */
  readonly account?: (() => string) | undefined
  /** Whether its client asks again when its connection is cut. */
  readonly asksAgain: boolean
  /** The tokens of the request, roughly. */
  readonly inputTokens: number
  /** Whether the request can be sent to a target: it has the same wire format. */
  readonly fits: (target: Target.Target) => boolean
  /** Calls of one route fit the same targets. */
  readonly route: string
}

/** The held calls with a client, by conversation. */
export class HeldCalls extends Context.Service<HeldCalls, Map<Ids.ConversationId, HeldCall>>()(
  "@holdfast/session-orchestrator/conversation/HeldCalls"
) {}

/** No calls yet. */
export const layer: Layer.Layer<HeldCalls> = Layer.sync(HeldCalls, () => new Map())

/** The held call of a conversation; `undefined` for any other conversation. Without a client nothing is sent. */
export const find = (calls: HeldCalls["Service"], id: Ids.ConversationId): HeldCall | undefined =>
  HeldCallIds.isHeld(id) ? (calls.get(id) ?? NOT_ATTACHED) : undefined

/** The policy of a held call: calls of one route have the same one, and so what turns of a policy share. */
export const policyOf = (
  policy: RetryPolicy.RetryPolicy,
  { fits, route }: Pick<HeldCall, "fits" | "route">
): RetryPolicy.RetryPolicy => {
  const known = policies.get(policy) ?? new Map<string, RetryPolicy.RetryPolicy>()
  policies.set(policy, known)
  const own = known.get(route) ?? ofOneStep(policy, fits)
  known.set(route, own)
  return own
}

// --- internal

const NOT_ATTACHED: HeldCall = {
  stream: () => Stream.never,
  inputTokens: 0,
  asksAgain: true,
  fits: () => false,
  route: "none"
}

/** By route. */
const policies = new WeakMap<RetryPolicy.RetryPolicy, Map<string, RetryPolicy.RetryPolicy>>()

const ofOneStep = (
  { finalReport: _report, maxTurns: _turns, routing, ...policy }: RetryPolicy.RetryPolicy,
  fits: HeldCall["fits"]
): RetryPolicy.RetryPolicy => ({ ...policy, midStream: "fail", routing: routingOf(routing, fits) })

const routingOf = (routing: Routing.Routing, fits: HeldCall["fits"]): Routing.Routing =>
  routing.type === "round-robin"
    ? { ...routing, targets: routing.targets.filter(fits) }
    : {
        ...routing,
        chains: Object.fromEntries(
          Object.entries(routing.chains).map(([role, targets]) => [role, targets.filter(fits)])
        )
      }
