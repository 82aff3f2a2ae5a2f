/**
 * Holds calls for a model's answer until there is one (rule X13).
 *
 * Holding.H1. The first attempt is made at once and leaves nothing on disk. If it fails and may be retried, the call becomes a turn of one step
 *     (`HeldCalls`), which begins with that failure: classifier, schedule, budget, gate, commands and reports are those of every turn.
 * Holding.H2. A wait outlives its client. While no client is attached nothing is sent. The same call, asked again in time, goes on in it (`HeldWaits`).
 * Holding.H3. A call that gave up stays so for a while: the same call gets the same refusal, since clients repeat what fails.
 * Holding.H4. A twin never joins a call that has its client.
 * Holding.H5. On disk is the wait, and never the request or its credential. The keys of waits are in the ids of their conversations.
 */
import type { Provider } from "@holdfast/kernel"
import { RetryPolicy } from "@holdfast/policy"
import { Limits } from "@holdfast/providers"
import type * as RawCall from "@holdfast/providers/raw"
import { type Failure, Ids, type Message, Target } from "@holdfast/wire"
import { Clock, Effect, Stream } from "effect"
import { randomBytes } from "node:crypto"
import type { TurnResult } from "../conversation/Conversations.ts"
import type { Defaults } from "../conversation/Defaults.ts"
import type * as HeldCalls from "../conversation/HeldCalls.ts"
import type { Gates } from "../gate/Gates.ts"
import type { HeldTurns } from "../orchestrator/HeldTurns.ts"
import { KEPT_MS } from "../orchestrator/HeldWaits.ts"
import type * as HeldWaits from "../orchestrator/HeldWaits.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import type { EndedCall } from "../telemetry/metrics/GatewayMetrics.ts"
import type { Conversation } from "../storage/Store.ts"
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

  constructor(parts: Dependencies) {
    this.parts = parts
  }

  /** Answers a call. Its client has the whole answer, or a cut, when this succeeds. Interruption means that the client has left. */
  readonly answer = (call: GatedCall.GatedCall, client: ClientAnswer): Effect.Effect<void> =>
    Effect.flatten(this.begun(call, client))

  /** Begins a call; returns what is left to do. What the beginning needed is not in memory while the call waits. */
  private readonly begun = (call: GatedCall.GatedCall, client: ClientAnswer): Effect.Effect<Effect.Effect<void>> =>
    Effect.gen({ self: this }, function* () {
      const known = yield* this.found(call)
      if (known?._tag === "GaveUp") {
        client.refused(this.refusals.get(known.key)?.refusal)
        return Effect.sync(() => client.giveUp(known.failure))
      }
      if (known?._tag === "Left") {
        return this.attached(known.wait, call, client, undefined, this.parts.turns.resume(known.wait.conversationId))
      }
      const first = yield* this.firstAttempt(call, client)
      if (first === undefined) return Effect.void
      return first.isHeld ? this.hold(call, client, first.failed) : Effect.sync(first.pass)
    })

  /** What is known of a call that was asked before. A database that does not answer makes it a new call. */
  private readonly found = (call: GatedCall.GatedCall): Effect.Effect<HeldWaits.Known | undefined> =>
    Effect.catch(
      this.parts.waits.find(() => GatedCall.keyOf(call)),
      ({ message }) =>
        Effect.as(Effect.logWarning(`A call through the gateway cannot be looked up: ${message}`), undefined)
    )

  /** Makes the first attempt. `undefined`: the client has its answer. */
  private readonly firstAttempt = (call: GatedCall.GatedCall, client: ClientAnswer): Effect.Effect<First | undefined> =>
    Effect.gen({ self: this }, function* () {
      const { defaults, gates } = this.parts
      const target = GatedCall.targetOf(call)
      const policy = TurnSetting.policyOf({ retry: call.retry }, defaults)
      const gatekeeper = gates.of({ target })
      const isRetried = policy.enabled && RetryPolicy.mostRetries(policy) !== 0
      const goesOn = (failure: Failure.Failure) => RetryPolicy.delay(policy, 0, failure) !== undefined
      if (isRetried && gatekeeper?.shareFirst(goesOn) !== undefined)
        return { isHeld: true, failed: undefined, pass: () => {} }
      let refused: Refusal | undefined
      let failed: Attempted | undefined
      let usage: Message.Usage = {}
      let report: ReturnType<NonNullable<typeof gatekeeper>["begin"]> | undefined
      const attempt = this.attemptOf(
        call,
        client,
        () => [],
        (refusal) => void (refused = refusal)
      )
      const limited = Limits.withLimits({ stream: attempt }, policy.requestTimeout)
      const events = limited.stream({ ...NOBODY, target }).pipe(
        Stream.runForEach((event) =>
          Effect.sync(() => {
            if (event.type === "error") failed = { failure: { retryable: false, ...event.failure }, body: event.body }
            if (event.type !== "usage") return
            usage = event.usage
            if (report !== undefined || gatekeeper === undefined) return
            report = gatekeeper.begin(undefined)
            report.answered()
          })
        ),
        Effect.catchTag("ProviderFailure", ({ body, failure }) => Effect.sync(() => void (failed = { failure, body }))),
        Effect.ensuring(Effect.sync(() => report?.ended()))
      )
      const limiter = gates.limiterOf(target.provider)
      yield* limiter === undefined ? events : Effect.scoped(Effect.andThen(limiter.permit(0), events))
      const failure = failed?.failure
      const isHeld =
        failure !== undefined &&
        !client.hasContent &&
        isRetried &&
        (failure.retryable || this.isElsewhere(call, policy, failure))
      if (!isHeld) this.parts.ended({ target, usage, failure }, yield* Clock.currentTimeMillis)
      if (failure === undefined || client.hasContent) return undefined
      if (isHeld) client.refused(refused)
      return {
        failed,
        isHeld,
        pass: () => {
          if (refused === undefined || !client.pass(refused)) client.fail(failure)
        }
      }
    })

  /** Whether another key or model may answer a call that its own cannot. */
  private isElsewhere(
    call: GatedCall.GatedCall,
    { routing }: RetryPolicy.RetryPolicy,
    failure: Failure.Failure
  ): boolean {
    if (!ELSEWHERE.has(failure.reason)) return false
    const { credentials, endpoints } = this.parts
    const others = routing.type === "round-robin" ? routing.targets : Object.values(routing.chains).flat()
    return (
      others.some((target) => GatedCall.fits(call, endpoints, target)) ||
      (credentials[GatedCall.targetOf(call).provider]?.length ?? 0) > 1
    )
  }

  private readonly attemptOf =
    (
      call: GatedCall.GatedCall,
      client: ClientAnswer,
      own: (request: Provider.ProviderRequest) => RawCall.RawHeaders,
      refused: Attempt.Options["refused"]
    ): Provider.Provider["Service"]["stream"] =>
    (request) => {
      const { endpoints, redact, send } = this.parts
      if (!GatedCall.fits(call, endpoints, request.target)) return refusedBy(otherFormat(request.target))
      const sent = GatedCall.requestFor(call, endpoints, request.target, request.credential)
      if (sent === undefined) return refusedBy(keyless(request.target))
      const { asked, dialect } = call
      const conceal = GatedCall.concealed(call, redact)
      return Attempt.stream({
        send,
        request: sent,
        dialect,
        call: asked,
        conceal,
        client,
        own: () => own(request),
        refused
      })
    }

  /** Makes a turn of a call whose first attempt has failed (Holding.H1). */
  private readonly hold = (
    call: GatedCall.GatedCall,
    client: ClientAnswer,
    failed: Attempted | undefined
  ): Effect.Effect<void> =>
    Effect.flatMap(Clock.currentTimeMillis, (createdAt) => {
      const { defaults, turns, waits } = this.parts
      const key = GatedCall.keyOf(call)
      const conversationId = turns.choose(() => HeldCallIds.make(key, createdAt, randomBytes(4).toString("hex")))
      const turnId = HeldCallIds.turnOf(conversationId)
      const accept = Effect.suspend(() => {
        const title = GatedCall.title(call)
        const conversation: Conversation = {
          conversationId,
          model: Target.format(GatedCall.targetOf(call)),
          system: undefined,
          retry: call.retry,
          autoRetryEnabled: defaults.retry.enabled ?? true,
          createdAt,
          tools: [],
          title
        }
        return Effect.andThen(
          turns.open(conversation),
          turns.conversations.prompt(conversationId, { turnId, prompt: title, labels: { tags: ["gateway"] } })
        )
      })
      const wait = { key, conversationId, turnId }
      return this.attached(wait, call, client, failed, Effect.andThen(waits.taken(wait), accept))
    })

  /** Waits for the end of a turn with its client attached. */
  private readonly attached = <A, E extends { readonly message: string }>(
    wait: HeldWaits.Wait,
    call: GatedCall.GatedCall,
    client: ClientAnswer,
    failed: Attempted | undefined,
    begin: Effect.Effect<A, E>
  ): Effect.Effect<void> => {
    const { calls, endpoints, turns, waits } = this.parts
    const { conversationId, turnId } = wait
    const since = HeldCallIds.read(conversationId)?.since ?? 0
    let first = failed
    const held: HeldCalls.HeldCall = {
      fits: (target) => GatedCall.fits(call, endpoints, target),
      stream: (request) => {
        const known = first
        first = undefined
        // A turn whose attempt 0 shared a failure at the gate comes with a later one, which is a call.
        if (known !== undefined && request.attempt === 0) return failedWith(known)
        client.refused(undefined)
        return Stream.unwrap(
          Effect.map(Clock.currentTimeMillis, (now) =>
            this.attemptOf(call, client, ownHeaders(call, now - since), (refusal) => client.refused(refusal))(request)
          )
        )
      }
    }
    calls.set(conversationId, held)
    client.named(turnId)
    const ended = Effect.flatMap(begin, () => turns.conversations.result(turnId, conversationId))
    return Effect.matchEffect(ended, {
      onSuccess: (result) => {
        calls.delete(conversationId)
        if (client.hasContent) return waits.ended(wait, undefined)
        const failure = failureOf(result)
        return Effect.andThen(
          Effect.andThen(waits.ended(wait, failure), this.keep(wait, client)), // Holding.H3
          Effect.sync(() => (result.end.error === undefined ? client.fail(failure) : client.giveUp(failure)))
        )
      },
      onFailure: ({ message }) => {
        calls.delete(conversationId)
        if (!client.hasContent) client.fail({ reason: "unknown", message, retryable: true })
        return waits.ended(wait, undefined)
      }
    }).pipe(Effect.onInterrupt(() => this.detached(wait, client)))
  }

  /** Keeps the refusal of a call that gave up (Holding.H3). */
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
      : Effect.andThen(turns.release(wait.conversationId), waits.left(wait))
  }
}

// --- internal

interface Attempted {
  readonly failure: Failure.Failure
  readonly body?: string | undefined
}

interface First {
  readonly isHeld: boolean
  /** Absent: no call was made, as the gate knows that it would fail. */
  readonly failed: Attempted | undefined
  /** Answers the client with what the endpoint sent. */
  readonly pass: () => void
}

/** Refusals that are kept at once: for the others the same call gets the same error, in the words of Holdfast. */
const MOST_REFUSALS = 1_000

/** A request of no turn. */
const NOBODY = {
  conversationId: Ids.ConversationId.make("none"),
  turnId: Ids.TurnId.make("none"),
  step: 0,
  attempt: 0,
  messages: [],
  tools: []
}

/** Reasons of a failure that another key or model may not have. */
const ELSEWHERE: ReadonlySet<Failure.Reason> = new Set([
  "quota-exhausted",
  "rate-limited",
  "model-unavailable",
  "overloaded"
])

const failedWith = ({ body, failure }: Attempted) =>
  Stream.make<[Provider.ProviderEvent]>({ type: "error", failure, ...(body === undefined ? {} : { body }) })

const refusedBy = (failure: Provider.EmittedFailure) =>
  Stream.make<[Provider.ProviderEvent]>({ type: "error", failure })

/** A person has chosen it: routes have no such target (HeldCalls.H3). */
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

const ownHeaders =
  (call: GatedCall.GatedCall, waitedMs: number) =>
  ({ attempt, target }: Provider.ProviderRequest): RawCall.RawHeaders => [
    "x-holdfast-attempts",
    String(attempt + 1),
    "x-holdfast-waited-ms",
    String(Math.max(0, waitedMs)),
    ...(target.model === call.asked.model ? [] : ["x-holdfast-target", Target.format(target)])
  ]

/** Why a turn has ended without an answer. */
const failureOf = ({ end }: TurnResult): Failure.Failure =>
  end.error ?? {
    reason: "aborted",
    message: end.status === "aborted" ? "Holdfast was asked to give this call up." : "Holdfast gave this call up.",
    retryable: false
  }
