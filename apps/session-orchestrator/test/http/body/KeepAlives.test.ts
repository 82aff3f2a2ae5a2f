import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as KeepAlives from "../../../src/http/body/KeepAlives.ts"

const INTERVAL = Duration.seconds(15)

describe("keep-alives", () => {
  it.effect("KeepAlives.K1: each is called an interval after it was added, and then once an interval", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const keepAlives = KeepAlives.of(clock, INTERVAL)
      const calls: Array<string> = []
      const add = (name: string) => keepAlives.add(() => calls.push(`${name} ${clock.currentTimeMillisUnsafe()}`))
      add("a")
      yield* TestClock.adjust(5_000)
      const removeB = add("b")
      yield* TestClock.adjust(5_000)
      add("c")
      yield* TestClock.adjust(25_000)
      removeB()
      yield* TestClock.adjust(15_000)
      assert.deepStrictEqual(calls, ["a 15000", "b 20000", "c 25000", "a 30000", "b 35000", "c 40000", "a 45000"])
    })
  )

  it.effect("KeepAlives.K1: also when the time of day is set back", () =>
    Effect.gen(function* () {
      const own = yield* Clock.Clock
      let offset = 0
      const clock: Clock.Clock = { ...own, currentTimeMillisUnsafe: () => own.currentTimeMillisUnsafe() - offset }
      let calls = 0
      KeepAlives.of(clock, INTERVAL).add(() => calls++)
      offset = 3_600_000
      yield* TestClock.adjust(15_000)
      assert.strictEqual(calls, 1)
    })
  )

  it.effect("KeepAlives.K2: without functions there is no fiber, and the next function starts one", () =>
    Effect.gen(function* () {
      let asleep = 0
      const clock: Clock.Clock = {
        ...(yield* Clock.Clock),
        currentTimeMillisUnsafe: () => 0,
        sleep: () =>
          Effect.andThen(
            Effect.sync(() => void asleep++),
            Effect.onInterrupt(Effect.never, () => Effect.sync(() => void asleep--))
          )
      }
      const keepAlives = KeepAlives.of(clock, INTERVAL)
      const removals = [keepAlives.add(() => {}), keepAlives.add(() => {})]
      assert.strictEqual(asleep, 1)
      for (const remove of removals) remove()
      assert.strictEqual(asleep, 0)
      keepAlives.add(() => {})
      assert.strictEqual(asleep, 1)
    })
  )
})
