/** Processes that die between the beginning of an effect and its result. */
import { assert, describe, it } from "@effect/vitest"
import { Life, Property, RecordingSink, Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import type { TurnEvent } from "@holdfast/wire"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import type { EventSink } from "../src/ports/EventSink.ts"
import type { ToolDefinition } from "../src/ports/Toolbox.ts"

const { answer, call, emits, overloaded, text, tools } = ScriptedProvider

const strategy = () => new TestStrategy.TestStrategy({ delays: [1_000, 2_000] })

/** Dies `times` times, each time after an effect with such a name and before its result is recorded. */
const dying = (name: RegExp, times = 1) => {
  let left = times
  return Scenario.dying((done) => name.test(done) && left-- > 0)
}

const ATTEMPT = /\/attempt\/\d+$/
const TOOL = /\/tool\/\d+$/

/** The text that a client has assembled in the end: for each step the text since its last `step-start` or `step-discarded`. */
const assembled = (events: ReadonlyArray<TurnEvent.TurnEvent>): string => {
  let finished = ""
  let current = ""
  for (const event of events) {
    if (event.type === "text-delta") current += event.delta
    if (event.type === "step-start" || event.type === "step-discarded") current = ""
    if (event.type === "message") {
      finished += current
      current = ""
    }
  }
  return finished
}

describe("a process that dies when content has left", () => {
  it.effect("rule X2: emits `step-discarded` before the new attempt's first content", () =>
    Effect.gen(function* () {
      const run = yield* dying(ATTEMPT)({ scripts: [answer("Hel", "lo"), answer("Hel", "lo")] })
      const end = yield* Scenario.settle(run)
      assert.strictEqual(end.status, "completed")
      assert.strictEqual(run.sink.shown, "HelloHello")
      assert.deepStrictEqual(run.sink.types.slice(2, 7), [
        "step-start",
        "text-delta",
        "step-discarded",
        "step-start",
        "text-delta"
      ])
      assert.strictEqual(assembled(run.sink.events), "Hello")
      assert.strictEqual(run.sink.of("step-discarded").length, 1)
    })
  )

  it.effect("rule X2, X3: the life that resumes it voids the shown text, then emits `step-start`", () =>
    Effect.gen(function* () {
      const world: Life.World = {
        scripts: [answer("Hel", "lo")],
        delays: [],
        wakeOf: () => undefined,
        tools: [],
        tookMs: () => 0
      }
      const first = yield* Life.live([], world)
      const mark = first.log.findIndex((entry) => entry._tag === "Record" && entry.name.endsWith("/content"))
      const shown = first.log.findIndex((entry) => entry._tag === "Live" && entry.event.type === "text-delta")
      assert.isTrue(mark >= 0 && mark < shown)
      const second = yield* Life.live(first.log.slice(0, shown + 1), world)
      const told = second.log
        .slice(shown + 1)
        .flatMap((entry) =>
          entry._tag === "Live"
            ? [entry.event.type]
            : entry._tag === "Persist"
              ? entry.events.map(({ type }) => type)
              : []
        )
      assert.deepStrictEqual(told.slice(0, 3), ["step-discarded", "step-start", "text-delta"])
      assert.strictEqual(second.end.status, "completed")
    })
  )

  it.effect("rule X2: an abort during `step-discarded` does not emit it twice", () =>
    Effect.gen(function* () {
      const [isSaying, goOn, abort] = [
        yield* Deferred.make<void>(),
        yield* Deferred.make<void>(),
        yield* Deferred.make<void>()
      ]
      const recording = new RecordingSink.RecordingSink()
      const { service } = recording
      const sink = Object.assign(recording, {
        service: {
          ...service,
          persist: (events, position) =>
            events.some(({ type }) => type === "step-discarded")
              ? Deferred.succeed(isSaying, undefined).pipe(
                  Effect.andThen(Deferred.await(goOn)),
                  Effect.andThen(service.persist(events, position))
                )
              : service.persist(events, position)
        } satisfies EventSink["Service"]
      })
      const run = yield* dying(ATTEMPT)({ scripts: [answer("Hello")], sink, abort: Deferred.await(abort) })
      yield* Deferred.await(isSaying)
      yield* Deferred.succeed(abort, undefined)
      yield* Deferred.succeed(goOn, undefined)
      assert.strictEqual((yield* Fiber.join(run.fiber)).status, "aborted")
      assert.strictEqual(sink.of("step-discarded").length, 1)
    })
  )

  it.effect("rule X2: costs the schedule nothing", () =>
    Effect.gen(function* () {
      const retry = strategy()
      const lost = /attempt\/1$/
      const run = yield* dying(lost)({
        scripts: [emits(overloaded), answer("lost"), emits(overloaded), answer("kept")],
        strategy: retry
      })
      const end = yield* Scenario.settle(run)
      assert.strictEqual(end.status, "completed")
      assert.deepStrictEqual(
        run.sink.of("provider-retry").map(({ attempt }) => attempt),
        [0, 1]
      )
      assert.deepStrictEqual(retry.sleeps, [1_000, 2_000])
    })
  )

  it.effect("rule X3: every process that makes an attempt of a step emits `step-start`, once", () =>
    Effect.gen(function* () {
      const scripts = [emits(overloaded), emits(overloaded), answer("ok")]
      const began = (run: Scenario.Run) =>
        run.sink.types.filter((type) => type === "step-start" || type === "provider-retry")
      const straight = yield* Scenario.straight({ scripts, strategy: strategy() })
      yield* Scenario.settle(straight)
      assert.deepStrictEqual(began(straight), ["step-start", "provider-retry", "provider-retry"])
      // Each life makes one attempt here; a life that only sleeps emits no `step-start`.
      const replayed = yield* Scenario.replayed({ scripts, strategy: strategy() })
      yield* Scenario.settle(replayed)
      assert.deepStrictEqual(began(replayed), [
        "step-start",
        "provider-retry",
        "step-start",
        "provider-retry",
        "step-start"
      ])
      assert.strictEqual(assembled(replayed.sink.events), "ok")
    })
  )

  it.effect("an attempt that had shown nothing is made again", () =>
    Effect.gen(function* () {
      const run = yield* Scenario.replayed({ scripts: [emits(overloaded), answer("ok")], strategy: strategy() })
      yield* Scenario.settle(run)
      assert.deepStrictEqual(run.sink.of("step-discarded"), [])
    })
  )

  Property.prop(
    "rule D4: across crashes, a client assembles the answer, once",
    fc.tuple(fc.array(fc.string({ minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }), fc.nat(3), fc.nat(2)),
    ([deltas, crashes, failures]) =>
      Effect.gen(function* () {
        const scripts = [
          ...Array.from({ length: failures }, () => emits(overloaded)),
          ...Array.from({ length: crashes + 1 }, () => answer(...deltas))
        ]
        const run = yield* dying(new RegExp(`attempt/[${failures}-9]$`), crashes)({ scripts, strategy: strategy() })
        const end = yield* Scenario.settle(run)
        assert.strictEqual(end.status, "completed")
        assert.strictEqual(assembled(run.sink.events), deltas.join(""))
        // A crash while a loss is being recorded loses nothing more.
        assert.isAtMost(run.sink.of("step-discarded").length, crashes)
        assert.isAtLeast(run.sink.of("step-discarded").length, Math.min(1, crashes))
        assert.strictEqual(run.sink.of("provider-retry").length, failures)
      })
  )
})

describe("a process that dies while a tool runs", () => {
  const toolbox = (ran: Array<string>, definitions: ReadonlyArray<ToolDefinition> = []) => ({
    definitions,
    run: ({ toolName }: { readonly toolName: string }) =>
      Effect.sync(() => {
        ran.push(toolName)
        return { output: "done", isError: false }
      })
  })

  it.effect("rule X8: does not run it again, and the model receives an unknown outcome", () =>
    Effect.gen(function* () {
      const ran: Array<string> = []
      const run = yield* dying(TOOL)({ scripts: [tools(call("pay")), answer("ok")], toolbox: toolbox(ran) })
      yield* Scenario.settle(run)
      assert.deepStrictEqual(ran, ["pay"])
      const [result] = run.sink.of("tool-result")
      assert.isTrue(result?.isError)
      assert.include(result?.output, "unknown")
    })
  )

  it.effect("rule X8: runs it again when it is declared idempotent", () =>
    Effect.gen(function* () {
      const ran: Array<string> = []
      const definitions = [{ name: "look", inputSchema: {}, isIdempotent: true }]
      const run = yield* dying(TOOL)({
        scripts: [tools(call("look")), answer("ok")],
        toolbox: toolbox(ran, definitions)
      })
      yield* Scenario.settle(run)
      assert.deepStrictEqual(ran, ["look", "look"])
      assert.deepStrictEqual(
        run.sink.of("tool-result").map(({ isError }) => isError),
        [false]
      )
    })
  )
})

describe("a wait that a command changes", () => {
  const by = { commandId: "k1", origin: "a test" }

  Scenario.bothWays("rule X4: `until` moves its end, and announces it", (start) =>
    Effect.gen(function* () {
      const retry = strategy()
      const run = yield* start({ scripts: [emits(overloaded), answer("ok")], strategy: retry })
      yield* retry.wake({ type: "until", until: 60_000, by })
      yield* TestClock.adjust(59_999)
      assert.isUndefined(run.fiber.pollUnsafe())
      assert.deepStrictEqual(
        run.sink.of("provider-retry").map(({ retryAt }) => retryAt),
        [1_000, 60_000]
      )
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(run.fiber)).status, "completed")
    })
  )

  Scenario.bothWays(
    "rule X4: `switched` makes the next attempt at once on another target, and emits the change",
    (start) =>
      Effect.gen(function* () {
        const retry = strategy()
        const run = yield* start({ scripts: [emits(overloaded), answer("ok")], strategy: retry })
        yield* retry.wake({ type: "switched", target: { provider: "other", model: "big" }, by })
        const end = yield* Fiber.join(run.fiber)
        assert.strictEqual(end.status, "completed")
        assert.deepStrictEqual(
          run.provider.requests.map(({ target }) => target.provider),
          ["test", "other"]
        )
        assert.deepStrictEqual(
          run.sink.of("model-change").map(({ from, to }) => [from, to]),
          [["test/model", "other/big"]]
        )
        const message = run.sink.of("message").at(-1)?.message
        assert.isTrue(message?.role === "assistant" && message.target.provider === "other")
      })
  )

  Scenario.bothWays("rule X4: `extended` continues the sleep, and the strategy receives the extension", (start) =>
    Effect.gen(function* () {
      const retry = strategy()
      const run = yield* start({
        scripts: [emits(overloaded, text("")), emits(overloaded), answer("ok")],
        strategy: retry
      })
      yield* retry.wake({ type: "extended", byMs: 500, by })
      yield* Scenario.settle(run)
      assert.deepStrictEqual(retry.extensions, [0, 500])
    })
  )
})
