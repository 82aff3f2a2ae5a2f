import { expect, it } from "@effect/vitest"
import { Clock, Duration, Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Timer from "../src/Timer.ts"
import { LONGEST_CHUNK_MS } from "../src/Wait.ts"

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** Starts a sleep, and returns when it is suspended. */
const fallAsleep = (effect: Effect.Effect<void>) => Effect.forkChild(effect, { startImmediately: true })

/** Sleeps for a time from now, by the clock of the test or by that of its timer. */
const sleep = (timer: Timer.Timer["Service"], duration: Duration.Duration, clock?: Clock.Clock) =>
  Effect.flatMap(clock?.currentTimeMillis ?? Clock.currentTimeMillis, (now) =>
    timer.sleepUntil(now + Duration.toMillis(duration))
  )

const isAsleep = <A>(fiber: Fiber.Fiber<A>) => fiber.pollUnsafe() === undefined

/** Each has a timer of its own, except the long ones: their timer reads the clock 172,800 times in sixty days. */
for (const lengths of [
  [5000],
  [LONGEST_CHUNK_MS],
  [LONGEST_CHUNK_MS + 1],
  [30 * MINUTE],
  [2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, 60 * DAY]
]) {
  it.effect(`rule D11: a sleep of ${lengths.join(", ")} ms ends then, not a millisecond before`, () =>
    Effect.gen(function* () {
      const timer = yield* Timer.Timer
      const fibers = yield* Effect.forEach(lengths, (length) => fallAsleep(sleep(timer, Duration.millis(length))))
      for (const [index, fiber] of fibers.entries()) {
        const length = lengths[index] ?? 0
        yield* TestClock.setTime(length - 1)
        expect(isAsleep(fiber)).toBe(true)
        yield* TestClock.setTime(length)
        expect(yield* Fiber.await(fiber)).toEqual(Exit.void)
        expect(yield* Clock.currentTimeMillis).toBe(length)
      }
    }).pipe(Effect.provide(Timer.layer))
  )
}

it.effect("rule D11: a sleep ends at an absolute time, whenever it begins", () =>
  Effect.gen(function* () {
    const timer = yield* Timer.Timer
    yield* TestClock.adjust("40 seconds")
    const fiber = yield* fallAsleep(timer.sleepUntil(MINUTE))
    yield* TestClock.adjust("20 seconds")
    expect(yield* Fiber.await(fiber)).toEqual(Exit.void)
    yield* timer.sleepUntil(MINUTE)
    yield* sleep(timer, Duration.zero)
    expect(yield* Clock.currentTimeMillis).toBe(MINUTE)
  }).pipe(Effect.provide(Timer.layer))
)

it.effect("rule D11: one after the other, a schedule of sleeps adds up to the millisecond", () =>
  Effect.gen(function* () {
    const timer = yield* Timer.Timer
    const woken: Array<number> = []
    yield* fallAsleep(
      Effect.gen(function* () {
        for (const seconds of [5, 10, 30, 60, 300, 600, 900, 1800]) {
          yield* sleep(timer, Duration.seconds(seconds))
          woken.push(yield* Clock.currentTimeMillis)
        }
      })
    )
    yield* TestClock.adjust("2 hours")
    expect(woken).toEqual([5000, 15_000, 45_000, 105_000, 405_000, 1_005_000, 1_905_000, 3_705_000])
  }).pipe(Effect.provide(Timer.layer))
)

it.effect("sleepers wake in the order of their ends, whatever the order of their beginnings", () =>
  Effect.gen(function* () {
    const timer = yield* Timer.Timer
    const woken: Array<number> = []
    for (const end of [50_000, 10_000, 90_000, 10_001, 5]) {
      yield* fallAsleep(
        Effect.andThen(
          timer.sleepUntil(end),
          Effect.sync(() => void woken.push(end))
        )
      )
    }
    yield* TestClock.adjust("2 minutes")
    expect(woken).toEqual([5, 10_000, 10_001, 50_000, 90_000])
  }).pipe(Effect.provide(Timer.layer))
)

it.effect("rule D8: an interrupted sleep ends at once and leaves the others asleep", () =>
  Effect.gen(function* () {
    const timer = yield* Timer.Timer
    const first = yield* fallAsleep(sleep(timer, Duration.minutes(1)))
    const second = yield* fallAsleep(sleep(timer, Duration.minutes(2)))
    yield* Fiber.interrupt(first)
    yield* TestClock.adjust(2 * MINUTE - 1)
    expect(isAsleep(second)).toBe(true)
    yield* TestClock.adjust(1)
    expect(yield* Fiber.await(second)).toEqual(Exit.void)
  }).pipe(Effect.provide(Timer.layer))
)

it.effect("a sleep until infinity never ends, and a sleep until NaN dies", () =>
  Effect.gen(function* () {
    const timer = yield* Timer.Timer
    const fiber = yield* fallAsleep(sleep(timer, Duration.infinity))
    yield* TestClock.adjust(Duration.days(10_000))
    expect(isAsleep(fiber)).toBe(true)
    expect(Exit.hasDies(yield* Effect.exit(timer.sleepUntil(Number.NaN)))).toBe(true)
  }).pipe(Effect.provide(Timer.layer))
)

/** A manual clock: its wall time can be set, its monotonic time cannot, and it counts the sleeps under way. */
const handClock = () => {
  let wallMs = 1_750_000_000_000
  let monotonicMs = 0
  const sleeping = new Set<{ readonly atMs: number; readonly wake: () => void }>()
  let most = 0
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => wallMs,
    currentTimeMillis: Effect.sync(() => wallMs),
    currentTimeNanosUnsafe: () => BigInt(wallMs) * 1_000_000n,
    currentTimeNanos: Effect.sync(() => BigInt(wallMs) * 1_000_000n),
    monotonicTimeNanosUnsafe: () => BigInt(monotonicMs) * 1_000_000n,
    monotonicTimeNanos: Effect.sync(() => BigInt(monotonicMs) * 1_000_000n),
    sleep: (duration) =>
      Effect.callback<void>((resume) => {
        const entry = { atMs: monotonicMs + Duration.toMillis(duration), wake: () => resume(Effect.void) }
        sleeping.add(entry)
        most = Math.max(most, sleeping.size)
        return Effect.sync(() => void sleeping.delete(entry))
      })
  }
  const settle = Effect.repeat(Effect.yieldNow, { times: 5 })
  return {
    clock,
    setBy: (ms: number) => Effect.sync(() => void (wallMs += ms)),
    /** Advances both clocks, and wakes the sleepers that become due. */
    pass: (ms: number) =>
      Effect.gen(function* () {
        const end = monotonicMs + ms
        const step = (to: number) => {
          wallMs += to - monotonicMs
          monotonicMs = to
        }
        while (true) {
          const next = [...sleeping].sort((a, b) => a.atMs - b.atMs)[0]
          if (next === undefined || next.atMs > end) break
          step(next.atMs)
          sleeping.delete(next)
          next.wake()
          yield* settle
        }
        step(end)
      }),
    timers: () => sleeping.size,
    mostTimers: () => most
  }
}

const withHandClock = <A, E>(
  body: (hand: ReturnType<typeof handClock>, timer: Timer.Timer["Service"]) => Effect.Effect<A, E>
) =>
  Effect.suspend(() => {
    const hand = handClock()
    return Effect.flatMap(Timer.Timer, (timer) => body(hand, timer)).pipe(
      Effect.provide(Layer.provide(Timer.layer, Layer.succeed(Clock.Clock, hand.clock)))
    )
  })

it.live("rule X1: a clock that is set back an hour does not prolong a sleep", () =>
  withHandClock((hand, timer) =>
    Effect.gen(function* () {
      const fiber = yield* fallAsleep(sleep(timer, Duration.minutes(10), hand.clock))
      yield* hand.pass(5 * MINUTE)
      yield* hand.setBy(-60 * MINUTE)
      yield* hand.pass(5 * MINUTE - 1)
      expect(isAsleep(fiber)).toBe(true)
      yield* hand.pass(1)
      expect(yield* Fiber.await(fiber)).toEqual(Exit.void)
    })
  )
)

it.live(
  "rule D11: a callback with `aheadMs` is called when its time is near and again when it has come, whatever the clock is set to",
  () =>
    withHandClock((hand, timer) =>
      Effect.gen(function* () {
        const heard: Array<boolean> = []
        timer.at(hand.clock.currentTimeMillisUnsafe() + 10 * MINUTE, (isDue) => heard.push(isDue), MINUTE)
        yield* hand.pass(9 * MINUTE - 1)
        expect(heard).toEqual([])
        yield* hand.pass(1)
        expect(heard).toEqual([false])
        yield* hand.setBy(-60 * MINUTE)
        yield* hand.pass(MINUTE - 1)
        expect(heard).toEqual([false])
        yield* hand.pass(1)
        expect(heard).toEqual([false, true])
        expect(hand.timers()).toBe(0)
      })
    )
)

it.live(
  "rule D11: a callback with `aheadMs` is not called for a time that is over as if it were near, nor after its removal",
  () =>
    withHandClock((hand, timer) =>
      Effect.gen(function* () {
        const heard: Array<string> = []
        const at = (name: string, inMs: number) =>
          timer.at(
            hand.clock.currentTimeMillisUnsafe() + inMs,
            (isDue) => heard.push(`${name} ${isDue ? "has come" : "is near"}`),
            MINUTE
          )
        at("past", -5)
        at("soon", 30_000)
        const taken = at("taken", 30_000)
        yield* hand.pass(1)
        expect(heard).toEqual(["past has come", "soon is near", "taken is near"])
        taken()
        yield* hand.setBy(2 * MINUTE)
        yield* hand.pass(MINUTE)
        at("slept through", 10 * MINUTE)
        yield* hand.setBy(60 * MINUTE)
        yield* hand.pass(MINUTE)
        expect(heard.slice(3)).toEqual(["soon has come", "slept through has come"])
        expect(hand.timers()).toBe(0)
      })
    )
)

it.live("rule D11: a machine that was suspended past the end wakes its sleeper within 30 s", () =>
  withHandClock((hand, timer) =>
    Effect.gen(function* () {
      const fiber = yield* fallAsleep(sleep(timer, Duration.minutes(30), hand.clock))
      yield* hand.pass(MINUTE + 1)
      yield* hand.setBy(2 * 60 * MINUTE)
      expect(isAsleep(fiber)).toBe(true)
      yield* hand.pass(LONGEST_CHUNK_MS)
      expect(yield* Fiber.await(fiber)).toEqual(Exit.void)
    })
  )
)

it.live("rule X1: a sleep that begins after the clock was set is not delayed by sleeps that began before", () =>
  withHandClock((hand, timer) =>
    Effect.gen(function* () {
      const before = yield* fallAsleep(sleep(timer, Duration.minutes(10), hand.clock))
      yield* hand.setBy(-60 * MINUTE)
      const after = yield* fallAsleep(sleep(timer, Duration.minutes(1), hand.clock))
      yield* hand.pass(MINUTE)
      expect(yield* Fiber.await(after)).toEqual(Exit.void)
      expect(isAsleep(before)).toBe(true)
      yield* hand.pass(9 * MINUTE)
      expect(yield* Fiber.await(before)).toEqual(Exit.void)
    })
  )
)

it.live("ten thousand sleepers share one timer, and no timer is left after them", () =>
  withHandClock((hand, timer) =>
    Effect.gen(function* () {
      const fibers = yield* Effect.forEach(
        Array.from({ length: 10_000 }, (_, n) => n),
        (n) => fallAsleep(sleep(timer, Duration.millis(10 * MINUTE - n), hand.clock))
      )
      expect(hand.mostTimers()).toBe(1)
      yield* Effect.forEach(fibers.slice(0, 5000), Fiber.interrupt, { discard: true })
      expect(hand.timers()).toBe(1)
      yield* hand.pass(10 * MINUTE - 5000)
      yield* Fiber.awaitAll(fibers.slice(5000))
      expect(hand.timers()).toBe(0)
    })
  )
)

it.live("Timer.R2: interrupting a sleep ends its timer, and so does the end of the layer", () =>
  Effect.gen(function* () {
    const hand = handClock()
    yield* Effect.gen(function* () {
      const timer = yield* Timer.Timer
      const fiber = yield* fallAsleep(sleep(timer, Duration.minutes(10), hand.clock))
      expect(hand.timers()).toBe(1)
      yield* Fiber.interrupt(fiber)
      expect(hand.timers()).toBe(0)
      yield* fallAsleep(sleep(timer, Duration.minutes(10), hand.clock))
    }).pipe(Effect.provide(Layer.provide(Timer.layer, Layer.succeed(Clock.Clock, hand.clock))), Effect.scoped)
    expect(hand.timers()).toBe(0)
  })
)
