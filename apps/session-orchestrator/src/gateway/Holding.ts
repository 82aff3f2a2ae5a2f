/**
 * Holds calls for a model's answer until there is one (rule X13).
 *
 * Holding.H1. The first attempt is made at once, as every attempt is, and leaves nothing on disk. If it fails and may be retried, the call becomes a
 *     turn of one step (`HeldCalls`), which begins with that failure.
 * Holding.H2. A wait outlives its client. While no client is attached nothing is sent. The same call, asked again in time, goes on in it (`HeldWaits`).
 * Holding.H3. On disk is the wait, and never the request or its credential. The keys of waits are in the ids of their conversations.
 *
 * A login that ends in the wait ends the connection, not the wait: the client gets the refusal as a status, or a cut, renews its login and asks again.
 *
 * A call that gave up stays so for a while: the same call gets the same refusal, since clients repeat what fails.
 */
import type { Provider } from "@holdfast/kernel"
import { type CallFailure, Performer, ProviderCall } from "@holdfast/kernel/host"
import { RetryPolicy } from "@holdfast/policy"
import { Limits } from "@holdfast/providers"
import type * as RawCall from "@holdfast/providers/raw"
import { type Failure, Target } from "@holdfast/wire"
import { Clock, Effect } from "effect"
import { randomBytes } from "node:crypto"
import type { TurnResult } from "../conversation/Conversations.ts"
import type { Defaults } from "../conversation/Defaults.ts"
import type * as HeldCalls from "../conversation/HeldCalls.ts"
import type { Gates } from "../gate/Gates.ts"
import type { HeldTurns } from "../orchestrator/HeldTurns.ts"
import { KEPT_MS } from "../orchestrator/HeldWaits.ts"
import type * as HeldWaits from "../orchestrator/HeldWaits.ts"
import { TurnLife } from "../session/TurnLife.ts"
import * as ProviderName from "../text/ProviderName.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import type { EndedCall } from "./EndedCalls.ts"
import * as Admission from "../turn/Admission.ts"
import * as TurnSetting from "../turn/TurnSetting.ts"
import * as Attempt from "./Attempt.ts"
import type { ClientAnswer, Refusal } from "./ClientAnswer.ts"
import type * as Endpoints from "./Endpoints.ts"
import * as GatedCall from "./GatedCall.ts"

/** The services that holding uses. */
export interface Dependencies {
  readonly send: RawCall.Send
  readonly endpoints: Endpoints.Endpoints
  readonly calls: HeldCalls.HeldCalls["Service"]
  readonly turns: HeldTurns["Service"]
  readonly waits: HeldWaits.HeldWaits
  readonly gates: Gates["Service"]
  readonly defaults: Defaults["Service"]
  /** The credentials of each provider. */
  readonly credentials: Readonly<Record<string, ReadonlyArray<string>>>
  /** Counts a call that became no turn. It is called after the last byte of its answer. */
  readonly ended: (call: EndedCall, at: number) => void
  /** Removes secrets from texts. */
  readonly redact: (text: string) => string
}

/** The calls that are held. */
export class Holding {
  private readonly parts: Dependencies
  /** The last refusals of calls that gave up here, by their keys, until a moment in epoch milliseconds. */
  private readonly refusals = new Map<string, { readonly refusal: Refusal; readonly until: number }>()
  /** The keys of waits whose logins have ended here, by their calls' keys without the login. */
  private readonly renewals = new Map<string, { readonly key: string; until: number }>()

  constructor(parts: Dependencies) {
    this.parts = parts
  }

  /** Answers a call. Its client has the whole answer, or a cut, when this succeeds. Interruption means that the client has left. */
  readonly answer = (call: GatedCall.GatedCall, client: ClientAnswer): Effect.Effect<void> =>
    // Suspended: what holds the call keeps this effect, and would keep the look-up with it.
    Effect.suspend(() =>
      Effect.flatMap(this.found(call), (known) => {
        if (known === undefined) return this.begin(call, client)
        if (known._tag === "Left") {
          return this.attached(known.wait, call, client, undefined, this.parts.turns.resume(known.wait.conversationId))
        }
        client.refused(this.refusals.get(known.key)?.refusal)
        return Effect.sync(() => client.giveUp(known.failure))
      })
    )

  /** What is known of a call that was asked before. A database that does not answer makes it a new call. */
  private readonly found = (call: GatedCall.GatedCall): Effect.Effect<HeldWaits.Known | undefined> =>
    Effect.catch(
      Effect.flatMap(
        this.parts.waits.find(() => GatedCall.keyOf(call)),
        (known) => (known === undefined && this.renewals.size > 0 ? this.renewed(call) : Effect.succeed(known))
      ),
      ({ message }) =>
        Effect.as(Effect.logWarning(`A call through the gateway cannot be looked up: ${message}`), undefined)
    )

  /** The wait of a call whose login was renewed. */
  private readonly renewed = (call: GatedCall.GatedCall): ReturnType<HeldWaits.HeldWaits["find"]> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      for (const [name, { until }] of this.renewals) if (until <= now) this.renewals.delete(name)
      // The key of a session costs a digest of the body.
      const renewal = this.renewals.size === 0 ? undefined : this.renewals.get(GatedCall.sessionKeyOf(call) ?? "")
      if (renewal === undefined) return Effect.undefined
      renewal.until = Infinity // as long as its client is here
      return this.parts.waits.find(() => renewal.key)
    })

  /** A wait has ended, or is kept without its client until a moment in epoch milliseconds. */
  private renewalEnds({ key }: HeldWaits.Wait, until: number): void {
    for (const renewal of this.renewals.values()) if (renewal.key === key) renewal.until = until
  }

  /** Makes the first attempt. If it may be retried, its failure makes the call a turn (Holding.H1). */
  private readonly begin = (call: GatedCall.GatedCall, client: ClientAnswer): Effect.Effect<void> =>
    Effect.flatMap(Clock.currentTimeMillis, (since) => {
      const { defaults, ended, gates } = this.parts
      const chance = randomBytes(4).toString("hex")
      const turnId = HeldCallIds.turn(since, chance)
      const target = GatedCall.targetOf(call)
      const policy = TurnSetting.policyOf(call, defaults)
      const isRetried = policy.enabled && RetryPolicy.mostRetries(policy) !== 0
      const provider = Admission.throughGates(
        Limits.withLimits(this.relay(call, client), policy.requestTimeout),
        gates,
        new TurnLife(turnId),
        (failure) => isRetried && RetryPolicy.delay(policy, 0, failure) !== undefined,
        false
      )
      return Effect.flatMap(Performer.attempt(provider, { ...Attempt.UNREAD, turnId, target }), (made) => {
        const { body, failure } = made._tag === "Failed" ? made : {}
        if (failure !== undefined && !client.hasContent && isRetried && this.isPassing(call, policy, failure))
          return this.hold(call, client, { since, chance }, { failure, ...(typeof body === "string" ? { body } : {}) })
        ended({ target, usage: made.usage ?? {}, failure }, made.endedAt)
        return failure === undefined || client.hasContent ? Effect.void : Effect.sync(() => client.giveUp(failure))
      })
    })

  /** Whether a failure may pass: with time, or as another key or model answers. */
  private isPassing(
    call: GatedCall.GatedCall,
    { routing }: RetryPolicy.RetryPolicy,
    { reason, retryable }: Failure.Failure
  ): boolean {
    if (retryable || !ELSEWHERE.has(reason)) return retryable
    const { credentials, endpoints } = this.parts
    const others = routing.type === "round-robin" ? routing.targets : Object.values(routing.chains).flat()
    return (
      others.some((target) => GatedCall.fits(call, endpoints, target)) ||
      (credentials[GatedCall.targetOf(call).provider]?.length ?? 0) > 1
    )
  }

  /** Makes attempts with the client's request; `waiting`: of a call that has become a turn. */
  private readonly relay = (
    call: GatedCall.GatedCall,
    client: ClientAnswer,
    waiting?: Waiting
  ): Provider.Provider["Service"] =>
    ProviderCall.provider((request, world, given) => {
      const { endpoints, redact, send } = this.parts
      const { asked, dialect } = call
      const { attempt, credential, target } = request
      client.refused(undefined)
      let isLeft = false
      const listener: ProviderCall.Listener = {
        events: (events) => !isLeft && given.events(events),
        end: (end) => (isLeft ? undefined : given.end(end)),
        progress: () => given.progress()
      }
      const refuse = (failure: Provider.EmittedFailure) => ProviderCall.refuse(listener, { type: "error", failure })
      if (!GatedCall.fits(call, endpoints, target)) return refuse(otherFormat(target))
      const sent = GatedCall.requestFor(call, endpoints, target, credential)
      if (sent === undefined) return refuse(keyless(target))
      const conceal = GatedCall.concealed(call, redact)
      const refused = (refusal: Refusal) => {
        client.refused(refusal)
        const isLogin = refusal.head.status === 401 && ProviderName.hasClientKey(target.provider)
        const key = waiting && isLogin ? GatedCall.sessionKeyOf(call) : undefined
        if (waiting === undefined || key === undefined) return
        isLeft = true // the turn has no news: its wait goes on with another login
        this.renewals.set(key, { key: waiting.key, until: world.now() + KEPT_MS })
        for (const oldest of this.renewals.keys()) {
          if (this.renewals.size <= MOST_REFUSALS) break
          this.renewals.delete(oldest)
        }
        if (client.pass(refusal)) waiting.leave(world)
        else client.cut()
      }
      const waited = waiting && { attempt, target, waitedMs: Math.max(0, world.now() - waiting.since) }
      const own = () => (waited === undefined ? [] : ownHeaders(call, waited))
      return Attempt.begin(
        { send, request: sent, dialect, call: asked, conceal, client, own, refused },
        world,
        listener
      )
    })

  /** Makes a turn of a call. */
  private readonly hold = (
    call: GatedCall.GatedCall,
    client: ClientAnswer,
    { chance, since }: { readonly chance: string; readonly since: number },
    first: CallFailure.Broken
  ): Effect.Effect<void> => {
    const { defaults, turns, waits } = this.parts
    const key = GatedCall.keyOf(call)
    const conversationId = turns.choose(() =>
      HeldCallIds.make(key, since, `${chance}-${randomBytes(2).toString("hex")}`)
    )
    const turnId = HeldCallIds.turnOf(conversationId)
    const wait = { key, conversationId, turnId }
    const accept = Effect.suspend(() => {
      const title = GatedCall.title(call)
      return Effect.andThen(
        turns.open({
          conversationId,
          model: Target.format(GatedCall.targetOf(call)),
          system: undefined,
          retry: call.retry,
          autoRetryEnabled: defaults.retry.enabled ?? true,
          createdAt: since,
          tools: [],
          title
        }),
        turns.conversations.prompt(conversationId, { turnId, prompt: title, labels: { tags: ["gateway"] } })
      )
    })
    return this.attached(wait, call, client, first, Effect.andThen(waits.taken(wait), accept))
  }

  /** Waits for the end of a turn with its client attached. */
  private readonly attached = <A, E extends { readonly message: string }>(
    wait: HeldWaits.Wait,
    call: GatedCall.GatedCall,
    client: ClientAnswer,
    first: CallFailure.Broken | undefined,
    begin: Effect.Effect<A, E>
  ): Effect.Effect<void> => {
    const { calls, endpoints, turns, waits } = this.parts
    const { conversationId, turnId } = wait
    const since = HeldCallIds.read(conversationId)?.since ?? 0
    let isLeft = false
    const leave = ({ run }: ProviderCall.World) => {
      isLeft = true
      run(turns.release(conversationId), () => {})
    }
    calls.set(conversationId, {
      fits: (target) => GatedCall.fits(call, endpoints, target),
      ...this.relay(call, client, { since, key: wait.key, leave }),
      first
    })
    client.named(turnId)
    const ended = Effect.flatMap(begin, () => turns.conversations.result(turnId, conversationId))
    return Effect.matchEffect(ended, {
      onSuccess: (result) => {
        calls.delete(conversationId)
        this.renewalEnds(wait, 0)
        if (client.hasContent) return waits.ended(wait, undefined)
        const failure = failureOf(result)
        return Effect.andThen(
          Effect.andThen(waits.ended(wait, failure), this.keep(wait, client)),
          Effect.sync(() => (result.end.error === undefined ? client.fail(failure) : client.giveUp(failure)))
        )
      },
      onFailure: ({ message }) => {
        if (isLeft) return this.detached(wait, client)
        calls.delete(conversationId)
        if (!client.hasContent) client.fail({ reason: "unknown", message, retryable: true })
        return waits.ended(wait, undefined)
      }
    }).pipe(Effect.onInterrupt(() => this.detached(wait, client)))
  }

  /** Keeps the refusal of a call that gave up. */
  private readonly keep = ({ key }: HeldWaits.Wait, { lastRefusal: refusal }: ClientAnswer): Effect.Effect<void> =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      this.refusals.delete(key)
      // In the order of their ends.
      for (const [given, { until }] of this.refusals) {
        if (until > now && this.refusals.size < MOST_REFUSALS) break
        this.refusals.delete(given)
      }
      if (refusal !== undefined) this.refusals.set(key, { refusal, until: now + KEPT_MS })
    })

  /** The client has left (Holding.H2). After content there is nothing that another one could join. */
  private readonly detached = (wait: HeldWaits.Wait, client: ClientAnswer): Effect.Effect<void> => {
    const { calls, turns, waits } = this.parts
    calls.delete(wait.conversationId)
    return client.hasContent
      ? Effect.andThen(Effect.ignore(turns.conversations.abort(wait.conversationId)), waits.ended(wait, undefined))
      : Effect.andThen(
          Effect.map(Clock.currentTimeMillis, (now) => this.renewalEnds(wait, now + KEPT_MS)),
          Effect.andThen(turns.release(wait.conversationId), waits.left(wait))
        )
  }
}

// --- internal

/** What an attempt knows of the wait that it is made in. */
interface Waiting {
  /** When the call began, in epoch milliseconds. */
  readonly since: number
  /** Of the wait. */
  readonly key: string
  /** The client has its refusal, and the wait goes on without it. */
  readonly leave: (world: ProviderCall.World) => void
}

/** Refusals and renewals that are kept at once: without them the same call gets the same error in the words of Holdfast, or begins anew. */
const MOST_REFUSALS = 1_000

/** Reasons of a failure that another key or model may not have. */
const ELSEWHERE: ReadonlySet<Failure.Reason> = new Set([
  "quota-exhausted",
  "rate-limited",
  "model-unavailable",
  "overloaded"
])

/** A person has chosen it: routes have no such target (HeldCalls.H4). */
const otherFormat = (target: Target.Target): Provider.EmittedFailure => ({
  reason: "model-unavailable",
  message: `${Target.format(target)} has another wire format than this call.`,
  retryable: false
})

const keyless = ({ provider }: Target.Target): Provider.EmittedFailure => ({
  reason: "auth",
  message: `Holdfast has no key of ${provider}.`,
  retryable: false
})

const ownHeaders = (
  { asked }: GatedCall.GatedCall,
  { attempt, target, waitedMs }: Pick<Provider.ProviderRequest, "attempt" | "target"> & { readonly waitedMs: number }
): RawCall.RawHeaders => [
  "x-holdfast-attempts",
  String(attempt + 1),
  "x-holdfast-waited-ms",
  String(waitedMs),
  ...(target.model === asked.model ? [] : ["x-holdfast-target", Target.format(target)])
]

/** Why a turn has ended without an answer. */
const failureOf = ({ end }: TurnResult): Failure.Failure =>
  end.error ?? {
    reason: "aborted",
    message: end.status === "aborted" ? "Holdfast was asked to give this call up." : "Holdfast gave this call up.",
    retryable: false
  }
