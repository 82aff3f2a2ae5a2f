/**
 * Holds calls for a model's answer until there is one (rule X13).
 *
 * Holding.H1. The first attempt is made at once and leaves nothing on disk. If it fails and may be retried, the call becomes a turn of one step
 *     (`HeldCalls`), which begins with that failure: classifier, schedule, budget, gate, commands and reports are those of every turn.
 * Holding.H2. A wait outlives its client. While no client is attached nothing is sent. The same call, asked again within `KEPT_MS`, goes on in it; then
 *     its turn is aborted.
 * Holding.H3. A call that gave up stays so for `KEPT_MS`: the same call gets the same error, since clients repeat what fails.
 * Holding.H4. A twin never joins a call that has its client.
 * Holding.H5. On disk is the wait, and never the request or its credential. The keys of waits are in the ids of their conversations.
 */
import type { Provider } from "@holdfast/kernel"
import { RetryPolicy } from "@holdfast/policy"
import { Limits } from "@holdfast/providers"
import type * as RawCall from "@holdfast/providers/raw"
import { type Failure, Ids, type Message, Target } from "@holdfast/wire"
import { Clock, Duration, Effect, type Scope, Stream } from "effect"
import { randomBytes } from "node:crypto"
import type { Conversations, TurnResult } from "../conversation/Conversations.ts"
import type { Defaults } from "../conversation/Defaults.ts"
import type * as HeldCalls from "../conversation/HeldCalls.ts"
import type { Gates } from "../gate/Gates.ts"
import type { HeldTurns } from "../orchestrator/HeldTurns.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import type { EndedCall } from "../telemetry/metrics/GatewayMetrics.ts"
import type { Conversation } from "../storage/Store.ts"
import * as TurnSetting from "../turn/TurnSetting.ts"
import * as Attempt from "./Attempt.ts"
import type { ClientAnswer } from "./ClientAnswer.ts"
import type * as Endpoints from "./Endpoints.ts"
import * as GatedCall from "./GatedCall.ts"

/** How long a wait is kept without its client, and how long a call stays given up. */
export const KEPT_MS = 15 * 60_000

/** The services that holding uses. */
export interface Dependencies {
  readonly send: RawCall.Send
  readonly endpoints: Endpoints.Endpoints
  readonly calls: HeldCalls.HeldCalls["Service"]
  readonly conversations: Conversations["Service"]
  readonly turns: HeldTurns["Service"]
  readonly gates: Gates["Service"]
  readonly defaults: Defaults["Service"]
  /** The credentials of each provider. */
  readonly credentials: Readonly<Record<string, ReadonlyArray<string>>>
  /** Counts a call that became no turn. It is called after the last byte of its answer. */
  readonly ended: (call: EndedCall, at: number) => void
  /** Removes secrets from texts. */
  readonly redact: (text: string) => string
  /** Waits without a client are given up in it. */
  readonly scope: Scope.Scope
}

/** A wait on disk. */
interface Wait {
  readonly key: string
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
}

/** The calls that are held, and those that were. */
export class Holding {
  private readonly parts: Dependencies
  /** Waits whose client has left, by key. */
  private readonly left = new Map<string, Wait>()
  private readonly givenUp = new Map<string, { readonly failure: Failure.Failure; readonly until: number }>()

  constructor(parts: Dependencies) {
    this.parts = parts
  }

  /** Learns of the waits that the last process left, and of the calls that it gave up. */
  readonly recall = (
    givenUp: ReadonlyArray<{ readonly wait: Wait; readonly failure: Failure.Failure; readonly at: number }>
  ) =>
    Effect.gen({ self: this }, function* () {
      for (const { conversationId, turnId } of yield* this.parts.turns.unsealed) {
        const known = HeldCallIds.read(conversationId)
        if (known !== undefined) yield* this.leave({ key: known.key, conversationId, turnId })
      }
      for (const { at, failure, wait } of givenUp) this.givenUp.set(wait.key, { failure, until: at + KEPT_MS })
    })

  /** Answers a call. Its client has the whole answer, or a cut, when this succeeds. Interruption means that the client has left. */
  readonly answer = (call: GatedCall.GatedCall, client: ClientAnswer): Effect.Effect<void> =>
    Effect.flatten(this.begun(call, client))

  /** Begins a call; returns what is left to do. What the beginning needed is not in memory while the call waits. */
  private readonly begun = (call: GatedCall.GatedCall, client: ClientAnswer): Effect.Effect<Effect.Effect<void>> =>
    Effect.gen({ self: this }, function* () {
      // A key costs a digest of the body: most calls need none.
      if (this.left.size > 0 || this.givenUp.size > 0) {
        const key = GatedCall.keyOf(call)
        const before = this.givenUp.get(key)
        if (before !== undefined) {
          if (before.until > (yield* Clock.currentTimeMillis)) return Effect.sync(() => client.fail(before.failure))
          this.givenUp.delete(key)
        }
        const wait = this.left.get(key)
        if (wait !== undefined) {
          this.left.delete(key)
          return this.attached(wait, call, client, undefined, this.parts.turns.resume(wait.conversationId))
        }
      }
      const first = yield* this.firstAttempt(call, client)
      if (first === undefined) return Effect.void
      return first.isHeld ? this.hold(call, client, first.failed) : Effect.sync(first.pass)
    })

  /** Makes the first attempt. `undefined`: the client has its answer. */
  private readonly firstAttempt = (call: GatedCall.GatedCall, client: ClientAnswer): Effect.Effect<First | undefined> =>
    Effect.gen({ self: this }, function* () {
      const { defaults, gates } = this.parts
      const target = GatedCall.targetOf(call)
      const policy = TurnSetting.policyOf({ retry: call.retry }, defaults)
      const gatekeeper = gates.of({ target })
      const isRetried = policy.enabled && RetryPolicy.mostRetries(policy) !== 0
      if (isRetried && gatekeeper?.shareFirst() !== undefined)
        return { isHeld: true, failed: undefined, pass: () => {} }
      let refused: { readonly head: RawCall.Head; readonly body: ReadonlyArray<Uint8Array> } | undefined
      let failed: Attempted | undefined
      let usage: Message.Usage = {}
      let report: ReturnType<NonNullable<typeof gatekeeper>["begin"]> | undefined
      const attempt = this.attemptOf(
        call,
        client,
        () => [],
        (head, body) => void (refused = { head, body })
      )
      const limited = Limits.withLimits({ stream: attempt }, policy.requestTimeout)
      const events = limited.stream({ ...NOBODY, target }).pipe(
        Stream.runForEach((event) =>
          Effect.sync(() => {
            if (event.type === "error") failed = { failure: { retryable: false, ...event.failure }, body: event.body }
            if (event.type !== "usage") return
            usage = event.usage
            if (report !== undefined || gatekeeper === undefined) return
            report = gatekeeper.begin(false)
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
      return {
        failed,
        isHeld,
        pass: () => {
          if (refused === undefined || !client.pass(refused.head, refused.body)) client.fail(failure)
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
      const { conversations, defaults, turns } = this.parts
      const key = GatedCall.keyOf(call)
      const conversationId = HeldCallIds.make(key, createdAt, randomBytes(4).toString("hex"))
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
          conversations.prompt(conversationId, { turnId, prompt: title, labels: { tags: ["gateway"] } })
        )
      })
      return this.attached({ key, conversationId, turnId }, call, client, failed, accept)
    })

  /** Waits for the end of a turn with its client attached. */
  private readonly attached = <A, E extends { readonly message: string }>(
    wait: Wait,
    call: GatedCall.GatedCall,
    client: ClientAnswer,
    failed: Attempted | undefined,
    begin: Effect.Effect<A, E>
  ): Effect.Effect<void> => {
    const { calls, conversations, endpoints } = this.parts
    const { conversationId, key, turnId } = wait
    const since = HeldCallIds.read(conversationId)?.since ?? 0
    let first = failed
    const held: HeldCalls.HeldCall = {
      fits: (target) => GatedCall.fits(call, endpoints, target),
      stream: (request) => {
        const known = first
        first = undefined
        if (known !== undefined) return failedWith(known)
        return Stream.unwrap(
          Effect.map(Clock.currentTimeMillis, (now) =>
            this.attemptOf(call, client, ownHeaders(call, now - since), () => {})(request)
          )
        )
      }
    }
    calls.set(conversationId, held)
    client.named(turnId)
    const ended = Effect.flatMap(begin, () => conversations.result(turnId, conversationId))
    return Effect.matchEffect(ended, {
      onSuccess: (result) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          calls.delete(conversationId)
          if (client.hasContent) return
          const failure = failureOf(result)
          this.givenUp.set(key, { failure, until: now + KEPT_MS }) // Holding.H3
          client.fail(failure)
        }),
      onFailure: ({ message }) =>
        Effect.sync(() => {
          calls.delete(conversationId)
          if (!client.hasContent) client.fail({ reason: "unknown", message, retryable: true })
        })
    }).pipe(Effect.onInterrupt(() => this.detached(wait, client)))
  }

  /** The client has left (Holding.H2). After content there is nothing that another one could join. */
  private readonly detached = (wait: Wait, client: ClientAnswer): Effect.Effect<void> => {
    const { calls, conversations, turns } = this.parts
    calls.delete(wait.conversationId)
    if (client.hasContent) return Effect.ignore(conversations.abort(wait.conversationId))
    return Effect.andThen(turns.release(wait.conversationId), this.leave(wait))
  }

  /** Keeps a wait for its client, for a while. */
  private readonly leave = (wait: Wait): Effect.Effect<void> =>
    Effect.suspend(() => {
      const { conversations, scope } = this.parts
      this.left.set(wait.key, wait)
      const expire = Effect.suspend(() => {
        if (this.left.get(wait.key) !== wait) return Effect.void
        this.left.delete(wait.key)
        return Effect.ignore(conversations.abort(wait.conversationId))
      })
      return Effect.asVoid(Effect.forkIn(Effect.delay(expire, Duration.millis(KEPT_MS)), scope))
    })
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
