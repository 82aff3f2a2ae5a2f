/** A turn without a failure, and a turn with a bug of this program. */
import { assert, describe, it } from "@effect/vitest"
import { RecordingSink, Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Deferred, Effect, Fiber, Scheduler } from "effect"
import { TestClock } from "effect/testing"
import * as Turn from "../src/turn/Turn.ts"

const { bothWays, settle } = Scenario
const { answer, call, emits, overloaded, tools } = ScriptedProvider

const strategy = TestStrategy.make

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

  bothWays(
    "rule X1: persists its answer together with the seal, and that of a step with tools before they run",
    (start) =>
      Effect.gen(function* () {
        const sink = new RecordingSink.RecordingSink()
        let before: unknown
        const toolbox = {
          definitions: [],
          run: () =>
            Effect.sync(() => {
              before = sink.writes.at(-1)
              return { output: "1", isError: false }
            })
        }
        yield* settle(yield* start({ scripts: [tools(call("a")), answer("Hello")], toolbox, sink }))
        assert.deepStrictEqual(before, ["tool-call", "usage", "message"])
        assert.deepStrictEqual(sink.writes.at(-1), ["usage", "message", "turn-end"])
      })
  )

  it.effect("persists the same events, in the same writes, over a sink that needs no fiber", () =>
    Effect.gen(function* () {
      const runOver = (sink: RecordingSink.RecordingSink) =>
        Effect.gen(function* () {
          const scripts = [emits(overloaded), tools(call("a")), answer("Hello")]
          const toolbox = { definitions: [], run: () => Effect.succeed({ output: "1", isError: false }) }
          yield* settle(yield* Scenario.straight({ scripts, strategy: strategy(), toolbox, sink }))
          return [sink.events, sink.writes]
        })
      const atOnce = new RecordingSink.RecordingSink()
      const { persist } = atOnce.service
      Object.assign(atOnce.service, {
        persist: (...write: Parameters<typeof persist>) => Effect.runSyncExit(persist(...write))
      })
      const expected = yield* runOver(new RecordingSink.RecordingSink())
      yield* TestClock.setTime(0)
      assert.deepStrictEqual(yield* runOver(atOnce), expected)
    }).pipe(Effect.scoped)
  )

  bothWays("emits first the events that follow from its input alone", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [answer("Hello")], prompt: "Hi" })
      yield* settle(run)
      const [request] = run.provider.requests
      assert.isDefined(request)
      const { conversationId, turnId } = request
      const opening = Turn.firstEvents({ conversationId, turnId, prompt: "Hi", startedAt: 0 })
      assert.deepStrictEqual(run.sink.persisted.slice(0, opening.length), [...opening])
      assert.deepStrictEqual(
        Turn.firstEvents({ conversationId, turnId, startedAt: 0 }).map(({ type }) => type),
        ["turn-start"]
      )
    })
  )

  bothWays("runs the tools of a step at the same time, and answers them in the order of the calls", (start) =>
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

  it.effect(
    "rule X8: a tool that is recorded while the result of another is persisted keeps its record, whenever fibers give way",
    () =>
      Effect.gen(function* () {
        // With a smaller number a fiber would never make progress.
        for (let ops = 5; ops <= 40; ops++) {
          const ran: Array<string> = []
          const toolbox = {
            definitions: [],
            run: ({ toolName }: { readonly toolName: string }) =>
              Effect.gen(function* () {
                ran.push(toolName)
                for (let i = 0; i < toolName.length; i++) yield* Effect.void
                return { output: toolName, isError: false }
              })
          }
          const calls = [call("a"), call("bb"), call("cccc"), call("dddddddd")]
          const run = yield* Scenario.straight({ scripts: [tools(...calls), answer("done")], toolbox }).pipe(
            Effect.provideService(Scheduler.MaxOpsBeforeYield, ops)
          )
          const end = yield* settle(run)
          assert.strictEqual(end.status, "completed")
          assert.deepStrictEqual(ran, ["a", "bb", "cccc", "dddddddd"])
          assert.deepStrictEqual(
            run.sink.of("tool-result").map(({ output }) => output),
            ["a", "bb", "cccc", "dddddddd"]
          )
        }
      })
  )

  bothWays("rule A10: answers a malformed call with the reason and the payload, in one form", (start) =>
    Effect.gen(function* () {
      const malformed = { ...call("broken"), input: '{"a', malformed: "Unexpected end of JSON input." }
      const run = yield* start({ scripts: [tools(malformed), answer("I see")] })
      yield* Fiber.join(run.fiber)
      assert.deepInclude(run.sink.of("tool-result")[0], {
        output: '(tool failed: invalid tool call payload. Unexpected end of JSON input. Original payload: {"a)',
        isError: true
      })
    })
  )

  bothWays("rule A10: quotes malformed arguments up to a limit, and splits no surrogate pair", (start) =>
    Effect.gen(function* () {
      const malformed = { ...call("broken"), input: `${"a".repeat(1_999)}\u{1f600}b`, malformed: "Unexpected token" }
      const run = yield* start({ scripts: [tools(malformed), answer("I see")] })
      yield* Fiber.join(run.fiber)
      const output = String(run.sink.of("tool-result")[0]?.output)
      assert.match(
        output,
        /^\(tool failed: invalid tool call payload\. Unexpected token\. Original payload \(the first 2000 of 2002 characters\): a{1999}.\)$/u
      )
      assert.isTrue(output.isWellFormed())
    })
  )

  bothWays("rule A10: quotes malformed arguments of exactly the limit as a whole", (start) =>
    Effect.gen(function* () {
      const malformed = { ...call("broken"), input: "a".repeat(2_000), malformed: "Unexpected token" }
      const run = yield* start({ scripts: [tools(malformed), answer("I see")] })
      yield* Fiber.join(run.fiber)
      assert.match(String(run.sink.of("tool-result")[0]?.output), / Original payload: a{2000}\)$/)
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

describe("a bug of Holdfast's own", () => {
  it.effect("rule C10: seals the turn as failed", () =>
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
