import { describe, expect, it } from "@effect/vitest"
import { RetryStrategy } from "@holdfast/kernel"
import type { Failure } from "@holdfast/wire"
import { Clock, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Profile, RetryStrategies } from "../src/index.ts"

const sleep: RetryStrategies.Sleep = (delay) => Effect.as(Effect.sleep(delay), { type: "elapsed" })

const overloaded: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true }

/** The sleeps against an endpoint that never recovers, until the strategy in scope gives up. */
const outlast = Effect.gen(function* () {
  const strategy = yield* RetryStrategy.RetryStrategy
  const startedAt = yield* Clock.currentTimeMillis
  const delays: Array<number> = []
  let sleptMs = 0
  for (;;) {
    const elapsedMs = (yield* Clock.currentTimeMillis) - startedAt
    const { delay } = RetryStrategy.decide(strategy, delays.length, overloaded, { sleptMs, elapsedMs, spread: 0 }) ?? {}
    if (delay === undefined) return { delays, elapsedMs }
    yield* strategy.sleep(delay)
    delays.push(Duration.toMillis(delay))
    sleptMs += Duration.toMillis(delay)
  }
})

/** Runs `outlast` with the clock moved past any budget. */
const nightOn = (strategy: RetryStrategy.RetryStrategy["Service"]) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(Effect.provideService(outlast, RetryStrategy.RetryStrategy, strategy))
    yield* TestClock.adjust("10 hours")
    return yield* Fiber.join(fiber)
  })

const night = (settings: Profile.RetrySettings) => nightOn(RetryStrategies.make(Profile.resolve(settings), sleep))

describe("RetryStrategies", () => {
  it.effect("rule D1: a run over the whole night sleeps 21 times, 7 h 31 min 45 s by the clock", () =>
    Effect.gen(function* () {
      const { delays, elapsedMs } = yield* night({})
      expect(delays).toHaveLength(21)
      expect(elapsedMs).toBe(27_105_000)
    })
  )

  it.effect("rule D1: its delayFor, sleep and budget alone are a strategy, with the same night", () =>
    Effect.gen(function* () {
      const { budget, delayFor } = RetryStrategies.make(Profile.resolve(), sleep)
      expect(yield* nightOn({ delayFor, sleep, budget })).toEqual(yield* night({}))
    })
  )

  it.effect("rule D1: with clip the same run sleeps 22 times, 8 h to the millisecond", () =>
    Effect.gen(function* () {
      const { delays, elapsedMs } = yield* night({ budget: { clip: true } })
      expect(delays).toHaveLength(22)
      expect(elapsedMs).toBe(28_800_000)
    })
  )

  it.effect("rule P4: an interactive run waits 2 s, 4 s and 8 s", () =>
    Effect.gen(function* () {
      const { delays } = yield* night({ profile: "interactive" })
      expect(delays).toEqual([2_000, 4_000, 8_000])
    })
  )

  it("rule D1: delayFor of the number alone is the printed schedule", () => {
    const { delayFor } = RetryStrategies.make(Profile.resolve(), sleep)
    const clipped = RetryStrategies.make(Profile.resolve({ budget: { clip: true } }), sleep)
    expect(delayFor(0)).toEqual(Duration.seconds(5))
    expect(delayFor(20)).toEqual(Duration.minutes(30))
    expect(delayFor(21)).toBeUndefined()
    expect(clipped.delayFor(21)).toEqual(Duration.seconds(1_695))
    expect(clipped.delayFor(22)).toBeUndefined()
  })

  it("its limits are those of the policy, and absent if there are none", () => {
    expect(RetryStrategies.make(Profile.profiles.overnight, sleep).budget).toEqual({
      totalMs: 28_800_000,
      measure: "scheduled"
    })
    expect(RetryStrategies.make(Profile.profiles.interactive, sleep).budget).toEqual({
      measure: "scheduled",
      maxRetries: 3
    })
  })
})
