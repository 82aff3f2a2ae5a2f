/**
 * Runs a scenario against the kernel and the policies, under the test clock.
 *
 * Providers are the real adapters of the wire formats, on endpoints in memory; limits are the real ones. The runner takes the part of
 * the shell: it sleeps on the test clock, keeps the history, and delivers commands to the sleep.
 *
 * KernelRunner.K1. Time passes only when the turn can go no further without it, and only as far as it must.
 * KernelRunner.K2. A call after a wait comes at the moment in `provider-retry`, to the millisecond.
 */
import { assert } from "@effect/vitest"
import { Checkpoint, EventSink, Provider, RetryStrategy, Toolbox, Turn } from "@holdfast/kernel"
import { RecordingSink, ReplayCheckpoint } from "@holdfast/kernel/testing"
import { Profile, RetrySettings, RetryStrategies } from "@holdfast/policy"
import { Anthropic, Http, Limits, OpenAiCompatible } from "@holdfast/providers"
import * as Fetch from "@holdfast/providers/fetch"
import { Ids, type Message, Target, type TurnEvent } from "@holdfast/wire"
import { Clock, Deferred, Duration, Effect, Equal, Fiber, Layer, Queue, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import * as Answers from "./Answers.ts"
import { MemoryEndpoint, type Standstill } from "./MemoryEndpoint.ts"
import type { Played, PlayedTurn } from "./PlayedScenario.ts"
import * as RuleScenario from "./RuleScenario.ts"
import * as Shell from "./Shell.ts"

/** Whether a turn runs once, or again from its start after every record (X1). */
export type Mode = "once" | "again after every record"

/** A point at which a turn cannot continue by itself. */
type Signal =
  | Standstill
  | {
      readonly _tag: "Asleep"
      readonly delayMs: number
      readonly wake: Deferred.Deferred<RetryStrategy.Wake, RetryStrategy.SleepFailure>
    }
  | { readonly _tag: "Held" }
  | { readonly _tag: "Ended" }

export const play = Effect.fnUntraced(function* (
  scenario: RuleScenario.Scenario,
  format: RuleScenario.Format,
  mode: Mode
) {
  const policy = Profile.resolve(Result.getOrThrow(RetrySettings.decode(scenario.retry ?? {})))
  const signals = yield* Queue.unbounded<Signal>()
  const endpoint = yield* endpointOf(signals)
  const provider = Limits.withLimits(yield* providersOf(scenario, format, endpoint), policy.requestTimeout)
  const shell = Shell.make(scenario, policy, provider)
  const strategy = scenario.retry === null ? Layer.empty : RetryStrategies.layer(policy, sleepOn(signals))
  const history: Array<Message.Message> = []
  const turns: Array<PlayedTurn> = []

  for (const [i, turn] of scenario.turns.entries()) {
    const sink = new RecordingSink.RecordingSink()
    const abort = yield* Deferred.make<void>()
    const before = endpoint.calls.length
    const responses = turn.given.map((answer) => answer({ format, ms: (ms) => ms }))
    endpoint.respond(responses)
    for (const gate of responses.flatMap(Answers.gatesOf)) {
      yield* Effect.forkScoped(Effect.andThen(gate.reached, Queue.offer(signals, { _tag: "Held" })))
    }
    const { checkpoint, toSeal } = recordsOf(mode)
    const target = targetOf(scenario.targets?.[0] ?? RuleScenario.TARGET)
    const { layer, limits } = yield* shell(history.slice())
    const fiber = yield* Turn.runTurn({
      conversationId: Ids.ConversationId.make("c1"),
      turnId: Ids.TurnId.make(`t${i}`),
      target,
      history: history.slice(),
      startedAt: yield* Clock.currentTimeMillis,
      abort: Deferred.await(abort),
      limits,
      ...(turn.prompt === null ? {} : { prompt: turn.prompt ?? RuleScenario.PROMPT })
    }).pipe(
      Effect.provide(
        Layer.mergeAll(
          Layer.succeed(Provider.Provider, provider),
          Layer.succeed(EventSink.EventSink, sink.service),
          Layer.succeed(Checkpoint.Checkpoint, checkpoint),
          toolboxOf(scenario),
          layer,
          strategy
        )
      ),
      toSeal,
      Effect.ensuring(Queue.offer(signals, { _tag: "Ended" })),
      Effect.forkScoped({ startImmediately: true })
    )
    yield* drive({ turn, fiber, abort, endpoint, signals, sink })
    yield* Fiber.join(fiber)
    assert.strictEqual(endpoint.left, 0, `turn ${i}: responses that nobody asked for`)
    assert.deepStrictEqual(sink.contradictions, [], `turn ${i}: run again, it persisted something else`)
    history.push(...sink.of("message").map(({ message }) => message))
    turns.push({
      calls: endpoint.calls.slice(before),
      events: mode === "once" ? sink.events : sink.events.filter(isNews)
    })
  }
  return { turns, history } satisfies Played
})

// --- internal

interface Running {
  readonly turn: RuleScenario.Turn
  readonly fiber: Fiber.Fiber<TurnEvent.TurnEnd, unknown>
  readonly abort: Deferred.Deferred<void>
  readonly endpoint: MemoryEndpoint
  readonly signals: Queue.Queue<Signal>
  readonly sink: RecordingSink.RecordingSink
}

/** Lets time pass, and people act, until the turn has ended. */
const drive = Effect.fnUntraced(function* (running: Running) {
  const { endpoint, fiber, signals, sink, turn } = running
  const due: Array<readonly [call: number, at: number]> = []
  const actsAt = (at: RuleScenario.When["at"]) =>
    (turn.when ?? []).flatMap((when) => (when.at === at ? [when.act] : []))
  for (;;) {
    const signal = yield* next(signals)
    if (signal._tag === "Ended") break
    assert.isUndefined(fiber.pollUnsafe(), "P13: a turn that waits has not ended")
    switch (signal._tag) {
      case "Asleep": {
        const acts = actsAt(sink.events.filter(isNews).filter(({ type }) => type === "provider-retry").length - 1)
        for (const act of acts) yield* perform(act, running, signal.wake)
        if (acts.length > 0) break
        due.push([
          endpoint.calls.length,
          sink.of("provider-retry").at(-1)?.retryAt ?? assert.fail("there was no provider-retry")
        ]) // D5
        yield* TestClock.adjust(signal.delayMs)
        break
      }
      case "Held":
        for (const act of actsAt("held")) yield* perform(act, running, undefined)
        break
      case "Slow":
        yield* TestClock.adjust(signal.takesMs)
        break
      case "Silent":
        yield* pass(signal.isLetGo)
        break
      default:
        return signal satisfies never
    }
  }
  for (const [call, at] of due) assert.strictEqual(endpoint.calls[call]?.at, at, `K2: call ${call}`)
})

/** The next standstill. The wait for it is real, and over at once; the limit is a guard against hanging. */
const next = (signals: Queue.Queue<Signal>): Effect.Effect<Signal, unknown> =>
  TestClock.withLive(Effect.timeout(Queue.take(signals), "1 minute"))

/** Advances the clock until a response that never ends is dropped. */
const pass = Effect.fnUntraced(function* (isLetGo: () => boolean) {
  while (!isLetGo()) {
    yield* TestClock.adjust("1 second")
    // The consequences of that second come before the next second.
    for (let n = 0; n < 3; n++) yield* Effect.promise(() => new Promise(setImmediate))
  }
})

const perform = (
  act: RuleScenario.Act,
  { abort }: Running,
  wake: Deferred.Deferred<RetryStrategy.Wake, RetryStrategy.SleepFailure> | undefined
): Effect.Effect<unknown> => {
  if (act === "abort") return Deferred.succeed(abort, undefined)
  if (wake === undefined) return Effect.die(new Error("only an abort can end what is no wait"))
  if (typeof act === "object" && "switchesTo" in act) {
    return Deferred.succeed(wake, { type: "switched", target: targetOf(act.switchesTo) })
  }
  switch (act) {
    case "retry-now":
      return Deferred.succeed(wake, { type: "now" })
    case "abort-retry":
      return Deferred.succeed(wake, { type: "cancelled" })
    case "sleep fails":
      return Deferred.fail(wake, new RetryStrategy.SleepFailure({ message: "There is no timer." }))
    default:
      return Effect.die(new Error("this is the service's to do"))
  }
}

const targetOf = (name: string): Target.Target => Target.parse(name) ?? assert.fail(`${name} is no target`)

const sleepOn =
  (signals: Queue.Queue<Signal>): RetryStrategies.Sleep =>
  (delay) =>
    Effect.suspend((): Effect.Effect<RetryStrategy.Wake, RetryStrategy.SleepFailure> => {
      // KernelRunner.K1
      if (Duration.isZero(delay)) return Effect.succeed({ type: "elapsed" })
      const wake = Deferred.makeUnsafe<RetryStrategy.Wake, RetryStrategy.SleepFailure>()
      Queue.offerUnsafe(signals, { _tag: "Asleep", delayMs: Duration.toMillis(delay), wake })
      return Effect.raceFirst(Deferred.await(wake), Effect.as(Effect.sleep(delay), { type: "elapsed" } as const))
    })

const endpointOf = Effect.fnUntraced(function* (signals: Queue.Queue<Signal>) {
  const clock = yield* Clock.Clock
  const run = Effect.runPromiseWith(yield* Effect.context<never>())
  return new MemoryEndpoint({
    tell: (standstill) => void Queue.offerUnsafe(signals, standstill),
    now: () => clock.currentTimeMillisUnsafe(),
    sleep: (ms) => run(Effect.sleep(ms))
  })
})

/** The providers of a scenario's targets, each under its name, and with each of its keys. */
const providersOf = Effect.fnUntraced(function* (
  scenario: RuleScenario.Scenario,
  format: RuleScenario.Format,
  endpoint: MemoryEndpoint
) {
  const { credentials = {} } = scenario
  const providers = new Map<string, Provider.Provider["Service"]>()
  for (const name of RuleScenario.providersOf(scenario)) {
    const [first, ...others] = credentials[name] ?? []
    for (const credential of [undefined, ...others]) {
      const variable = credential ?? first
      const options = {
        baseUrl: `http://endpoint/${name}/v1`,
        ...(variable === undefined ? {} : { apiKey: Redacted.make(RuleScenario.keyOf(variable)) })
      }
      const made = format === "anthropic" ? Anthropic.make(options) : OpenAiCompatible.make(options)
      providers.set(nameOf(name, credential), yield* Effect.provide(made, clientOf(endpoint)))
    }
  }
  return {
    stream: (request) =>
      providers.get(nameOf(request.target.provider, request.credential))?.stream(request) ??
      assert.fail(`there is no provider ${nameOf(request.target.provider, request.credential)}`)
  } satisfies Provider.Provider["Service"]
})

const nameOf = (provider: string, credential: string | undefined): string => `${provider} ${credential ?? ""}`

const toolboxOf = ({ tools }: RuleScenario.Scenario): Layer.Layer<Toolbox.Toolbox> =>
  tools === undefined
    ? Toolbox.layerNoop
    : Layer.succeed(Toolbox.Toolbox, {
        definitions: tools.map((name) => ({ name, inputSchema: { type: "object" } })),
        run: () => Effect.succeed({ output: "done", isError: false })
      })

/**
 * A turn that runs again from its start repeats the beginning of the step's text, and an immediate switch of targets (X3).
 */
const isNews = (event: TurnEvent.TurnEvent, i: number, events: ReadonlyArray<TurnEvent.TurnEvent>): boolean => {
  const before = events.slice(0, i)
  if (event.type === "step-start") {
    const last = before.findLast(({ type }) => type === "step-start" || type === "step-discarded")
    return last?.type !== "step-start" || last.step !== event.step
  }
  if (event.type !== "provider-retry") return true
  const last = before.findLast(({ type }) => type === "provider-retry" || type === "retry-end")
  return !Equal.equals(last, event)
}

const clientOf = ({ fetch }: MemoryEndpoint) => Layer.succeed(Http.Http, Fetch.make(fetch))

type Sealing = <E>(turn: Effect.Effect<TurnEvent.TurnEnd, E>) => Effect.Effect<TurnEvent.TurnEnd, E>

const recordsOf = (mode: Mode): { readonly checkpoint: Checkpoint.Checkpoint["Service"]; readonly toSeal: Sealing } => {
  const records = new ReplayCheckpoint.ReplayCheckpoint()
  return mode === "once"
    ? { checkpoint: { run: (_name, _schema, effect) => effect }, toSeal: (turn) => turn }
    : { checkpoint: records.service, toSeal: (turn) => records.toSeal(turn) }
}
