/** Tests when a call is admitted by its gate and by its provider's limits, and what both learn of it. */
import { describe, expect, it } from "@effect/vitest"
import { Timer } from "@holdfast/journal"
import { type Provider, Records, type RetryStrategy } from "@holdfast/kernel"
import type { Allowance } from "@holdfast/policy"
import { Limits } from "@holdfast/providers"
import { type Failure, Ids } from "@holdfast/wire"
import { Deferred, Duration, Effect, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Admission from "../../../src/engine/turn/Admission.ts"
import * as Gates from "../../../src/engine/gate/Gates.ts"
import { type GateTicket, wakeEarly } from "../../../src/engine/gate/Gatekeeper.ts"
import { shut } from "../gate/GateStates.ts"
import { TurnLife } from "../../../src/engine/session/TurnLife.ts"
import * as It from "../../It.ts"

const request: Provider.ProviderRequest = {
  conversationId: Ids.ConversationId.make("c"),
  turnId: Ids.TurnId.make("t"),
  step: 0,
  attempt: 0,
  target: { provider: "own", model: "m" },
  system: "x".repeat(400),
  messages: [],
  tools: []
}

const overloaded: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 }

/** A provider whose calls each last until the test ends them with their events. */
const provider = () => {
  const calls: Array<Deferred.Deferred<ReadonlyArray<Provider.ProviderEvent>>> = []
  const service: Provider.Provider["Service"] = {
    stream: () =>
      Stream.unwrap(
        Effect.suspend(() => {
          const call = Deferred.makeUnsafe<ReadonlyArray<Provider.ProviderEvent>>()
          calls.push(call)
          return Effect.map(Deferred.await(call), (events) => Stream.fromIterable(events))
        })
      )
  }
  return { calls, service }
}

const answer = (inputTokens: number, outputTokens: number): ReadonlyArray<Provider.ProviderEvent> => [
  { type: "text-delta", delta: "Yes" },
  { type: "usage", usage: { inputTokens, outputTokens } },
  { type: "finish", finishReason: "stop" }
]

const layer = (allowance: Allowance.Allowance) =>
  Gates.layer(
    () => ({ baseUrl: "http://own", credential: undefined }),
    () => allowance
  ).pipe(Layer.provide(Timer.layer))

/** Declares tests with a provider without limits, and with a limit of one call at once. */
const gated = It.within(layer({}))
const oneAtOnce = It.within(layer({ calls: 1 }))

/** Runs one attempt in the background. */
const attempt = (service: Provider.Provider["Service"], gates: Gates.Gates["Service"], ticket?: GateTicket) => {
  const turn = new TurnLife(request.turnId)
  if (ticket !== undefined) turn.hold("ticket", ticket)
  return Effect.forkChild(
    Stream.runCollect(Admission.throughGates(service, gates, turn, () => true, false).stream(request)),
    { startImmediately: true }
  )
}

gated("rule X1, X5: the record of a wait has what the gate keeps of the turn, but for a retry elsewhere", function* () {
  const gates = yield* Gates.Gates
  const gatekeeper = gates.of(request) ?? expect.fail("it has no gate")
  const past = { odd: 1.5, restsUntil: 9_000 }
  const { turnId } = request
  const wait = { gatekeeper, turnId, since: 0, waitMs: 5_000, notBefore: 0, isWanted: false, mayShare: true, past }
  gatekeeper.enter({ ...wait, wake: () => {}, held: () => {} })
  const { calls, service } = provider()
  const turn = new TurnLife(turnId)
  yield* Effect.forkChild(
    Stream.runCollect(Admission.throughGates(service, gates, turn, () => true, false).stream(request))
  )
  while (calls.length === 0) yield* Effect.yieldNow
  const { router, strategy } = Admission.remembering(turn)
  const policy: RetryStrategy.Deciding = { delayFor: () => Duration.seconds(5), budget: { measure: "scheduled" } }
  const deciding = strategy(policy)
  const spent = { sleptMs: 0, elapsedMs: 0, spread: 0 }
  expect(deciding.decide?.(0, overloaded, spent)?.basis).toEqual({ past })
  const retry = { _tag: "Retry", attempt: 0, delayMs: 5_000, retryAt: 5_000, basis: { ways: [] } } as const
  for (const [directive, basis] of [
    [retry, { ways: [], past }],
    [{ ...retry, route: { target: request.target } }, { ways: [] }]
  ] as const) {
    const routed = router({ begin: () => expect.fail("the turn has begun"), direct: () => Effect.succeed(directive) })
    const situation = { failure: overloaded, contentSeen: false, retries: 0, defects: 0, spent, now: 0 }
    const question = {
      primary: request.target,
      current: undefined,
      state: undefined,
      request: { ...request, system: undefined }
    }
    expect((yield* routed.direct(situation, question)).basis).toEqual(basis)
  }
})

gated("Admission.A1: a wait that a person's command ends gives its ticket back, or has one for the call", function* () {
  const gatekeeper = (yield* Gates.Gates).of(request) ?? expect.fail("it has no gate")
  const { turnId } = request
  const awaited = { gatekeeper, turnId, since: 0, waitMs: 5, notBefore: 0, isWanted: false, mayShare: true }
  const by = { commandId: "c", origin: "a test" }
  const underwayAfter = (wake: RetryStrategy.Wake) => {
    const turn = new TurnLife(turnId)
    turn.hold("ticket", gatekeeper.admit())
    expect(Admission.atGate(wake, turn, awaited)).toEqual(wake)
    const { underway } = gatekeeper.view
    turn.stop()
    return underway
  }
  expect([underwayAfter({ type: "until", until: 9_000, by }), underwayAfter({ type: "now", by })]).toEqual([0, 1])
  expect([underwayAfter({ type: "elapsed" }), gatekeeper.view.underway]).toEqual([1, 0])
})

describe("a call to a provider with limits", () => {
  oneAtOnce("waits for its permit without a time limit, and no limit on silence counts meanwhile", function* () {
    const gates = yield* Gates.Gates
    const { calls, service } = provider()
    const limited = Limits.withLimits(service, { firstContentMs: 1_000, idleMs: 1_000 })
    const first = yield* attempt(service, gates)
    const second = yield* attempt(limited, gates)
    yield* TestClock.adjust(Duration.hours(1))
    expect(calls).toHaveLength(1)
    yield* Deferred.succeed(calls[0] ?? (yield* Effect.die("no call")), answer(1, 1))
    yield* Fiber.join(first)
    expect(calls).toHaveLength(2)
    // After its beginning the limits count.
    yield* TestClock.adjust(1_000)
    expect(yield* Effect.flip(Fiber.join(second))).toMatchObject({ failure: { reason: "timeout" } })
    expect(gates.limiterOf("own")?.use.underway).toBe(0)
  })

  it.effect("Admission.A4: is measured before it begins, and charged for the tokens that it used", () =>
    Effect.gen(function* () {
      const gates = yield* Gates.Gates
      const { calls, service } = provider()
      const first = yield* attempt(service, gates)
      const limiter = gates.limiterOf("own")
      expect(limiter?.use.seconds).toMatchObject([{ tokens: 100, requests: 1 }])
      yield* Deferred.succeed(calls[0] ?? (yield* Effect.die("no call")), answer(40, 30))
      yield* Fiber.join(first)
      expect(limiter?.use.seconds.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(70)
      expect(limiter?.use.underway).toBe(0)
      yield* attempt(service, gates)
      expect(calls).toHaveLength(1)
      yield* TestClock.adjust(Duration.seconds(61))
      expect(calls).toHaveLength(2)
    }).pipe(Effect.provide(layer({ tokensPerMinute: 120 })))
  )

  oneAtOnce("that is interrupted while it waits is no longer in progress for its gate", function* () {
    const gates = yield* Gates.Gates
    const { service } = provider()
    const gatekeeper = gates.of({ target: request.target })
    yield* attempt(service, gates)
    const waiting = yield* attempt(service, gates, gatekeeper?.admit())
    expect(gatekeeper?.view.underway).toBe(2)
    yield* Fiber.interrupt(waiting)
    expect([gatekeeper?.view.underway, gates.limiterOf("own")?.waiting]).toEqual([1, 0])
  })

  oneAtOnce("shares a failure that is beyond doubt when it gets its permit", function* () {
    const gates = yield* Gates.Gates
    const { calls, service } = provider()
    const gatekeeper = gates.of({ target: request.target })
    const first = yield* attempt(service, gates)
    const second = yield* attempt(service, gates)
    shut(gatekeeper ?? expect.fail("there is no gate"))
    yield* Deferred.succeed(calls[0] ?? (yield* Effect.die("no call")), [{ type: "error", failure: overloaded }])
    yield* Fiber.join(first)
    expect(yield* Fiber.join(second)).toMatchObject([{ type: "error", failure: { shared: true } }])
    expect(calls).toHaveLength(1)
    expect(gates.limiterOf("own")?.use.underway).toBe(0)
  })

  gated("rule X5: is made where a shared failure would end the turn, and for an attempt elsewhere", function* () {
    const gates = yield* Gates.Gates
    shut(gates.of({ target: request.target }) ?? expect.fail("there is no gate"))
    const isCalled = Effect.fnUntraced(function* (goesOn: boolean, attempt: number) {
      const { calls, service } = provider()
      const turn = new TurnLife(request.turnId)
      const gated = Admission.throughGates(service, gates, turn, ({ shared }) => shared === true && goesOn, false)
      yield* Effect.forkChild(Stream.runDrain(gated.stream({ ...request, attempt })), { startImmediately: true })
      return calls.length === 1
    })
    expect([yield* isCalled(true, 0), yield* isCalled(false, 0), yield* isCalled(true, 1)]).toEqual([false, true, true])
  })

  gated("rule X4: that a person ordered in an earlier life is made, whatever is known of its endpoint", function* () {
    const gates = yield* Gates.Gates
    const gatekeeper = gates.of({ target: request.target })
    shut(gatekeeper ?? expect.fail("there is no gate"))
    const callsOf = Effect.fnUntraced(function* (...known: ReadonlyArray<Records.Stored>) {
      const { calls, service } = provider()
      const turn = new TurnLife(request.turnId)
      const gated = Admission.throughGates(service, gates, turn, () => true, Admission.isOrdered(known))
      const attempts = Effect.andThen(Stream.runDrain(gated.stream(request)), Stream.runDrain(gated.stream(request)))
      yield* Effect.forkChild(attempts, { startImmediately: true })
      if (calls[0] !== undefined) yield* Deferred.succeed(calls[0], [{ type: "error", failure: overloaded }] as const)
      yield* Effect.yieldNow
      return calls.length
    })
    const wake = (value: object, n = 0): Records.Stored => ({
      name: Records.nameOf("Wake", 0, n),
      value: JSON.stringify({ at: 1, ...value })
    })
    const by = { commandId: "c", origin: "a test" }
    const now = wake({ type: "now", by })
    // The order holds for one attempt, and only while nothing has followed it.
    expect([yield* callsOf(now), yield* callsOf(now, wake({ type: "elapsed" }, 1))]).toEqual([1, 0])
    expect(yield* callsOf(wake({ type: "now", early: true, by: wakeEarly({ isProbe: false }).by }))).toBe(0)
    expect([yield* callsOf(), gatekeeper?.view.underway]).toEqual([0, 0])
  })
})
