/** A turn that leaves memory for the time of a wait. */
import { assert, describe, it } from "@effect/vitest"
import { Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { TurnParked } from "../src/ports/TurnParked.ts"
import { RecordingSink } from "../testing/RecordingSink.ts"
import { ReplayCheckpoint } from "../testing/ReplayCheckpoint.ts"

const { bothWays, dying, settle, straight } = Scenario
const { answer, emits, overloaded } = ScriptedProvider

const parking = () => TestStrategy.make({ sleep: Effect.fail(new TurnParked({ retryAt: 5_000 })) })

describe("a turn that is parked", () => {
  bothWays("rule X1: ends with the time of its wake, and unsealed", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overloaded)], strategy: parking() })
      const exit = yield* Fiber.await(run.fiber)
      assert.deepStrictEqual(exit, Exit.fail(new TurnParked({ retryAt: 5_000 })))
      assert.deepStrictEqual(
        run.sink.persisted.map(({ type }) => type),
        ["turn-start", "message"]
      )
      assert.strictEqual(run.provider.requests.length, 1)
    })
  )

  it.effect("rule X1: sleeps the rest of its wait when it runs again, and continues", () =>
    Effect.gen(function* () {
      const replay = new ReplayCheckpoint()
      const sink = new RecordingSink()
      const start = dying(() => false)
      const first = yield* start({ scripts: [emits(overloaded)], strategy: parking(), replay, sink })
      yield* Fiber.await(first.fiber)
      assert.isFalse(replay.records.has("step/0/sleep/0"))
      yield* TestClock.setTime(2_000)
      const strategy = TestStrategy.make()
      const second = yield* start({ scripts: [answer("ok")], strategy, replay, sink })
      assert.strictEqual((yield* settle(second)).status, "completed")
      assert.deepStrictEqual(strategy.sleeps, [3_000])
    })
  )

  it.effect("rule D8: is aborted while it is in memory", () =>
    Effect.gen(function* () {
      const run = yield* straight({ scripts: [emits(overloaded)], strategy: parking(), abort: Effect.void })
      assert.strictEqual((yield* settle(run)).status, "aborted")
    })
  )
})
