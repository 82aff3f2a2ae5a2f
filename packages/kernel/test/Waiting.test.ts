/** What the record of a wait says. */
import { assert, describe, it } from "@effect/vitest"
import { ReplayCheckpoint, Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"

const { answer, emits, overloaded } = ScriptedProvider

const by = { commandId: "k1", origin: "a test" }

describe("the record of a wait", () => {
  it.effect("X9: has the moment at which each of its ends was heard, and the command that brought it about", () =>
    Effect.gen(function* () {
      const strategy = new TestStrategy.TestStrategy({ delays: [10_000, 20_000] })
      const replay = new ReplayCheckpoint.ReplayCheckpoint()
      const scripts = [emits(overloaded), emits(overloaded), answer("ok")]
      const { fiber } = yield* Scenario.replayed({ scripts, strategy, replay })
      yield* TestClock.adjust(Duration.seconds(4))
      yield* strategy.wake({ type: "extended", byMs: 1_000, by })
      yield* TestClock.adjust(Duration.seconds(6))
      yield* TestClock.adjust(Duration.seconds(5))
      yield* strategy.wake({ type: "now", by })
      yield* Fiber.join(fiber)
      const wakes = Array.from(replay.records).filter(([name]) => name.includes("/sleep/"))
      assert.deepStrictEqual(wakes, [
        ["step/0/sleep/0", { type: "extended", byMs: 1_000, by, at: 4_000 }],
        ["step/0/sleep/0/1", { type: "elapsed", at: 10_000 }],
        ["step/0/sleep/1", { type: "now", by, at: 15_000 }]
      ])
    })
  )
})
