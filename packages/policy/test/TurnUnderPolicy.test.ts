/** Turns of the kernel over the real policies, on a test clock. */
import { assert, describe } from "@effect/vitest"
import type { RetryStrategy } from "@holdfast/kernel"
import { Scenario, ScriptedProvider } from "@holdfast/kernel/testing"
import type { Failure } from "@holdfast/wire"
import { Deferred, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Profile, RetryStrategies } from "../src/index.ts"

const { answer, emits, overloaded, throws } = ScriptedProvider

const elapsed: RetryStrategies.Sleep = (delay) => Effect.as(Effect.sleep(delay), { type: "elapsed" })

const strategyOf = (settings: Profile.RetrySettings, sleep: RetryStrategies.Sleep = elapsed) => ({
  service: RetryStrategies.make(Profile.resolve(settings), sleep)
})

/** An attempt that takes `took`, and then fails. */
const slow = (took: Duration.Input): ScriptedProvider.Script => ({
  reads: [],
  end: Effect.andThen(Effect.sleep(took), throws(overloaded).end)
})

const times = (count: number, script: ScriptedProvider.Script) => Array.from({ length: count }, () => script)

/** The numbers of a turn's retries, in order. */
const attempts = (run: Scenario.Run) => run.sink.of("provider-retry").map(({ attempt }) => attempt)

const settle = (run: Scenario.Run) => Effect.andThen(TestClock.adjust("20 days"), Fiber.join(run.fiber))

describe("overnight", () => {
  Scenario.bothWays(
    "rule D1: a turn against a dead endpoint makes 22 attempts and 21 retries, and sleeps 27,105 s",
    (start) =>
      Effect.gen(function* () {
        const run = yield* start({ scripts: times(30, emits(overloaded)), strategy: strategyOf({}) })
        const end = yield* settle(run)
        assert.strictEqual(end.status, "failed")
        assert.strictEqual(end.attempts, 22)
        assert.strictEqual(end.sleptMs, 27_105_000)
        assert.strictEqual(end.endedAt, 27_105_000)
        assert.strictEqual(run.sink.of("error").length, 1) // D7
      })
  )

  Scenario.bothWays("rule D2: counts scheduled sleep: attempts of an hour each leave all 21 retries", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: times(30, slow("1 hour")), strategy: strategyOf({}) })
      const end = yield* settle(run)
      assert.strictEqual(end.attempts, 22)
      assert.strictEqual(end.endedAt, 22 * 3_600_000 + 27_105_000)
    })
  )

  Scenario.bothWays(
    "rule D2: by wall-clock counts from the step's first failure, the time of the attempts with it",
    (start) =>
      Effect.gen(function* () {
        const run = yield* start({
          scripts: times(30, slow("1 hour")),
          strategy: strategyOf({ measure: "wall-clock" })
        })
        const end = yield* settle(run)
        assert.strictEqual(end.status, "failed")
        // Seven attempts of an hour and 1,905 s of sleep after its first failure the eighth attempt fails: 7 h 31 min 45 s.
        // The next wait is 30 minutes, and would end beyond 8 h.
        const sleptMs = [5, 10, 30, 60, 300, 600, 900].reduce((sum, seconds) => sum + seconds * 1_000, 0)
        assert.strictEqual(end.attempts, 8)
        assert.strictEqual(end.sleptMs, sleptMs)
        assert.strictEqual(end.endedAt, 8 * 3_600_000 + sleptMs)
      })
  )

  Scenario.bothWays("rule D2: by wall-clock each step counts anew", (start) =>
    Effect.gen(function* () {
      const run = yield* start({
        scripts: [
          ...times(7, slow("1 hour")),
          ScriptedProvider.tools(ScriptedProvider.call("t")),
          slow("1 hour"),
          answer("ok")
        ],
        strategy: strategyOf({ measure: "wall-clock" })
      })
      assert.strictEqual((yield* settle(run)).status, "completed")
      assert.deepStrictEqual(attempts(run), [0, 1, 2, 3, 4, 5, 6, 0])
    })
  )
})

describe("limits by reason", () => {
  const limited: Failure.Failure = { reason: "rate-limited", message: "Slow down.", retryable: true, status: 429 }

  Scenario.bothWays("rule X11: a turn's spending on a reason is that in its records, without other reasons", (start) =>
    Effect.gen(function* () {
      const scripts = Array.from({ length: 30 }, (_, n) => emits(n % 3 === 0 ? limited : overloaded))
      const budget = Duration.minutes(30)
      const run = yield* start({ scripts, strategy: strategyOf({ reasons: { "rate-limited": { budget } } }) })
      const end = yield* settle(run)
      // Its waits are retries 1, 4, 7: 5 s, 60 s, 15 min. With retry 10 it would be 46 min 5 s.
      assert.strictEqual(end.attempts, 10)
      assert.strictEqual(end.error?.message, "Slow down.")
      assert.deepStrictEqual(attempts(run), [0, 1, 2, 3, 4, 5, 6, 7, 8])
    })
  )

  Scenario.bothWays("rule X11: the retries of a reason are limited; each step counts anew", (start) =>
    Effect.gen(function* () {
      const scripts = [
        emits(limited),
        emits(overloaded),
        emits(limited),
        ScriptedProvider.tools(ScriptedProvider.call("t")),
        emits(limited),
        emits(limited),
        emits(overloaded),
        emits(limited)
      ]
      const run = yield* start({ scripts, strategy: strategyOf({ reasons: { "rate-limited": { maxRetries: 2 } } }) })
      const end = yield* settle(run)
      assert.deepStrictEqual([end.status, end.attempts, end.steps], ["failed", 8, 1])
      assert.deepStrictEqual(attempts(run), [0, 1, 2, 0, 1, 2])
    })
  )
})

describe("interactive", () => {
  const interactive = { profile: "interactive" } as const
  const asksFor = (retryAfterMs: number): Failure.Failure => ({
    ...overloaded,
    hint: { retryAfterMs, source: "retry-after" }
  })

  Scenario.bothWays("rule P4: a turn waits 2 s, 4 s and 8 s, and then fails", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: times(5, emits(overloaded)), strategy: strategyOf(interactive) })
      assert.strictEqual((yield* settle(run)).attempts, 4)
      assert.deepStrictEqual(
        run.sink.of("provider-retry").map(({ delayMs }) => delayMs),
        [2_000, 4_000, 8_000]
      )
    })
  )

  Scenario.bothWays("rule P6, P11: a wait above the cap is not slept; the chain that was open is closed", (start) =>
    Effect.gen(function* () {
      const scripts = [emits(overloaded), emits(asksFor(300_001))]
      const run = yield* start({ scripts, strategy: strategyOf(interactive) })
      const end = yield* settle(run)
      assert.strictEqual(end.endedAt, 2_000)
      assert.deepStrictEqual(
        run.sink.of("retry-end").map(({ success, attempt, finalError }) => [success, attempt, finalError]),
        [[false, 0, overloaded.message]]
      )
    })
  )

  // However a chain ended, the next turn over the very same strategy starts from 0 with the first delay.
  for (const [how, scripts] of [
    ["the first success after retries", [...times(2, emits(overloaded)), answer("ok")]],
    ["cancellation", times(2, emits(overloaded))],
    ["maxRetries exceeded", times(4, emits(overloaded))],
    ["maxDelayMs exceeded", [emits(overloaded), emits(asksFor(300_001))]]
  ] as const) {
    Scenario.bothWays(`rule P10: the attempt counter is back at 0 after ${how}`, (start) =>
      Effect.gen(function* () {
        const cancel = yield* Deferred.make<RetryStrategy.Wake>()
        let sleeps = 0
        const strategy = strategyOf(interactive, (delay) =>
          ++sleeps === 2 && how === "cancellation" ? Deferred.await(cancel) : elapsed(delay)
        )
        const first = yield* start({ scripts, strategy })
        yield* TestClock.adjust("2 seconds")
        yield* Deferred.succeed(cancel, { type: "cancelled" })
        yield* settle(first)
        assert.strictEqual(first.sink.of("retry-end").length, 1)

        const next = yield* start({ scripts: [emits(overloaded), answer("ok")], strategy })
        assert.strictEqual((yield* settle(next)).status, "completed")
        assert.deepStrictEqual(attempts(next), [0])
        assert.strictEqual(next.sink.of("provider-retry")[0]?.delayMs, 2_000)
      })
    )
  }
})
