import { describe, expect, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Deadline from "../../src/limits/Deadline.ts"

/** Runs with a clock on which the first sleeps are late by `delays`, as after a freeze; returns the requested sleeps. */
const withDelays = Effect.fnUntraced(function* (delays: ReadonlyArray<number>, effect: Effect.Effect<void>) {
  const clock = yield* Clock.Clock
  const slept: Array<number> = []
  const late: Clock.Clock = Object.assign(Object.create(clock), {
    sleep: (duration: Duration.Duration) => {
      const delay = delays[slept.length] ?? 0
      slept.push(Duration.toMillis(duration))
      return clock.sleep(Duration.sum(duration, Duration.millis(delay)))
    }
  })
  const fiber = yield* Effect.forkChild(Effect.provideService(effect, Clock.Clock, late), { startImmediately: true })
  yield* TestClock.adjust("1 day")
  yield* Fiber.join(fiber)
  return slept
})

describe("Deadline", () => {
  it.effect("rule C8: a sleep that ends on time is over", () =>
    Effect.gen(function* () {
      expect(yield* withDelays([], Deadline.sleep(5000))).toEqual([5000])
      expect(yield* withDelays([Deadline.LATE_MS], Deadline.sleep(5000))).toEqual([5000])
    })
  )

  it.effect("rule C8: a sleep that ends much later continues for the length of its delay, one second at most", () =>
    Effect.gen(function* () {
      expect(yield* withDelays([101], Deadline.sleep(5000))).toEqual([5000, 101])
      expect(yield* withDelays([600_000], Deadline.sleep(5000))).toEqual([5000, Deadline.GRACE_MS])
    })
  )

  it.effect("rule C8: a process that is stopped during a grace period gets another one, up to a maximum", () =>
    Effect.gen(function* () {
      expect(yield* withDelays([9000, 300], Deadline.sleep(50))).toEqual([50, 1000, 300])
      const always = Array.from({ length: 9 }, () => 9000)
      expect(yield* withDelays(always, Deadline.sleep(50))).toEqual([50, 1000, 1000, 1000])
    })
  )

  it.effect("an effect is interrupted when its time is over, and not before", () =>
    Effect.gen(function* () {
      let isInterrupted = false
      const never = Effect.onInterrupt(Effect.never, () => Effect.sync(() => (isInterrupted = true)))
      const fiber = yield* Effect.forkChild(Deadline.within(never, 100), { startImmediately: true })
      yield* TestClock.adjust(99)
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      yield* Fiber.join(fiber)
      expect(isInterrupted).toBe(true)
    })
  )
})
