/** What the record of a wait says, and what becomes of a wait that asks. */
import { assert, describe, it } from "@effect/vitest"
import type { RetryStrategy } from "@holdfast/kernel"
import { ReplayCheckpoint, Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"

const { answer, call, emits, overloaded, tools } = ScriptedProvider

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

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Asks once the step has waited for an hour, for an answer within 8. */
class Guard {
  readonly outlooks: Array<RetryStrategy.Outlook> = []
  readonly strategy: TestStrategy.TestStrategy

  constructor(delays: ReadonlyArray<number>) {
    this.strategy = new TestStrategy.TestStrategy({
      delays,
      ask: (outlook) => {
        this.outlooks.push(outlook)
        return outlook.waitedMs < HOUR ? undefined : { asks: questionAfter(outlook.waitedMs), answerWithinMs: 8 * HOUR }
      }
    })
  }
}

const questionAfter = (waitedMs: number) => ({
  because: "request" as const,
  tokens: 9,
  limit: 1,
  waitedMs,
  message: "May it go on?"
})

/** A turn that has waited for an hour, and asks. */
const asking = (start: Scenario.Start, delays: ReadonlyArray<number> = [HOUR, MINUTE, MINUTE]) =>
  Effect.gen(function* () {
    const guard = new Guard(delays)
    const scripts = [emits(overloaded), answer("ok")]
    const run = yield* start({ scripts, strategy: guard.strategy })
    yield* TestClock.adjust(Duration.hours(1))
    return { ...run, ...guard }
  })

const now: RetryStrategy.Wake = { type: "now", by }

describe("a wait that asks", () => {
  Scenario.bothWays("X11: says so when its time is up, and makes no attempt meanwhile", (start) =>
    Effect.gen(function* () {
      const { provider, sink } = yield* asking(start)
      yield* TestClock.adjust(Duration.hours(7))
      const { message, reason } = overloaded
      const told = sink.of("provider-retry").map(({ asks, delayMs, message, reason, retryAt }) => ({
        ...(asks === undefined ? {} : { asks }),
        delayMs,
        message,
        reason,
        retryAt
      }))
      assert.deepStrictEqual(told, [
        { delayMs: HOUR, message, reason, retryAt: HOUR },
        { asks: questionAfter(HOUR), delayMs: 9 * HOUR, message, reason, retryAt: 9 * HOUR }
      ])
      assert.strictEqual(provider.requests.length, 1)
      assert.strictEqual(sink.of("retry-end").length, 0)
    })
  )

  Scenario.bothWays("X11: retry-now is the answer that goes on", (start) =>
    Effect.gen(function* () {
      const { fiber, provider, strategy } = yield* asking(start)
      yield* strategy.wake(now)
      assert.strictEqual((yield* Fiber.join(fiber)).status, "completed")
      assert.strictEqual(provider.requests.length, 2)
    })
  )

  Scenario.bothWays("X11: abort-retry is the answer that gives up", (start) =>
    Effect.gen(function* () {
      const { fiber, provider, sink, strategy } = yield* asking(start)
      yield* strategy.wake({ type: "cancelled", by })
      assert.strictEqual((yield* Fiber.join(fiber)).error?.message, overloaded.message)
      assert.deepStrictEqual(
        sink.of("retry-end").map(({ finalError }) => finalError),
        ["Retry cancelled"]
      )
      assert.strictEqual(provider.requests.length, 1)
    })
  )

  Scenario.bothWays("X11: switch-target is the answer that goes on elsewhere", (start) =>
    Effect.gen(function* () {
      const { fiber, provider, strategy } = yield* asking(start)
      const target = { provider: "other", model: "small" }
      yield* strategy.wake({ type: "switched", target, by })
      assert.strictEqual((yield* Fiber.join(fiber)).status, "completed")
      assert.deepStrictEqual(provider.requests[1]?.target, target)
    })
  )

  Scenario.bothWays("X11: wait-until is the answer that goes on then, without another question", (start) =>
    Effect.gen(function* () {
      const { fiber, provider, sink, strategy } = yield* asking(start)
      yield* strategy.wake({ type: "until", until: 20 * HOUR, by })
      yield* TestClock.adjust(Duration.hours(18))
      assert.strictEqual(provider.requests.length, 1)
      const last = sink.of("provider-retry").at(-1)
      assert.deepStrictEqual([last?.retryAt, last?.asks], [20 * HOUR, undefined])
      yield* TestClock.adjust(Duration.hours(1))
      assert.strictEqual((yield* Fiber.join(fiber)).status, "completed")
    })
  )

  Scenario.bothWays("X11: more budget is no answer", (start) =>
    Effect.gen(function* () {
      const { provider, sink, strategy } = yield* asking(start)
      yield* strategy.wake({ type: "extended", byMs: HOUR, by })
      yield* TestClock.adjust(Duration.hours(1))
      assert.strictEqual(provider.requests.length, 1)
      assert.strictEqual(sink.of("provider-retry").at(-1)?.asks?.message, "May it go on?")
    })
  )

  Scenario.bothWays(
    "X11: without an answer in time the turn fails, and says what was asked and what had failed",
    (start) =>
      Effect.gen(function* () {
        const { fiber, provider, sink } = yield* asking(start)
        yield* TestClock.adjust(Duration.hours(8))
        const end = yield* Fiber.join(fiber)
        const message = `May it go on? Nobody answered within 8h. The last error was: ${overloaded.message}`
        assert.deepStrictEqual(end.error, { reason: "overloaded", message, retryable: false })
        assert.deepStrictEqual([end.status, end.endedAt, end.attempts], ["failed", 9 * HOUR, 1])
        assert.deepStrictEqual(
          sink.of("retry-end").map(({ attempt, finalError, success }) => ({ attempt, finalError, success })),
          [{ attempt: 0, finalError: message, success: false }]
        )
        assert.strictEqual(provider.requests.length, 1)
      })
  )

  Scenario.bothWays("X11: whatever wakes it before its time does not end it", (start) =>
    Effect.gen(function* () {
      const { fiber, provider, sink, strategy } = yield* asking(start)
      yield* TestClock.adjust(Duration.hours(1))
      yield* strategy.wake({ type: "elapsed" })
      yield* TestClock.adjust(Duration.hours(1))
      assert.strictEqual(provider.requests.length, 1)
      assert.strictEqual(sink.of("turn-end").length, 0)
      yield* strategy.wake(now)
      assert.strictEqual((yield* Fiber.join(fiber)).status, "completed")
    })
  )

  Scenario.bothWays("X11: the waits of a step add up, and begin anew when a person has had a say", (start) =>
    Effect.gen(function* () {
      const half = HOUR / 2
      const guard = new Guard([half, half, half, half, half])
      const scripts = [...Array.from({ length: 5 }, () => emits(overloaded)), answer("ok")]
      const { fiber, sink } = yield* start({ scripts, strategy: guard.strategy })
      yield* TestClock.adjust(Duration.hours(1))
      const asked = () => sink.of("provider-retry").filter(({ asks }) => asks !== undefined).length
      assert.strictEqual(asked(), 1)
      yield* guard.strategy.wake(now)
      yield* TestClock.adjust(Duration.minutes(30))
      assert.strictEqual(asked(), 1)
      yield* TestClock.adjust(Duration.minutes(30))
      assert.strictEqual(asked(), 2)
      yield* guard.strategy.wake(now)
      yield* TestClock.adjust(Duration.minutes(30))
      assert.strictEqual((yield* Fiber.join(fiber)).status, "completed")
    })
  )

  it.effect("X11: a wait counts as long as it was, however late it is woken", () =>
    Effect.gen(function* () {
      const guard = new Guard([MINUTE])
      const replay = new ReplayCheckpoint.ReplayCheckpoint()
      const scripts = [emits(overloaded), answer("ok")]
      const first = yield* Scenario.replayed({ scripts, strategy: guard.strategy, replay })
      yield* Fiber.interrupt(first.fiber)
      yield* TestClock.adjust(Duration.hours(5))
      yield* Scenario.replayed({ scripts, strategy: guard.strategy, replay, sink: first.sink })
      yield* TestClock.adjust(Duration.millis(1))
      assert.strictEqual(first.sink.of("provider-retry").at(-1)?.asks?.waitedMs, 5 * HOUR)
    })
  )

  it.effect("X11: what is asked about is the request that would be sent, and what the turn has used", () =>
    Effect.gen(function* () {
      const guard = new Guard([MINUTE])
      const scripts = [tools(call("look")), emits(overloaded), answer("ok")]
      const { fiber, provider } = yield* Scenario.straight({ scripts, strategy: guard.strategy })
      yield* TestClock.adjust(Duration.minutes(1))
      yield* Fiber.join(fiber)
      const { messages, target, tools: offered } = provider.requests[2] ?? assert.fail("there was no retry")
      assert.deepStrictEqual(guard.outlooks, [
        {
          waitedMs: MINUTE,
          usage: { inputTokens: 10, outputTokens: 5 },
          request: { system: undefined, messages, target, tools: offered }
        }
      ])
    })
  )
})
