/** Laws of the turn loop, over generated scripts of failures, content and tools. */
import { assert } from "@effect/vitest"
import { Property, Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import type { TurnEvent } from "@holdfast/wire"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import type { ProviderEvent } from "../src/Provider.ts"

const { prop } = Property

const content: fc.Arbitrary<ProviderEvent> = fc.oneof(
  fc.string({ maxLength: 3 }).map(ScriptedProvider.text),
  fc.string({ maxLength: 3 }).map((delta): ProviderEvent => ({ type: "reasoning-delta", delta })),
  fc.constant<ProviderEvent>({ type: "reasoning-end", signature: "s" }),
  fc.constant<ProviderEvent>({ type: "usage", usage: { outputTokens: 1 } })
)

const failure = fc.constantFrom(
  ScriptedProvider.overloaded,
  ScriptedProvider.badGateway,
  ScriptedProvider.unauthorized,
  { ...ScriptedProvider.unauthorized, reason: "aborted" as const }
)

const failing = fc
  .tuple(fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(content, { maxLength: 3 })), failure, fc.nat(3))
  .map(([before, failure, how]) => {
    if (how === 0) return ScriptedProvider.throws(failure, ...before)
    if (how === 1) return ScriptedProvider.dies("bug", ...before)
    return how === 2 ? ScriptedProvider.breaksOff(...before) : ScriptedProvider.emits(failure, ...before)
  })

const asking = fc
  .uniqueArray(fc.constantFrom("a", "b", "c"), { minLength: 1 })
  .map((names) => ScriptedProvider.tools(...names.map((name) => ScriptedProvider.call(name))))

const answering = fc
  .array(fc.string({ maxLength: 4 }), { maxLength: 4 })
  .map((deltas) => ScriptedProvider.answer(...deltas))

const scripts = fc
  .tuple(fc.array(fc.oneof(failing, asking), { maxLength: 8 }), answering)
  .map(([before, last]) => [...before, last])

const run = (start: Scenario.Start, scripts: ReadonlyArray<ScriptedProvider.Script>) =>
  Effect.gen(function* () {
    const strategy = new TestStrategy.TestStrategy({ delays: [1_000, 2_000, 3_000] })
    const toolbox = { definitions: [], run: () => Effect.succeed({ output: "done", isError: false }) }
    const run = yield* start({ scripts, strategy, toolbox })
    yield* TestClock.adjust("1 hour")
    const end = yield* Fiber.join(run.fiber)
    return { ...run, end, strategy }
  })

const onlyOnce = (events: ReadonlyArray<TurnEvent.TurnEvent>, type: TurnEvent.TurnEvent["type"]) =>
  events.filter((event) => event.type === type).length === 1

prop("a turn run again after every record comes to the same end and persists the same", scripts, (scripts) =>
  Effect.gen(function* () {
    const straight = yield* run(Scenario.straight, scripts)
    // Both begin at the same moment: timestamps are part of what must be equal.
    yield* TestClock.setTime(0)
    const again = yield* run(Scenario.replayed, scripts)
    assert.deepStrictEqual(again.sink.persisted, straight.sink.persisted)
    assert.strictEqual(again.provider.requests.length, straight.provider.requests.length)
    assert.deepStrictEqual(again.strategy.sleeps, straight.strategy.sleeps)
    assert.strictEqual(again.sink.shown, straight.sink.shown)
  })
)

prop("a turn seals once, last, and tells of each sleep before it", scripts, (scripts) =>
  Effect.gen(function* () {
    const { sink, strategy, end, provider } = yield* run(Scenario.straight, scripts)
    assert.isTrue(onlyOnce(sink.events, "turn-end"))
    assert.strictEqual(sink.events.at(-1)?.type, "turn-end")
    assert.deepStrictEqual(
      sink.of("provider-retry").map((event) => event.delayMs),
      strategy.sleeps
    )
    assert.strictEqual(end.attempts, provider.requests.length)
    assert.strictEqual(sink.of("error").length, end.status === "failed" ? 1 : 0)
    assert.strictEqual(
      end.sleptMs,
      strategy.sleeps.reduce((sum, ms) => sum + ms, 0)
    )
  })
)

prop("D4: between two pieces of content of one step there is never a provider-retry", scripts, (scripts) =>
  Effect.gen(function* () {
    const { sink } = yield* run(Scenario.straight, scripts)
    let spoken = false
    for (const event of sink.events) {
      if (event.type === "step-start") spoken = false
      if (event.type === "text-delta" || event.type === "reasoning-delta") spoken = true
      assert.isFalse(spoken && event.type === "provider-retry")
    }
  })
)

prop("P11: every chain of retries that opens is closed once, before the seal", scripts, (scripts) =>
  Effect.gen(function* () {
    const { sink } = yield* run(Scenario.straight, scripts)
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

prop("what was shown as text is what the messages hold", scripts, (scripts) =>
  Effect.gen(function* () {
    const { sink } = yield* run(Scenario.straight, scripts)
    const kept = sink
      .of("message")
      .flatMap(({ message }) => (message.role === "assistant" ? message.content : []))
      .map((part) => (part.type === "text" ? part.text : ""))
    assert.strictEqual(kept.join(""), sink.shown)
  })
)
