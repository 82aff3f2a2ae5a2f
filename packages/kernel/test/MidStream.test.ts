/** Failures after content, by the setting `midStream`. */
import { assert, describe, it } from "@effect/vitest"
import { RecordingSink, Scenario, ScriptedProvider, TestRouter, TestStrategy } from "@holdfast/kernel/testing"
import type { Failure, TurnEvent } from "@holdfast/wire"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { EventSink } from "../src/ports/EventSink.ts"
import type { Outlook } from "../src/ports/RetryStrategy.ts"

const { answer, breaksOff, call, dies, emits, hangs, overloaded, text, throws, tools, unauthorized } = ScriptedProvider

const USAGE = { inputTokens: 10, outputTokens: 3 }

const cut = (...before: ReadonlyArray<string>) => breaksOff(...before.map(text))

const strategy = (midStream: TurnEvent.MidStream, ask?: (outlook: Outlook) => undefined) =>
  new TestStrategy.TestStrategy({
    delays: [1_000, 2_000],
    midStream: () => midStream,
    ...(ask === undefined ? undefined : { ask })
  })

/** A sink that answers whether its clients have received the content in progress. */
const sinkOf = (isReceived: () => boolean) => {
  const recording = new RecordingSink.RecordingSink()
  const service: EventSink["Service"] = { ...recording.service, withdraw: () => !isReceived() }
  return Object.assign(recording, { service })
}

const settled = (start: Scenario.Start, options: Scenario.Options) =>
  Effect.flatMap(start(options), (run) => Effect.map(Scenario.settle(run), (end) => ({ ...run, end })))

describe("midStream", () => {
  Scenario.bothWays("rule X7: `fail` is D4: after content nothing is retried, also without a setting", (start) =>
    Effect.gen(function* () {
      for (const retry of [strategy("fail"), TestStrategy.make()]) {
        const { end, provider, sink } = yield* settled(start, { scripts: [cut("Hel")], strategy: retry })
        assert.strictEqual(end.status, "failed")
        assert.strictEqual(provider.requests.length, 1)
        assert.deepStrictEqual(sink.of("step-discarded"), [])
      }
    })
  )

  Scenario.bothWays(
    "rule X7: `discard` voids the step before the wait, and retries it within the same budget",
    (start) =>
      Effect.gen(function* () {
        const retry = strategy("discard")
        const scripts = [emits(overloaded), cut("Hel", "lo"), answer("Hello again")]
        const { end, sink } = yield* settled(start, { scripts, strategy: retry })
        assert.strictEqual(end.status, "completed")
        assert.deepStrictEqual(retry.sleeps, [1_000, 2_000])
        const types = sink.types.filter((type) => type !== "turn-start" && type !== "usage")
        const told = types.slice(types.indexOf("text-delta"))
        assert.deepStrictEqual(told, [
          "text-delta",
          "step-discarded",
          "provider-retry",
          "step-start",
          "text-delta",
          "retry-end",
          "message",
          "turn-end"
        ])
        const [ended] = sink.of("retry-end")
        assert.deepInclude(ended, { success: true, attempt: 1, midStream: "discard" })
        const [voided] = sink.of("step-discarded")
        assert.deepInclude(voided, { step: 0 })
        assert.include(voided?.message, "The response ended before it was complete.")
        const answers = sink.of("message").flatMap(({ message }) => (message.role === "assistant" ? [message] : []))
        assert.deepStrictEqual(
          answers.map(({ content }) => content),
          [[{ type: "text", text: "Hello again" }]]
        )
      })
  )

  Scenario.bothWays("rule X7: `unseen` voids content that no client has received", (start) =>
    Effect.gen(function* () {
      const sink = sinkOf(() => false)
      const run = { scripts: [cut("Hel"), answer("Hello")], strategy: strategy("unseen"), sink }
      const { end } = yield* settled(start, run)
      assert.strictEqual(end.status, "completed")
      assert.strictEqual(sink.of("step-discarded").length, 1)
      assert.deepInclude(sink.of("retry-end")[0], { success: true, midStream: "unseen" })
    })
  )

  Scenario.bothWays("rule X7: `unseen` is D4 for content that a client has received, or may have", (start) =>
    Effect.gen(function* () {
      for (const sink of [sinkOf(() => true), new RecordingSink.RecordingSink()]) {
        const scripts = [emits(overloaded), cut("Hel")]
        const { end } = yield* settled(start, { scripts, strategy: strategy("unseen"), sink })
        assert.strictEqual(end.status, "failed")
        assert.deepStrictEqual(sink.of("step-discarded"), [])
        assert.deepInclude(sink.of("retry-end")[0], { success: false, attempt: 0, midStream: "fail" })
        assert.strictEqual(sink.of("message").at(-1)?.message.content.length, 1)
      }
    })
  )

  it.effect("rule X7: whether content was received is asked once, when the attempt ends, and is on record", () =>
    Effect.gen(function* () {
      let asked = 0
      // Received later: the answer for the failed attempt holds all the same.
      const sink = sinkOf(() => asked++ > 0)
      const scripts = [cut("Hel"), answer("Hello")]
      const { end } = yield* settled(Scenario.replayed, { scripts, strategy: strategy("unseen"), sink })
      assert.strictEqual(end.status, "completed")
      assert.strictEqual(asked, 1)
    })
  )

  Scenario.bothWays("rule X7: only a failure of the transport voids content", (start) =>
    Effect.gen(function* () {
      const tooLong: Failure.Failure = { ...unauthorized, reason: "context-overflow" }
      for (const script of [
        emits(unauthorized, text("Hel")),
        emits(tooLong, text("Hel")),
        dies(new TypeError("bug"), text("Hel"))
      ]) {
        const { end, provider, sink } = yield* settled(start, { scripts: [script], strategy: strategy("discard") })
        assert.strictEqual(end.status, "failed")
        assert.strictEqual(provider.requests.length, 1)
        assert.deepStrictEqual(sink.of("step-discarded"), [])
      }
      // M3: an abort that the user did not request is one.
      const aborted: Failure.Failure = { ...unauthorized, reason: "aborted" }
      for (const script of [throws(overloaded, text("Hel")), emits(aborted, text("Hel"))]) {
        const scripts = [script, answer("Hello")]
        const { end } = yield* settled(start, { scripts, strategy: strategy("discard") })
        assert.strictEqual(end.status, "completed")
      }
    })
  )

  Scenario.bothWays("rule X7: tool calls of void content are not run", (start) =>
    Effect.gen(function* () {
      const ran: Array<string> = []
      const toolbox = {
        definitions: [{ name: "pay", inputSchema: {} }],
        run: ({ toolCallId }: { readonly toolCallId: string }) =>
          Effect.sync(() => {
            ran.push(toolCallId)
            return { output: "paid", isError: false }
          })
      }
      const scripts = [breaksOff(text("I pay."), call("pay", "first")), tools(call("pay", "second")), answer("Paid.")]
      const { end, sink } = yield* settled(start, { scripts, strategy: strategy("discard"), toolbox })
      assert.strictEqual(end.status, "completed")
      assert.deepStrictEqual(ran, ["second"])
      assert.deepStrictEqual(
        sink.of("tool-call").map(({ toolCallId }) => toolCallId),
        ["second"]
      )
    })
  )

  Scenario.bothWays("rule X7: the usage of void attempts counts, and clients get it", (start) =>
    Effect.gen(function* () {
      const scripts = [breaksOff(text("Hel"), { type: "usage", usage: USAGE }), cut("Hel"), answer("Hello")]
      const { end, sink } = yield* settled(start, { scripts, strategy: strategy("discard") })
      assert.deepStrictEqual(end.usage, { inputTokens: 20, outputTokens: 8 })
      assert.deepStrictEqual(
        sink.of("step-discarded").map(({ usage }) => usage),
        [USAGE, undefined]
      )
    })
  )

  Scenario.bothWays("rule X7: an exhausted budget fails with the last content, which is not void", (start) =>
    Effect.gen(function* () {
      const scripts = [cut("One"), cut("Two"), cut("Three")]
      const { end, sink } = yield* settled(start, { scripts, strategy: strategy("discard") })
      assert.strictEqual(end.status, "failed")
      assert.strictEqual(sink.of("step-discarded").length, 2)
      const last = sink.of("message").at(-1)?.message
      assert.deepStrictEqual(last?.content, [{ type: "text", text: "Three" }])
      assert.deepInclude(sink.of("retry-end")[0], { success: false, attempt: 1, midStream: "discard" })
    })
  )

  Scenario.bothWays("rule X7: an abort in the wait leaves no void content in the history", (start) =>
    Effect.gen(function* () {
      const abort = yield* Deferred.make<void>()
      const scripts = [breaksOff(text("Hel"), { type: "usage", usage: USAGE })]
      const run = yield* start({ scripts, strategy: strategy("discard"), abort: Deferred.await(abort) })
      yield* TestClock.adjust(500)
      yield* Deferred.succeed(abort, undefined)
      const end = yield* Fiber.join(run.fiber)
      assert.strictEqual(end.status, "aborted")
      assert.deepStrictEqual(end.usage, USAGE)
      const last = run.sink.of("message").at(-1)?.message
      assert.isTrue(last?.role === "assistant" && last.content.length === 0 && last.usage === undefined)
    })
  )

  Scenario.bothWays("rule X7: a router may send the retry elsewhere at once, after the step was voided", (start) =>
    Effect.gen(function* () {
      const other = { provider: "other", model: "big" }
      const router = new TestRouter.TestRouter({
        begin: ({ primary }) => ({ route: { target: primary } }),
        direct: ({ retries }) => (retries === 0 ? { delayMs: 0, route: { target: other, role: "r" } } : undefined)
      })
      const scripts = [cut("Hel"), answer("Hello")]
      const { end, sink } = yield* settled(start, {
        scripts,
        strategy: strategy("discard"),
        services: router.layer
      })
      assert.strictEqual(end.status, "completed")
      const types = sink.types
      assert.isBelow(types.indexOf("step-discarded"), types.indexOf("provider-retry"))
      assert.deepStrictEqual(
        sink.of("step-start").map(({ target }) => target),
        ["test/model", "other/big"]
      )
    })
  )

  it.effect(
    "rule X7, X11: the strategy gets the void attempts, and those without usage, until a person sends a command",
    () =>
      Effect.gen(function* () {
        const seen: Array<Pick<Outlook, "voids" | "unreported">> = []
        const retry = new TestStrategy.TestStrategy({
          delays: [1_000, 1_000, 1_000],
          midStream: () => "discard",
          ask: ({ unreported, voids }) => void seen.push({ ...(voids && { voids }), ...(unreported && { unreported }) })
        })
        const scripts = [cut("a"), breaksOff(text("b"), { type: "usage", usage: USAGE }), cut("c"), answer("d")]
        const run = yield* Scenario.straight({ scripts, strategy: retry })
        yield* TestClock.adjust(1_000)
        yield* TestClock.adjust(500)
        yield* retry.wake({ type: "now", by: { commandId: "k", origin: "a test" } })
        yield* Scenario.settle(run)
        assert.deepStrictEqual(seen, [
          { voids: 1, unreported: 1 },
          { voids: 1, unreported: 2 }
        ])
      })
  )

  it.effect("rule X2, X7: an attempt whose process died is void as before, whatever the setting", () =>
    Effect.gen(function* () {
      for (const setting of ["fail", "discard", "unseen"] as const) {
        let deaths = 1
        const start = Scenario.dying((name) => name.endsWith("attempt/0") && deaths-- > 0)
        const scripts = [cut("Hel"), answer("Hello")]
        const { end, sink } = yield* settled(start, { scripts, strategy: strategy(setting), sink: sinkOf(() => false) })
        assert.strictEqual(end.status, "completed")
        assert.strictEqual(sink.of("step-discarded").length, 1)
        assert.deepStrictEqual(sink.of("provider-retry"), [])
      }
    })
  )

  it.effect("rule X7: an abort during the content that is withdrawn keeps it in the history", () =>
    Effect.gen(function* () {
      const [reached, abort] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const sink = sinkOf(() => false)
      const run = yield* Scenario.straight({
        scripts: [hangs(reached, text("Hel"))],
        strategy: strategy("unseen"),
        sink,
        services: Layer.empty,
        abort: Deferred.await(abort)
      })
      yield* Deferred.await(reached)
      yield* Deferred.succeed(abort, undefined)
      assert.strictEqual((yield* Fiber.join(run.fiber)).status, "aborted")
      assert.deepStrictEqual(sink.of("message").at(-1)?.message.content, [{ type: "text", text: "Hel" }])
    })
  )
})
