/** Failures that a turn takes over from another one (X5). */
import { assert, describe } from "@effect/vitest"
import type { RetryStrategy } from "@holdfast/kernel"
import { Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"

const { answer, emits, overloaded } = ScriptedProvider

const shared = { ...overloaded, shared: true } as const

describe("a failure that is shared", () => {
  Scenario.bothWays("rule X5: is a retry of the schedule, and no attempt", (start) =>
    Effect.gen(function* () {
      const strategy = new TestStrategy.TestStrategy({ delays: [1_000, 2_000, 3_000] })
      const scripts = [emits(overloaded), emits(shared), emits(shared), answer("ok")]
      const { fiber, sink } = yield* start({ scripts, strategy })
      yield* TestClock.adjust(Duration.seconds(6))
      const end = yield* Fiber.join(fiber)
      assert.strictEqual(end.status, "completed")
      assert.strictEqual(end.attempts, 2)
      assert.strictEqual(end.sleptMs, 6_000)
      const told = sink.events.flatMap((event) => (event.type === "retry-end" ? [event.attempt] : []))
      assert.deepStrictEqual(told, [2])
    })
  )

  Scenario.bothWays("rule X5: a sleep receives its retry, and whether a person has moved its end", (start) =>
    Effect.gen(function* () {
      const strategy = new TestStrategy.TestStrategy({ delays: [10_000] })
      const awaited: Array<RetryStrategy.PendingRetry | undefined> = []
      const service: RetryStrategy.RetryStrategy["Service"] = {
        ...strategy.service,
        sleep: (delay, wanted) => {
          awaited.push(wanted)
          return strategy.service.sleep(delay, wanted)
        }
      }
      const { fiber } = yield* start({ scripts: [emits(overloaded), answer("ok")], strategy: { service } })
      yield* TestClock.adjust(Duration.seconds(4))
      yield* strategy.wake({ type: "until", until: 30_000, by: { commandId: "k", origin: "a test" } })
      yield* TestClock.adjust(Duration.seconds(26))
      yield* Fiber.join(fiber)
      const common = { route: { target: Scenario.target }, failure: overloaded, since: 0, delayMs: 10_000 }
      assert.deepStrictEqual(awaited[0], { ...common, retryAt: 10_000, isMoved: false })
      assert.deepStrictEqual(awaited.at(-1), { ...common, retryAt: 30_000, isMoved: true })
    })
  )
})
