/** Laws of whole turns: the kernel's own loop, routed by the real policies over generated outages (A15). */
import { assert } from "@effect/vitest"
import { Router } from "@holdfast/kernel"
import { Property, Scenario, ScriptedProvider } from "@holdfast/kernel/testing"
import { Target, type TurnEvent } from "@holdfast/wire"
import { Clock, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { RetryPolicy, RetryStrategies, Routers, Standing } from "../../src/index.ts"
import { chain, robin, type Story, story } from "./Generated.ts"
import { START } from "./RoutedStep.ts"

const RUNS = { numRuns: 100 }

const law = (title: string, of: fc.Arbitrary<Story>, check: (turn: Told, story: Story) => void) =>
  Property.prop(title, of, (story) => Effect.map(turnOf(Scenario.straight, story), (turn) => check(turn, story)), RUNS)

const any = story(fc.oneof(chain, robin))

/** One call of the provider. */
interface Call {
  /** `provider/model`, with the credential if the route names one. */
  readonly where: string
  /** Epoch milliseconds. */
  readonly at: number
  readonly messages: number
}

interface Told {
  readonly calls: ReadonlyArray<Call>
  readonly events: ReadonlyArray<TurnEvent.TurnEvent>
  readonly waits: ReadonlyArray<TurnEvent.ProviderRetry>
  readonly end: TurnEvent.TurnEnd
}

law("rule A15, A2, P3: a turn makes no more attempts than its policy has", any, ({ calls, end }, { policy }) => {
  assert.isAtMost(calls.length, 1 + (RetryPolicy.mostRetries(policy) ?? Infinity))
  assert.strictEqual(end.attempts, calls.length)
})

law("rule A15, D5: a wait is never cut short: each attempt comes at its announced time", any, ({ calls, waits }) => {
  assert.deepStrictEqual(
    calls.slice(1).map(({ at }) => at),
    waits.map(({ retryAt }) => retryAt)
  )
})

law("rule A15: a failed attempt leaves nothing in the model's context", any, ({ calls, events }) => {
  assert.isTrue(calls.every(({ messages }) => messages === 1))
  assert.isAtMost(events.filter(({ type }) => type === "message").length, 2)
})

law(
  "rule A15, A4: in turn, no target is reached a second time by skipping before all have been",
  story(robin),
  (turn, story) => {
    const { models, policy, primary } = story
    if (policy.routing.type !== "round-robin") return
    const all = [primary, ...policy.routing.targets].map((target) => Target.format(target))
    const fitting = new Set(all.filter((target) => target === all[0] || models[target] === undefined))
    const moves = turn.events.filter((event) => event.type === "model-change")
    for (const at of moves.keys()) {
      const cycle = moves.slice(at, at + fitting.size).map(({ to }) => to)
      assert.strictEqual(new Set(cycle).size, cycle.length)
    }
  }
)

law("rule P8, D5: each retry is announced with the target that failed", any, ({ calls, waits }) => {
  assert.strictEqual(waits.length, calls.length - 1)
  for (const [n, { target }] of waits.entries()) assert.strictEqual(calls[n]?.where.split("#")[0], target)
})

/** Each of two turns draws its own random numbers. */
const unchanced = any.map((story) => ({ ...story, policy: { ...story.policy, jitter: { factor: 0 } } }))

Property.prop(
  "rule A15, X1: a turn that runs again after every record uses the same targets at the same times",
  unchanced,
  (story) =>
    Effect.gen(function* () {
      const straight = yield* turnOf(Scenario.straight, story)
      const again = yield* turnOf(Scenario.replayed, story)
      assert.deepStrictEqual(again.calls, straight.calls)
      assert.deepStrictEqual(again.end, straight.end)
    }),
  RUNS
)

// --- internal

/** Runs a turn through the failures of a story, to the answer after them or to an earlier end. */
const turnOf = Effect.fnUntraced(function* (start: Scenario.Start, story: Story) {
  const { failures, policy, primary } = story
  yield* TestClock.setTime(START)
  const at: Array<number> = []
  const called = Effect.map(Clock.currentTimeMillis, (now) => void at.push(now))
  const scripts = failures.map(({ failure, tookMs }) => ({
    reads: [],
    end: Effect.andThen(
      called,
      Effect.andThen(
        Effect.sleep(tookMs),
        Effect.suspend(() => ScriptedProvider.throws(failure).end)
      )
    )
  }))
  const run = yield* start({
    primary,
    scripts: [...scripts, ScriptedProvider.answer("ok")],
    strategy: { service: RetryStrategies.make(policy, (delay) => Effect.as(Effect.sleep(delay), { type: "elapsed" })) },
    services: Layer.succeed(Router.Router, routerOf(story))
  })
  // Longer than 25 waits of the longest kind.
  yield* TestClock.adjust("10000 days")
  const end = yield* Fiber.join(run.fiber)
  const calls = run.provider.requests.map(({ credential, messages, target }, n) => ({
    where: `${Target.format(target)}${credential === undefined ? "" : `#${credential}`}`,
    at: at[n] ?? end.endedAt, // the answer takes no time
    messages: messages.length
  }))
  return { calls, end, events: run.sink.events, waits: run.sink.of("provider-retry") } satisfies Told
})

/** Findings are kept in memory. */
const routerOf = ({ credentials, models, policy, standing: before }: Story): Router.Router["Service"] => {
  let standing = before
  return Routers.make(policy, {
    credentials,
    models,
    countTokens: () => 100,
    load: () => Effect.sync(() => standing),
    note: (changes) => Effect.sync(() => void (standing = Standing.merge(standing, changes)))
  })
}
