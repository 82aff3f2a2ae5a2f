/** The records of waits, and waits that ask a person. */
import { defined, type TurnEvent } from "@holdfast/wire"
import { assert, describe, it } from "@effect/vitest"
import type { RetryStrategy } from "@holdfast/kernel"
import { Property, ReplayCheckpoint, Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Clock, Duration, Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { endsWait, type Wake, Wake as WakeSchema } from "../src/ports/RetryStrategy.ts"

const { answer, call, emits, overloaded, tools } = ScriptedProvider

const by = { commandId: "k1", origin: "a test" }

describe("the record of a wait", () => {
  it.effect("rule X9: has the time at which each of its wakes was received, and its command", () =>
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

describe("a command during a wait", () => {
  it("rule X4: moves its end, adds to the budget or asks, or ends it", () => {
    const wakes: ReadonlyArray<readonly [Wake, boolean]> = [
      [{ type: "elapsed" }, true],
      [{ type: "now" }, true],
      [{ type: "cancelled" }, true],
      [{ type: "switched", target: Scenario.target }, true],
      [{ type: "until", until: 1 }, false],
      [{ type: "extended", byMs: 1 }, false],
      [{ type: "asked", asks: questionAfter(1), until: 1 }, false],
      [{ type: "answered", toolCallId: "c", approved: true, by }, false]
    ]
    for (const [wake, ends] of wakes) assert.strictEqual(endsWait(wake), ends, wake.type)
  })
})

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Asks once the step has waited for an hour, with 8 hours for the answer. */
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
  Scenario.bothWays("rule X11: asks when its time is over, and makes no attempt meanwhile", (start) =>
    Effect.gen(function* () {
      const { provider, sink } = yield* asking(start)
      yield* TestClock.adjust(Duration.hours(7))
      const { message, reason } = overloaded
      const told = sink.of("provider-retry").map(({ asks, delayMs, message, reason, retryAt }) => ({
        ...defined({ asks }),
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

  Scenario.bothWays("rule X11: retry-now is the answer that continues", (start) =>
    Effect.gen(function* () {
      const { fiber, provider, strategy } = yield* asking(start)
      yield* strategy.wake(now)
      assert.strictEqual((yield* Fiber.join(fiber)).status, "completed")
      assert.strictEqual(provider.requests.length, 2)
    })
  )

  Scenario.bothWays("rule X11: abort-retry is the answer that gives up", (start) =>
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

  Scenario.bothWays("rule X11: switch-target is the answer that continues on another target", (start) =>
    Effect.gen(function* () {
      const { fiber, provider, strategy } = yield* asking(start)
      const target = { provider: "other", model: "small" }
      yield* strategy.wake({ type: "switched", target, by })
      assert.strictEqual((yield* Fiber.join(fiber)).status, "completed")
      assert.deepStrictEqual(provider.requests[1]?.target, target)
    })
  )

  Scenario.bothWays(
    "rule X11: wait-until is the answer that continues at its time, without another question",
    (start) =>
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

  Scenario.bothWays("rule X11: more budget is no answer", (start) =>
    Effect.gen(function* () {
      const { provider, sink, strategy } = yield* asking(start)
      yield* strategy.wake({ type: "extended", byMs: HOUR, by })
      yield* TestClock.adjust(Duration.hours(1))
      assert.strictEqual(provider.requests.length, 1)
      assert.strictEqual(sink.of("provider-retry").at(-1)?.asks?.message, "May it go on?")
    })
  )

  Scenario.bothWays(
    "rule X11: without an answer in time the turn fails, and its message has the question and the failure",
    (start) =>
      Effect.gen(function* () {
        const { fiber, provider, sink } = yield* asking(start)
        yield* TestClock.adjust(Duration.hours(8))
        const end = yield* Fiber.join(fiber)
        const message = `May it go on? Nobody answered within 8 h. The last error was: ${overloaded.message}`
        assert.deepStrictEqual(end.error, { reason: "overloaded", message, retryable: false })
        assert.deepStrictEqual([end.status, end.endedAt, end.attempts], ["failed", 9 * HOUR, 1])
        assert.deepStrictEqual(
          sink.of("retry-end").map(({ attempt, finalError, success }) => ({ attempt, finalError, success })),
          [{ attempt: 0, finalError: message, success: false }]
        )
        assert.strictEqual(provider.requests.length, 1)
      })
  )

  Scenario.bothWays("rule X11: an early wake does not end it", (start) =>
    Effect.gen(function* () {
      const { fiber, provider, sink, strategy } = yield* asking(start)
      yield* TestClock.adjust(Duration.hours(1))
      yield* strategy.wake({ type: "elapsed" })
      yield* TestClock.adjust(Duration.hours(1))
      yield* strategy.wake({ type: "now", early: true, by })
      yield* TestClock.adjust(Duration.hours(1))
      assert.strictEqual(provider.requests.length, 1)
      assert.strictEqual(sink.of("turn-end").length, 0)
      yield* strategy.wake(now)
      assert.strictEqual((yield* Fiber.join(fiber)).status, "completed")
    })
  )

  Scenario.bothWays("rule X11: the waits of a step add up, and begin anew after a person's command", (start) =>
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
      assert.deepStrictEqual(
        sink.of("provider-retry").flatMap(({ asks }) => (asks === undefined ? [] : [asks.waitedMs])),
        [HOUR, HOUR]
      )
      yield* guard.strategy.wake(now)
      yield* TestClock.adjust(Duration.minutes(30))
      assert.strictEqual((yield* Fiber.join(fiber)).status, "completed")
    })
  )

  Scenario.bothWays("rule X11: the waits of a step begin anew after a person has switched its target", (start) =>
    Effect.gen(function* () {
      const guard = new Guard([30 * MINUTE, 30 * MINUTE, 45 * MINUTE, 45 * MINUTE])
      const scripts = [...Array.from({ length: 4 }, () => emits(overloaded)), answer("ok")]
      const { fiber, sink } = yield* start({ scripts, strategy: guard.strategy })
      yield* TestClock.adjust(Duration.minutes(50))
      yield* guard.strategy.wake({ type: "switched", target: { provider: "other", model: "big" }, by })
      yield* TestClock.adjust(Duration.minutes(45))
      yield* TestClock.adjust(Duration.minutes(45))
      assert.deepStrictEqual(
        sink.of("provider-retry").flatMap(({ asks }) => (asks === undefined ? [] : [asks.waitedMs])),
        [90 * MINUTE]
      )
      yield* guard.strategy.wake(now)
      assert.strictEqual((yield* Fiber.join(fiber)).status, "completed")
    })
  )

  Scenario.bothWays("rule X11, X5: a wait that the shell ends early asks too, and is no answer", (start) =>
    Effect.gen(function* () {
      const { strategy } = new Guard([2 * HOUR])
      const scripts = [emits(overloaded), emits(overloaded), answer("ok")]
      const { fiber, provider, sink } = yield* start({ scripts, strategy })
      yield* TestClock.adjust(Duration.minutes(58))
      yield* strategy.wake({ type: "now", early: true, by })
      yield* TestClock.adjust(Duration.minutes(2))
      assert.strictEqual(provider.requests.length, 2)
      yield* strategy.wake({ type: "now", early: true, by })
      yield* TestClock.adjust(Duration.minutes(1))
      assert.strictEqual(provider.requests.length, 2)
      assert.strictEqual(sink.of("provider-retry").at(-1)?.asks?.waitedMs, HOUR)
      yield* strategy.wake(now)
      assert.strictEqual((yield* Fiber.join(fiber)).status, "completed")
    })
  )

  it.effect("rule X11: a wait counts as long as it was, however late it is woken", () =>
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

  it.effect("rule X11: the question is about the next request, and the usage of the turn", () =>
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

/** The course of one sleep: it elapses, or a command or the shell changes it half-way. */
type Deed = "elapses" | "now" | "early" | "let in" | "extended" | "until"

const night = fc.record({
  delays: fc.array(fc.constantFrom(10 * MINUTE, 30 * MINUTE, HOUR), { maxLength: 6 }),
  deeds: fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constant<Deed>("elapses") },
      fc.constantFrom<Deed>("now", "early", "let in", "extended", "until")
    ),
    { maxLength: 20, size: "max" }
  )
})

/** Runs a turn through a night of failures, with a guard that asks after an hour of waiting. */
const sleepThrough = (
  start: Scenario.Start,
  { deeds, delays }: { readonly deeds: ReadonlyArray<Deed>; readonly delays: ReadonlyArray<number> },
  replay?: ReplayCheckpoint.ReplayCheckpoint
) =>
  Effect.gen(function* () {
    let sleeps = 0
    const { strategy } = new Guard(delays)
    const sleep: RetryStrategy.RetryStrategy["Service"]["sleep"] = (delay) => {
      const deed = deeds[sleeps++] ?? "elapses"
      const half = Duration.millis(Math.floor(Duration.toMillis(delay) / 2))
      switch (deed) {
        case "elapses":
          return Effect.as(Effect.sleep(delay), { type: "elapsed" })
        case "early":
          return Effect.as(Effect.sleep(half), { type: "elapsed" })
        case "now":
          return Effect.as(Effect.sleep(half), now)
        case "let in":
          return Effect.as(Effect.sleep(half), { type: "now", early: true, by })
        case "extended":
          return Effect.as(Effect.sleep(half), { type: "extended", byMs: 1, by })
        case "until":
          return Effect.map(Effect.andThen(Effect.sleep(half), Clock.currentTimeMillis), (at) => ({
            type: "until",
            until: at + 20 * MINUTE,
            by
          }))
        default:
          return deed satisfies never
      }
    }
    const run = yield* start({
      scripts: [...delays.map(() => emits(overloaded)), answer("ok")],
      strategy: { service: { ...strategy.service, sleep } },
      ...defined({ replay })
    })
    yield* TestClock.adjust(Duration.days(9))
    return { ...run, end: yield* Fiber.join(run.fiber) }
  })

/** The parts of each wait of a step, in order. */
const waitsOf = (records: ReadonlyMap<string, unknown>): ReadonlyArray<ReadonlyArray<Wake>> => {
  const waits = new Map<string, Array<Wake>>()
  for (const [name, value] of records) {
    const [wait] = /^step\/0\/sleep\/\d+/.exec(name) ?? []
    if (wait !== undefined) waits.set(wait, [...(waits.get(wait) ?? []), Schema.decodeUnknownSync(WakeSchema)(value)])
  }
  return Array.from(waits.values())
}

const textOf = ({ asks, attempt, retryAt }: TurnEvent.ProviderRetry): string =>
  JSON.stringify({ asks, attempt, retryAt })

describe("the laws of waits that ask", () => {
  Property.prop(
    "rule X11: a turn that runs again after every record asks the same and has the same end",
    night,
    (night) =>
      Effect.gen(function* () {
        const straight = yield* sleepThrough(Scenario.straight, night)
        yield* TestClock.setTime(0)
        const again = yield* sleepThrough(Scenario.replayed, night)
        assert.deepStrictEqual(again.sink.persisted, straight.sink.persisted)
        // Another life announces its wait, too (D5).
        assert.deepStrictEqual(
          new Set(again.sink.of("provider-retry").map(textOf)),
          new Set(straight.sink.of("provider-retry").map(textOf))
        )
        assert.strictEqual(again.provider.requests.length, straight.provider.requests.length)
      })
  )

  Property.prop(
    "rule X11: by the records alone, no turn continues after an hour of waiting without a person's command",
    night,
    (night) =>
      Effect.gen(function* () {
        const replay = new ReplayCheckpoint.ReplayCheckpoint()
        const { end, provider } = yield* sleepThrough(Scenario.replayed, night, replay)
        let attempts = 1
        let waitedMs = 0
        let since = 0
        for (const wakes of waitsOf(replay.records)) {
          const last = wakes.at(-1)
          const isOfItself = last?.type === "elapsed" || (last?.type === "now" && last.early === true)
          const until = last?.at ?? assert.fail("a wait has no end")
          const lastMs = waitedMs + until - since
          since = until
          const question = wakes.findIndex(({ type }) => type === "asked")
          const isAnswered = question >= 0 && wakes.slice(question).some(({ type }) => type === "until")
          assert.isAtMost(wakes.filter(({ type }) => type === "asked").length, 1)
          if (last?.type === "elapsed" && question >= 0 && !isAnswered) {
            assert.match(end.error?.message ?? "", /Nobody answered within 8 h/)
            continue
          }
          if (isOfItself && !isAnswered) assert.isBelow(lastMs, HOUR)
          waitedMs = !isOfItself || isAnswered ? 0 : lastMs
          attempts++
        }
        assert.strictEqual(provider.requests.length, attempts)
      })
  )
})
