/** Which failures are retried, and the chain of the retries. */
import { assert, describe } from "@effect/vitest"
import { Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { SleepFailure } from "../src/ports/RetryStrategy.ts"

const { bothWays, settle } = Scenario
const { answer, badGateway, breaksOff, call, dies, emits, overloaded, text, throws, tools, unauthorized } =
  ScriptedProvider

const strategy = TestStrategy.make

describe("an error before content", () => {
  bothWays("rule D3: an emitted error with retryable true is retried", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overloaded), answer("ok")], strategy: strategy() })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "completed")
      assert.strictEqual(end.attempts, 2)
      assert.strictEqual(end.sleptMs, 5_000)
    })
  )

  bothWays("rule D3: an emitted error with retryable false ends the step", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(unauthorized)], strategy: strategy() })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "failed")
      assert.strictEqual(end.error?.message, "invalid x-api-key")
      assert.deepStrictEqual(run.sink.of("provider-retry"), [])
    })
  )

  bothWays("rule D3: an emitted error that does not say retryable ends the step", (start) =>
    Effect.gen(function* () {
      const { retryable: _, ...silent } = overloaded
      const run = yield* start({ scripts: [emits(silent)], strategy: strategy() })
      assert.strictEqual((yield* settle(run)).status, "failed")
      assert.strictEqual(run.provider.requests.length, 1)
    })
  )

  bothWays("rule D3: a thrown error is retried", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [throws(badGateway), answer("ok")], strategy: strategy() })
      assert.strictEqual((yield* settle(run)).status, "completed")
    })
  )

  bothWays("rule D5: each provider-retry comes before its sleep and carries every field for the person", (start) =>
    Effect.gen(function* () {
      const policy = strategy({ maxRetries: 3 })
      const run = yield* start({
        scripts: [emits(overloaded), emits(overloaded), emits(badGateway), answer("At ", "last")],
        strategy: policy
      })
      for (const [n, delayMs] of [5_000, 10_000, 30_000].entries()) {
        assert.strictEqual(run.sink.of("provider-retry").length, n + 1)
        yield* TestClock.adjust(delayMs)
      }
      const end = yield* settle(run)
      assert.strictEqual(end.status, "completed")
      assert.strictEqual(run.sink.shown, "At last")
      const common = {
        conversationId: "c1",
        turnId: "t1",
        type: "provider-retry",
        target: "test/model",
        maxAttempts: 3
      }
      assert.deepStrictEqual(run.sink.of("provider-retry") as ReadonlyArray<unknown>, [
        {
          ...common,
          attempt: 0,
          delayMs: 5_000,
          retryAt: 5_000,
          message: overloaded.message,
          code: "429",
          reason: "overloaded"
        },
        {
          ...common,
          attempt: 1,
          delayMs: 10_000,
          retryAt: 15_000,
          message: overloaded.message,
          code: "429",
          reason: "overloaded"
        },
        {
          ...common,
          attempt: 2,
          delayMs: 30_000,
          retryAt: 45_000,
          message: "Bad Gateway",
          code: "502",
          reason: "server-error"
        }
      ])
    })
  )

  bothWays("rule D6: retries leave no trace in the persisted history, nor in the next prompt", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overloaded), throws(badGateway), answer("ok")], strategy: strategy() })
      yield* settle(run)
      assert.isFalse(run.sink.persisted.some((event) => JSON.stringify(event).includes("provider-retry")))
      assert.deepStrictEqual(
        run.sink.of("message").map((event) => event.message.role),
        ["user", "assistant"]
      )
      const prompts = run.provider.requests.map((request) => request.messages)
      assert.deepStrictEqual(prompts[2], prompts[0])
    })
  )

  bothWays(
    "rule D7: when the schedule is spent the last error, held back until then, is emitted once and the turn fails",
    (start) =>
      Effect.gen(function* () {
        const run = yield* start({
          scripts: [emits(overloaded), emits(overloaded), emits(overloaded), emits(badGateway)],
          strategy: strategy()
        })
        yield* TestClock.adjust(15_000)
        assert.deepStrictEqual(run.sink.of("error"), [])
        const end = yield* settle(run)
        assert.strictEqual(end.status, "failed")
        assert.strictEqual(end.attempts, 4)
        assert.deepStrictEqual(
          run.sink.of("error").map(({ message, code }) => [message, code]),
          [["Bad Gateway", "502"]]
        )
        assert.deepStrictEqual(run.sink.types.slice(-4), ["retry-end", "message", "error", "turn-end"])
      })
  )

  bothWays("rule D9: without a strategy the first error ends the step", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overloaded)] })
      assert.strictEqual((yield* settle(run)).status, "failed")
      assert.deepStrictEqual(run.sink.of("provider-retry"), [])
      assert.deepStrictEqual(run.sink.of("retry-end"), [])
    })
  )

  bothWays("rule C6: a stream that ends without its terminal event has failed", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [breaksOff(), answer("ok")], strategy: strategy() })
      assert.strictEqual((yield* settle(run)).attempts, 2)
      assert.strictEqual(run.sink.of("provider-retry")[0]?.reason, "network")
    })
  )

  bothWays("rule C10: a bug is retried twice, and no more", (start) =>
    Effect.gen(function* () {
      const bug = new TypeError("x is not a function")
      const run = yield* start({
        scripts: [dies(bug), dies(bug), dies(bug)],
        strategy: strategy({ delays: [1, 1, 1, 1, 1, 1] })
      })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "failed")
      assert.strictEqual(end.attempts, 3)
      assert.strictEqual(end.error?.message, "TypeError: x is not a function")
    })
  )

  bothWays("rule C10: a provider's first content that cannot be read is its bug", (start) =>
    Effect.gen(function* () {
      const malformed = JSON.parse('{ "type": "text-delta" }')
      const run = yield* start({ scripts: [breaksOff(malformed), answer("ok")], strategy: strategy() })
      const end = yield* settle(run)
      assert.deepStrictEqual([end.status, end.attempts, run.sink.shown], ["completed", 2, "ok"])
    })
  )

  bothWays("rule C10: a thrown value that is no error is quoted unchanged", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [dies("out of paper")], strategy: strategy({ delays: [] }) })
      assert.strictEqual((yield* settle(run)).error?.message, "out of paper")
    })
  )

  bothWays("rule M3: an abort that the user did not request is retried, whatever its `retryable` is", (start) =>
    Effect.gen(function* () {
      const run = yield* start({
        scripts: [emits({ reason: "aborted", message: "aborted", retryable: false }), answer("ok")],
        strategy: strategy()
      })
      assert.strictEqual((yield* settle(run)).status, "completed")
    })
  )

  bothWays("rule P2: a context that is too long is never sent again", (start) =>
    Effect.gen(function* () {
      const failure = { reason: "context-overflow", message: "prompt is too long", retryable: true } as const
      const run = yield* start({ scripts: [emits(failure)], strategy: strategy() })
      assert.strictEqual((yield* settle(run)).status, "failed")
      assert.strictEqual(run.provider.requests.length, 1)
    })
  )

  bothWays("rule D14: a sleep that fails ends the turn with that error", (start) =>
    Effect.gen(function* () {
      const sleep = Effect.fail(new SleepFailure({ message: "no timer" }))
      const run = yield* start({ scripts: [emits(overloaded)], strategy: strategy({ sleep }) })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "failed")
      assert.deepStrictEqual(end.error, { reason: "unknown", message: "no timer", retryable: false })
      assert.strictEqual(run.sink.of("error")[0]?.message, "no timer")
      assert.strictEqual(run.provider.requests.length, 1)
    })
  )

  bothWays("rule D14: a sleep that dies ends the turn too", (start) =>
    Effect.gen(function* () {
      const run = yield* start({
        scripts: [emits(overloaded)],
        strategy: strategy({ sleep: Effect.die("clock gone") })
      })
      assert.include((yield* settle(run)).error?.message, "clock gone")
    })
  )
})

describe("a chain of retries", () => {
  bothWays("rule P11: is closed by retry-end on success", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overloaded), emits(overloaded), answer("ok")], strategy: strategy() })
      yield* settle(run)
      assert.deepStrictEqual(
        run.sink.of("retry-end").map(({ success, attempt }) => ({ success, attempt })),
        [{ success: true, attempt: 1 }]
      )
    })
  )

  bothWays("rule P11: is closed by retry-end on exhaustion, with the last attempt and its error", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overloaded), emits(badGateway)], strategy: strategy({ delays: [1] }) })
      yield* settle(run)
      const [end] = run.sink.of("retry-end")
      assert.deepStrictEqual([end?.success, end?.attempt, end?.finalError], [false, 0, "Bad Gateway"])
    })
  )

  bothWays("rule P11: is closed by retry-end when a retry fails after content", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overloaded), breaksOff(text("Hal"))], strategy: strategy() })
      yield* settle(run)
      assert.deepStrictEqual(
        run.sink.of("retry-end").map((event) => event.success),
        [false]
      )
    })
  )

  bothWays("rule P10: the counter is back at 0 for the next step", (start) =>
    Effect.gen(function* () {
      const run = yield* start({
        scripts: [emits(overloaded), emits(overloaded), tools(call("t")), emits(overloaded), answer("ok")],
        strategy: strategy()
      })
      const end = yield* settle(run)
      assert.deepStrictEqual(
        run.sink.of("provider-retry").map((event) => event.attempt),
        [0, 1, 0]
      )
      assert.strictEqual(end.sleptMs, 20_000)
    })
  )

  bothWays("rule P14: cancelling the retry ends the sleep, the chain and the turn with its last error", (start) =>
    Effect.gen(function* () {
      const policy = strategy()
      const run = yield* start({ scripts: [emits(overloaded)], strategy: policy })
      yield* policy.wake({ type: "cancelled" })
      const end = yield* Fiber.join(run.fiber)
      assert.strictEqual(end.status, "failed")
      assert.strictEqual(run.sink.of("retry-end")[0]?.finalError, "Retry cancelled")
      assert.strictEqual(run.sink.of("error")[0]?.message, overloaded.message)
      assert.strictEqual(run.provider.requests.length, 1)
    })
  )

  bothWays("rule X4: `now` ends the sleep and makes the next attempt at once", (start) =>
    Effect.gen(function* () {
      const policy = strategy()
      const run = yield* start({ scripts: [emits(overloaded), answer("ok")], strategy: policy })
      yield* policy.wake({ type: "now" })
      assert.strictEqual((yield* Fiber.join(run.fiber)).status, "completed")
    })
  )

  bothWays("rule P13: the turn does not end before its chain has", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overloaded), answer("ok")], strategy: strategy() })
      yield* TestClock.adjust(4_999)
      assert.isUndefined(run.fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(run.fiber)).status, "completed")
    })
  )
})
