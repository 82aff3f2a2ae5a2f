import { assert, describe, it } from "@effect/vitest"
import { RecordingSink, ReplayCheckpoint, Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Turn from "../src/Turn.ts"
import { SleepFailure } from "../src/RetryStrategy.ts"

const { bothWays } = Scenario
const { answer, badGateway, breaksOff, call, dies, emits, hangs, overloaded, text, throws, tools, unauthorized } =
  ScriptedProvider

const strategy = (options: Partial<TestStrategy.Options> = {}) =>
  new TestStrategy.TestStrategy({ delays: [5_000, 10_000, 30_000], ...options })

/** Lets everything that is due run, and returns how the turn ended. */
const settle = (run: Scenario.Run) => Effect.andThen(TestClock.adjust("1 hour"), Fiber.join(run.fiber))

describe("a turn that meets no failure", () => {
  bothWays("answers a prompt in one step", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [answer("Hel", "lo")] })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "completed")
      assert.deepStrictEqual(end.usage, { inputTokens: 10, outputTokens: 5 })
      assert.strictEqual(run.sink.shown, "Hello")
      assert.deepStrictEqual(run.sink.types, [
        "turn-start",
        "message",
        "step-start",
        "text-delta",
        "usage",
        "message",
        "turn-end"
      ])
    })
  )

  bothWays("says first what follows from its input alone", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [answer("Hello")], prompt: "Hi" })
      yield* settle(run)
      const [request] = run.provider.requests
      assert.isDefined(request)
      const { conversationId, turnId } = request
      const opening = Turn.opening({ conversationId, turnId, prompt: "Hi", startedAt: 0 })
      assert.deepStrictEqual(run.sink.persisted.slice(0, opening.length), [...opening])
      assert.deepStrictEqual(
        Turn.opening({ conversationId, turnId, startedAt: 0 }).map(({ type }) => type),
        ["turn-start"]
      )
    })
  )

  bothWays("runs the tools of a step at once, and answers them in the order of the calls", (start) =>
    Effect.gen(function* () {
      const slow = yield* Deferred.make<void>()
      const started: Array<string> = []
      const toolbox = {
        definitions: [],
        run: ({ toolName }: { readonly toolName: string }) =>
          Effect.gen(function* () {
            started.push(toolName)
            if (toolName === "slow") yield* Deferred.await(slow)
            else yield* Deferred.succeed(slow, undefined)
            return { output: toolName, isError: false }
          })
      }
      const run = yield* start({ scripts: [tools(call("slow"), call("fast")), answer("done")], toolbox })
      const end = yield* settle(run)
      assert.strictEqual(end.steps, 2)
      assert.deepStrictEqual(started, ["slow", "fast"])
      assert.deepStrictEqual(
        run.sink.of("tool-result").map((event) => event.toolName),
        ["slow", "fast"]
      )
      assert.deepStrictEqual(
        run.provider.requests[1]?.messages.map((message) => message.role),
        ["user", "assistant", "tool"]
      )
    })
  )

  bothWays("A10: quotes malformed arguments up to a limit, and cuts no character in two", (start) =>
    Effect.gen(function* () {
      const malformed = { ...call("broken"), input: `${"a".repeat(1_999)}\u{1f600}b`, malformed: "Unexpected token" }
      const run = yield* start({ scripts: [tools(malformed), answer("I see")] })
      yield* Fiber.join(run.fiber)
      const output = String(run.sink.of("tool-result")[0]?.output)
      assert.include(output, "[cut]")
      assert.isTrue(output.isWellFormed())
    })
  )

  bothWays("answers a call with malformed arguments, and a tool that dies, without ending the turn", (start) =>
    Effect.gen(function* () {
      const toolbox = { definitions: [], run: () => Effect.die(new Error("boom")) }
      const malformed = { ...call("broken"), input: '{"a":', malformed: "Unexpected end of JSON input" }
      const run = yield* start({ scripts: [tools(malformed, call("deadly")), answer("I see")], toolbox })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "completed")
      const results = run.sink.of("tool-result")
      assert.isTrue(results.every((result) => result.isError))
      assert.include(results[0]?.output, "Unexpected end of JSON input")
      assert.include(results[0]?.output, '{"a":')
      assert.include(results[1]?.output, "boom")
    })
  )
})

describe("an error before content", () => {
  bothWays("D3: an emitted error with retryable true is retried", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overloaded), answer("ok")], strategy: strategy() })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "completed")
      assert.strictEqual(end.attempts, 2)
      assert.strictEqual(end.sleptMs, 5_000)
    })
  )

  bothWays("D3: an emitted error with retryable false ends the step", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(unauthorized)], strategy: strategy() })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "failed")
      assert.strictEqual(end.error?.message, "invalid x-api-key")
      assert.deepStrictEqual(run.sink.of("provider-retry"), [])
    })
  )

  bothWays("D3: an emitted error that does not say retryable ends the step", (start) =>
    Effect.gen(function* () {
      const { retryable: _, ...silent } = overloaded
      const run = yield* start({ scripts: [emits(silent)], strategy: strategy() })
      assert.strictEqual((yield* settle(run)).status, "failed")
      assert.strictEqual(run.provider.requests.length, 1)
    })
  )

  bothWays("D3: a thrown error is retried", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [throws(badGateway), answer("ok")], strategy: strategy() })
      assert.strictEqual((yield* settle(run)).status, "completed")
    })
  )

  bothWays("D5: each provider-retry comes before its sleep and carries everything a person is told", (start) =>
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

  bothWays("D6: retries leave no trace in what is persisted as history, nor in the next prompt", (start) =>
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
    "D7: when the schedule is spent the last error, held back until then, is emitted once and the turn fails",
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

  bothWays("D9: without a strategy the first error ends the step", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overloaded)] })
      assert.strictEqual((yield* settle(run)).status, "failed")
      assert.deepStrictEqual(run.sink.of("provider-retry"), [])
      assert.deepStrictEqual(run.sink.of("retry-end"), [])
    })
  )

  bothWays("C6: a stream that ends without its terminal event has failed", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [breaksOff(), answer("ok")], strategy: strategy() })
      assert.strictEqual((yield* settle(run)).attempts, 2)
      assert.strictEqual(run.sink.of("provider-retry")[0]?.reason, "network")
    })
  )

  bothWays("C10: a bug is tried again twice, and no more", (start) =>
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

  bothWays("M3: an abort that the user did not ask for is retried, whatever it says of itself", (start) =>
    Effect.gen(function* () {
      const run = yield* start({
        scripts: [emits({ reason: "aborted", message: "aborted", retryable: false }), answer("ok")],
        strategy: strategy()
      })
      assert.strictEqual((yield* settle(run)).status, "completed")
    })
  )

  bothWays("P2: a context that is too long is never sent again", (start) =>
    Effect.gen(function* () {
      const failure = { reason: "context-overflow", message: "prompt is too long", retryable: true } as const
      const run = yield* start({ scripts: [emits(failure)], strategy: strategy() })
      assert.strictEqual((yield* settle(run)).status, "failed")
    })
  )

  bothWays("D14: a sleep that fails ends the turn with that error", (start) =>
    Effect.gen(function* () {
      const sleep = Effect.fail(new SleepFailure({ message: "no timer" }))
      const run = yield* start({ scripts: [emits(overloaded)], strategy: strategy({ sleep }) })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "failed")
      assert.strictEqual(run.sink.of("error")[0]?.message, "no timer")
      assert.strictEqual(run.provider.requests.length, 1)
    })
  )

  bothWays("D14: a sleep that dies ends the turn too", (start) =>
    Effect.gen(function* () {
      const run = yield* start({
        scripts: [emits(overloaded)],
        strategy: strategy({ sleep: Effect.die("clock gone") })
      })
      assert.include((yield* settle(run)).error?.message, "clock gone")
    })
  )
})

describe("an error after content", () => {
  for (const [what, event] of [
    ["text", text("Hel")],
    ["reasoning", { type: "reasoning-delta", delta: "Hm" }],
    ["a tool call", call("search")],
    ["usage", { type: "usage", usage: { inputTokens: 1 } }]
  ] as const) {
    bothWays(`D4: after ${what} no error is retried`, (start) =>
      Effect.gen(function* () {
        for (const script of [
          emits(overloaded, event),
          throws(badGateway, event),
          dies("bug", event),
          breaksOff(event)
        ]) {
          const run = yield* start({ scripts: [script], strategy: strategy() })
          assert.strictEqual((yield* settle(run)).status, "failed")
          assert.strictEqual(run.provider.requests.length, 1)
          assert.deepStrictEqual(run.sink.of("provider-retry"), [])
        }
      }).pipe(Effect.scoped)
    )
  }

  bothWays("D4: an empty delta is no content", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overloaded, text("")), answer("ok")], strategy: strategy() })
      assert.strictEqual((yield* settle(run)).status, "completed")
    })
  )

  bothWays("C7: a tool call of an attempt that broke off is never run", (start) =>
    Effect.gen(function* () {
      const ran: Array<string> = []
      const toolbox = {
        definitions: [],
        run: ({ toolName }: { readonly toolName: string }) =>
          Effect.sync(() => (ran.push(toolName), { output: "", isError: false }))
      }
      const run = yield* start({ scripts: [breaksOff(call("rm"))], strategy: strategy(), toolbox })
      yield* settle(run)
      assert.deepStrictEqual(ran, [])
      assert.deepStrictEqual(run.sink.of("tool-call"), [])
    })
  )

  bothWays("P12: a failed response stays in the history and leaves the model's context", (start) =>
    Effect.gen(function* () {
      const first = yield* start({ scripts: [emits(overloaded, text("Half an ans"))], strategy: strategy() })
      yield* settle(first)
      const history = first.sink.of("message").map((event) => event.message)
      const failed = history[1]
      assert.isTrue(failed?.role === "assistant" && failed.error?.reason === "overloaded")
      assert.deepStrictEqual(failed?.content as unknown, [{ type: "text", text: "Half an ans" }])

      const second = yield* start({ scripts: [answer("ok")], history, prompt: "Again?" })
      yield* settle(second)
      assert.deepStrictEqual(
        second.provider.requests[0]?.messages.map((message) => message.role),
        ["user", "user"]
      )
    })
  )

  bothWays("M1: a manual retry runs the model from the last user message, and adds none", (start) =>
    Effect.gen(function* () {
      const first = yield* start({ scripts: [emits(overloaded, text("Half"))], strategy: strategy() })
      yield* settle(first)
      const history = first.sink.of("message").map((event) => event.message)
      const second = yield* start({ scripts: [answer("Whole")], history, prompt: null })
      yield* settle(second)
      assert.deepStrictEqual(second.provider.requests[0]?.messages, first.provider.requests[0]?.messages)
      assert.deepStrictEqual(
        second.sink.of("message").map((event) => event.message.role),
        ["assistant"]
      )
      assert.isTrue(second.sink.of("turn-start")[0]?.retry)
    })
  )
})

describe("a chain of retries", () => {
  bothWays("P11: is closed by retry-end on success", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overloaded), emits(overloaded), answer("ok")], strategy: strategy() })
      yield* settle(run)
      assert.deepStrictEqual(
        run.sink.of("retry-end").map(({ success, attempt }) => ({ success, attempt })),
        [{ success: true, attempt: 1 }]
      )
    })
  )

  bothWays("P11: is closed by retry-end on exhaustion, with the last attempt and its error", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overloaded), emits(badGateway)], strategy: strategy({ delays: [1] }) })
      yield* settle(run)
      const [end] = run.sink.of("retry-end")
      assert.deepStrictEqual([end?.success, end?.attempt, end?.finalError], [false, 0, "Bad Gateway"])
    })
  )

  bothWays("P11: is closed by retry-end when a retry fails after content", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overloaded), breaksOff(text("Hal"))], strategy: strategy() })
      yield* settle(run)
      assert.deepStrictEqual(
        run.sink.of("retry-end").map((event) => event.success),
        [false]
      )
    })
  )

  bothWays("P10: the counter is back at 0 for the next step", (start) =>
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

  bothWays("P14: cancelling the retry ends the sleep, the chain and the turn with its last error", (start) =>
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

  bothWays("X4: `now` ends the sleep and makes the next attempt at once", (start) =>
    Effect.gen(function* () {
      const policy = strategy()
      const run = yield* start({ scripts: [emits(overloaded), answer("ok")], strategy: policy })
      yield* policy.wake({ type: "now" })
      assert.strictEqual((yield* Fiber.join(run.fiber)).status, "completed")
    })
  )

  bothWays("P13: the turn does not end before its chain has", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overloaded), answer("ok")], strategy: strategy() })
      yield* TestClock.adjust(4_999)
      assert.isUndefined(run.fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(run.fiber)).status, "completed")
    })
  )
})

describe("an abort", () => {
  bothWays("D8: during the sleep it seals the turn at once, and no further attempt is made", (start) =>
    Effect.gen(function* () {
      const abort = yield* Deferred.make<void>()
      const run = yield* start({
        scripts: [emits(overloaded)],
        strategy: strategy(),
        abort: Deferred.await(abort)
      })
      yield* TestClock.adjust(1_000)
      yield* Deferred.succeed(abort, undefined)
      const end = yield* Fiber.join(run.fiber)
      assert.strictEqual(end.status, "aborted")
      assert.strictEqual(end.endedAt, 1_000)
      assert.deepStrictEqual(run.sink.types.slice(-3), ["retry-end", "message", "turn-end"])
      assert.strictEqual(run.sink.of("retry-end")[0]?.finalError, "Retry cancelled")
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(run.provider.requests.length, 1)
      assert.deepStrictEqual(run.sink.of("error"), [])
    })
  )

  bothWays("during a response it keeps what was said, out of the model's sight", (start) =>
    Effect.gen(function* () {
      const abort = yield* Deferred.make<void>()
      const reached = yield* Deferred.make<void>()
      const run = yield* start({
        scripts: [hangs(reached, text("Half"))],
        strategy: strategy(),
        abort: Deferred.await(abort)
      })
      yield* Deferred.await(reached)
      yield* Deferred.succeed(abort, undefined)
      assert.strictEqual((yield* Fiber.join(run.fiber)).status, "aborted")
      const message = run.sink.of("message")[1]?.message
      assert.isTrue(message?.role === "assistant" && message.error?.reason === "aborted")
      assert.deepStrictEqual(message?.content as unknown, [{ type: "text", text: "Half" }])
    })
  )

  bothWays("during a tool it interrupts the tool, and the next turn is told that the outcome is unknown", (start) =>
    Effect.gen(function* () {
      const abort = yield* Deferred.make<void>()
      const running = yield* Deferred.make<void>()
      const interrupted = yield* Deferred.make<void>()
      const toolbox = {
        definitions: [],
        run: () =>
          Deferred.succeed(running, undefined).pipe(
            Effect.andThen(Effect.never),
            Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined))
          )
      }
      const run = yield* start({ scripts: [tools(call("slow"))], toolbox, abort: Deferred.await(abort) })
      yield* Deferred.await(running)
      yield* Deferred.succeed(abort, undefined)
      assert.strictEqual((yield* Fiber.join(run.fiber)).status, "aborted")
      yield* Deferred.await(interrupted)

      const history = run.sink.of("message").map((event) => event.message)
      const next = yield* start({ scripts: [answer("ok")], history, prompt: "And?" })
      yield* settle(next)
      const results = next.provider.requests[0]?.messages[2]
      assert.isTrue(results?.role === "tool" && results.content[0]?.isError)
    })
  )

  bothWays("before the first attempt makes none", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [], abort: Effect.void })
      assert.strictEqual((yield* Fiber.join(run.fiber)).status, "aborted")
      assert.strictEqual(run.provider.requests.length, 0)
    })
  )

  it.effect("is not what interrupting the fiber is: that leaves the turn unsealed", () =>
    Effect.gen(function* () {
      const run = yield* Scenario.straight({ scripts: [emits(overloaded)], strategy: strategy() })
      yield* Fiber.interrupt(run.fiber)
      assert.deepStrictEqual(run.sink.types, ["turn-start", "message", "step-start", "provider-retry"])
    })
  )
})

describe("an abort of a turn that is taken up again", () => {
  it.effect("D8: is heard when the turn is where it was, and its seal comes behind what was persisted before", () =>
    Effect.gen(function* () {
      const replay = new ReplayCheckpoint.ReplayCheckpoint()
      const sink = new RecordingSink.RecordingSink()
      const life = { scripts: [emits(overloaded)], strategy: strategy(), replay, sink }
      const first = yield* Scenario.replayed(life)
      yield* Fiber.interrupt(first.fiber)
      const second = yield* Scenario.replayed({ ...life, abort: Effect.void })
      const end = yield* Fiber.join(second.fiber)
      assert.strictEqual(end.status, "aborted")
      assert.deepStrictEqual(
        sink.persisted.map(({ type }) => type),
        ["turn-start", "message", "retry-end", "message", "turn-end"]
      )
      assert.strictEqual(second.provider.requests.length, 0)
    })
  )
})

describe("a bug of Holdfast's own", () => {
  it.effect("T5: seals the turn as failed", () =>
    Effect.gen(function* () {
      const broken = strategy({
        delays: new Proxy([], {
          get: () => {
            throw new RangeError("bad delay")
          }
        })
      })
      const run = yield* Scenario.straight({ scripts: [emits(overloaded)], strategy: broken })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "failed")
      assert.include(end.error?.message, "RangeError: bad delay")
    })
  )
})
