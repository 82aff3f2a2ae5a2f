/** Laws of the turn loop, over generated scripts of failures, content and tools. */
import { assert } from "@effect/vitest"
import { Property, RecordingSink, Scenario, Setting, TestStrategy } from "@holdfast/kernel/testing"
import { defined, Target, type TurnEvent } from "@holdfast/wire"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import type { RetryStrategy } from "../src/ports/RetryStrategy.ts"
import * as Summary from "../src/internal/calls/Summary.ts"

const { prop } = Property

const setting = Setting.arbitrary

const run = (
  start: Scenario.Start,
  setting: Setting.Setting,
  { abort, toolMs = 0 }: { readonly abort?: Effect.Effect<void>; readonly toolMs?: number } = {}
) =>
  Effect.gen(function* () {
    const { maxTurns, scripts } = setting
    const sink = new RecordingSink.RecordingSink()
    const sleeper = new TestStrategy.TestStrategy({ delays: Setting.DELAYS })
    /** The last event that a client had received when each sleep began. */
    const toldBefore: Array<TurnEvent.TurnEvent | undefined> = []
    const service: RetryStrategy["Service"] = {
      ...sleeper.service,
      sleep: (delay, awaited) =>
        Effect.suspend(() => {
          toldBefore.push(sink.events.at(-1))
          return sleeper.service.sleep(delay, awaited)
        })
    }
    const toolbox = { definitions: [], run: () => Effect.as(Effect.sleep(toolMs), { output: "done", isError: false }) }
    const run = yield* start({
      scripts,
      sink,
      strategy: { service },
      toolbox,
      services: Setting.servicesOf(setting),
      ...defined({ abort }),
      ...(maxTurns === null ? {} : { limits: { maxTurns } })
    })
    // Everything due in a second runs before the next second begins: delays are whole seconds, and times are compared.
    for (yield* settled; run.fiber.pollUnsafe() === undefined; yield* settled) yield* TestClock.adjust("1 second")
    const end = yield* Fiber.join(run.fiber)
    return { ...run, end, toldBefore, sleeps: sleeper.sleeps }
  })

/** Lets all fibers run that need no time. */
const settled = Effect.repeat(
  Effect.promise(() => new Promise(setImmediate)),
  { times: 2 }
)

const onlyOnce = (events: ReadonlyArray<TurnEvent.TurnEvent>, type: TurnEvent.TurnEvent["type"]) =>
  events.filter((event) => event.type === type).length === 1

prop("a turn that runs again after every record has the same end and the same persisted events", setting, (setting) =>
  Effect.gen(function* () {
    const straight = yield* run(Scenario.straight, setting)
    // Both begin at the same moment, because timestamps are compared too.
    yield* TestClock.setTime(0)
    const again = yield* run(Scenario.replayed, setting)
    assert.deepStrictEqual(again.sink.persisted, straight.sink.persisted)
    assert.strictEqual(again.provider.requests.length, straight.provider.requests.length)
    assert.deepStrictEqual(again.sleeps, straight.sleeps)
    assert.strictEqual(again.sink.shown, straight.sink.shown)
  })
)

prop("rule D5: a turn seals once, last, and announces each sleep before it", setting, (setting) =>
  Effect.gen(function* () {
    const { sink, sleeps, end, provider, toldBefore } = yield* run(Scenario.straight, setting)
    assert.isTrue(onlyOnce(sink.events, "turn-end"))
    assert.strictEqual(sink.events.at(-1)?.type, "turn-end")
    // A retry that a router sends elsewhere at once is announced, and has no sleep.
    assert.deepStrictEqual(
      sink
        .of("provider-retry")
        .map((event) => event.delayMs)
        .filter((delayMs) => delayMs > 0),
      sleeps
    )
    // D5: the last event before a sleep is its own `provider-retry`.
    assert.deepStrictEqual(
      toldBefore.map((event) => (event?.type === "provider-retry" ? event.delayMs : event?.type)),
      sleeps
    )
    assert.strictEqual(end.attempts, provider.requests.length + sink.of("compaction").length)
    assert.strictEqual(sink.of("error").length, end.status === "failed" ? 1 : 0)
    assert.strictEqual(
      end.sleptMs,
      sleeps.reduce((sum, ms) => sum + ms, 0)
    )
  })
)

prop("rule D4: between two pieces of content of one step there is never a provider-retry", setting, (setting) =>
  Effect.gen(function* () {
    const { sink } = yield* run(Scenario.straight, setting)
    let spoken = false
    for (const event of sink.events) {
      // A complete response that is retried stays shown (A9).
      if (event.type === "step-start" || event.type === "message") spoken = false
      if (event.type === "text-delta" || event.type === "reasoning-delta") spoken = true
      assert.isFalse(spoken && event.type === "provider-retry")
    }
  })
)

prop("rule P11: every chain of retries that opens is closed once, before the seal", setting, (setting) =>
  Effect.gen(function* () {
    const { sink } = yield* run(Scenario.straight, setting)
    let open: number | undefined
    for (const event of sink.events) {
      if (event.type === "provider-retry") open = event.attempt
      if (event.type === "retry-end") {
        assert.strictEqual(event.attempt, open)
        open = undefined
      }
      if (event.type === "turn-end") assert.isUndefined(open)
    }
  })
)

prop("the messages hold exactly the text that was shown", setting, (setting) =>
  Effect.gen(function* () {
    const { sink } = yield* run(Scenario.straight, setting)
    const kept = sink
      .of("message")
      .flatMap(({ message }) => (message.role === "assistant" ? message.content : []))
      .map((part) => (part.type === "text" ? part.text : ""))
    assert.strictEqual(kept.join(""), sink.shown)
  })
)

prop("rule A15: no step has more attempts than its retries allow, plus one after a compaction", setting, (setting) =>
  Effect.gen(function* () {
    const { provider } = yield* run(Scenario.straight, setting)
    for (const [, attempts] of Map.groupBy(provider.requests, ({ step }) => step)) {
      assert.isAtMost(attempts.length, 1 + Setting.DELAYS.length + (setting.compacts ? 1 : 0))
      const numbers = attempts.map(({ attempt }) => attempt)
      assert.deepStrictEqual(
        numbers,
        [...new Set(numbers)].toSorted((a, b) => a - b)
      )
    }
  })
)

prop("rule P19: a summary comes first, and a step has one at most", setting, (setting) =>
  Effect.gen(function* () {
    const { provider, sink } = yield* run(Scenario.straight, setting)
    for (const { messages } of provider.requests) {
      const summaries = messages.filter(Summary.isSummary)
      assert.isAtMost(summaries.length, 1)
      if (summaries.length > 0) assert.deepStrictEqual(messages[0], summaries[0])
    }
    assert.isAtMost(sink.of("compaction").length, new Set(provider.requests.map(({ step }) => step)).size)
  })
)

prop("rule A15: a failed attempt leaves nothing in the model's context but the guidance", setting, (setting) =>
  Effect.gen(function* () {
    const { provider, sink } = yield* run(Scenario.straight, setting)
    const failed = new Set(
      sink
        .of("message")
        .flatMap(({ message }) => (message.role === "assistant" && message.error !== undefined ? [message.id] : []))
    )
    const told = sink.of("synthetic-retry").length + sink.of("final-turn").length + sink.of("compaction").length
    for (const { messages } of provider.requests) {
      assert.isFalse(messages.some(({ id }) => failed.has(id)))
      assert.isAtMost(messages.filter((message) => message.role === "user").length, 1 + told)
    }
  })
)

prop("rule A15: the final step offers the report alone, and nothing follows it", setting, (setting) =>
  Effect.gen(function* () {
    const { end, provider, sink } = yield* run(Scenario.straight, setting)
    const [final] = sink.of("final-turn")
    if (final === undefined) return
    assert.strictEqual(sink.of("final-turn").length, 1)
    const inIt = provider.requests.filter(({ step }) => step >= final.step)
    assert.isTrue(inIt.every(({ step }) => step === final.step))
    for (const { tools } of inIt) {
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        setting.wantsReport ? ["a"] : []
      )
    }
    if (setting.maxTurns !== null) assert.isAtMost(end.steps, setting.maxTurns)
  })
)

prop("rule A13, A14: a turn that needs a report ends with one, a valid one if it completed", setting, (setting) =>
  Effect.gen(function* () {
    const { end } = yield* run(Scenario.straight, setting)
    assert.strictEqual(end.report !== undefined, setting.wantsReport)
    if (setting.wantsReport) assert.strictEqual(end.report?.success, end.status === "completed")
  })
)

prop("rule P8: every message names the target that its attempt went to", setting, (setting) =>
  Effect.gen(function* () {
    const { sink } = yield* run(Scenario.straight, setting)
    let target = "test/model"
    for (const event of sink.events) {
      if (event.type === "model-change") {
        assert.strictEqual(event.from, target)
        target = event.to
      }
      if (event.type === "provider-retry") assert.strictEqual(event.target, target)
      if (event.type === "message" && event.message.role === "assistant") {
        assert.strictEqual(Target.format(event.message.target), target)
      }
    }
  })
)

prop("rule P8: a fallback that was applied succeeds once at most", setting, (setting) =>
  Effect.gen(function* () {
    const { sink } = yield* run(Scenario.straight, setting)
    let isProven = true
    for (const { type } of sink.events) {
      if (type === "retry-fallback-applied") isProven = false
      if (type !== "retry-fallback-succeeded") continue
      assert.isFalse(isProven)
      isProven = true
    }
  })
)

prop(
  "rule D8: an abort at any moment keeps every result once, and seals once",
  fc.record({ setting, abortMs: fc.integer({ min: 0, max: 8_500 }) }),
  ({ abortMs, setting }) =>
    Effect.gen(function* () {
      const { end, sink } = yield* run(Scenario.straight, setting, { abort: Effect.sleep(abortMs), toolMs: 500 })
      assert.isTrue(onlyOnce(sink.events, "turn-end"))
      assert.strictEqual(sink.events.at(-1)?.type, "turn-end")
      if (end.status === "aborted") assert.strictEqual(end.endedAt, abortMs)
      const messages = sink.of("message").map(({ message }) => message)
      const kept = messages.flatMap((message) => (message.role === "tool" ? message.content : []))
      assert.deepStrictEqual(
        kept.map(({ toolCallId }) => toolCallId),
        sink.of("tool-result").map(({ toolCallId }) => toolCallId)
      )
    })
)
