import { assert, describe } from "@effect/vitest"
import { Scenario, ScriptedProvider, TestRouter, TestStrategy } from "@holdfast/kernel/testing"
import { Message } from "@holdfast/wire"
import { Deferred, Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { FinalReport } from "../src/ports/FinalReport.ts"
import type { Prospect } from "../src/turn/TurnLimits.ts"

const { bothWays, settle } = Scenario
const { answer, badGateway, call, dies, emits, overloaded, tools, unauthorized } = ScriptedProvider

const isGood = Schema.is(Schema.Struct({ findings: Schema.String }))

/** A report has findings. */
const services = Layer.succeed(FinalReport, {
  tool: { name: "report", inputSchema: { type: "object" } },
  validate: (value) => (isGood(value) ? undefined : "findings are missing")
})

const good = { findings: "all is well" }
const look = () => tools(call("look"))
const hands = (input: Schema.Json) => tools({ ...call("report"), input })

const ran: Array<string> = []
const toolbox = {
  definitions: [{ name: "look", inputSchema: {} }],
  run: ({ toolName }: { readonly toolName: string }) =>
    Effect.sync(() => {
      ran.push(toolName)
      return { output: "seen", isError: false }
    })
}

const strategy = (delays: ReadonlyArray<number> = [0, 0]) => new TestStrategy.TestStrategy({ delays })

/** The last synthetic message in a request. */
const told = (run: Scenario.Run, request: number): string =>
  (run.provider.requests[request]?.messages ?? [])
    .filter((message) => message.role === "user" && message.synthetic === true)
    .map(Message.textOf)
    .join("\n")

const offered = (run: Scenario.Run) => run.provider.requests.map(({ tools }) => tools.map(({ name }) => name))

describe("a turn that has to end with a report", () => {
  bothWays("rule A13: ends with the report that its model submits, after any number of steps", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [look(), hands(good)], services, toolbox, strategy: strategy() })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "completed")
      assert.deepStrictEqual(end.report, { source: "tool-call", success: true, content: good })
      assert.strictEqual(end.steps, 2)
      assert.deepStrictEqual(offered(run), [
        ["look", "report"],
        ["look", "report"]
      ])
      assert.deepInclude(run.sink.of("tool-result").at(-1), { toolName: "report", isError: false })
    })
  )

  bothWays("rule A13: accepts a response whose whole text is the report", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [answer(" ", JSON.stringify(good), "\n")], services, strategy: strategy() })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "completed")
      assert.deepStrictEqual(end.report, { source: "tool-message", success: true, content: good })
    })
  )

  bothWays("rule A13: has its report, whatever the results of the calls beside it", (start) =>
    Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      const hanging = { ...toolbox, run: () => Effect.andThen(Deferred.succeed(reached, undefined), Effect.never) }
      const run = yield* start({
        scripts: [tools({ ...call("report"), input: good }, call("look"))],
        services,
        toolbox: hanging,
        abort: Deferred.await(reached)
      })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "aborted")
      assert.deepStrictEqual(end.report, { source: "tool-call", success: true, content: good })
    })
  )

  bothWays("rule A9: text alone is retried with guidance, and leaves the model's context", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [answer("All is ", "well."), hands(good)], services, strategy: strategy() })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "completed")
      assert.strictEqual(end.attempts, 2)
      assert.strictEqual(end.steps, 1)
      // The history has both; the model has the guidance alone.
      const messages = run.sink.of("message").map(({ message }) => message)
      const [, failed, guidance] = messages
      assert.deepInclude(failed?.role === "assistant" ? failed.error : undefined, { reason: "invalid-response" })
      assert.strictEqual(failed && Message.textOf(failed), "All is well.")
      assert.deepStrictEqual(
        run.provider.requests[1]?.messages,
        messages.filter(({ role }, i) => role === "user" && i < 3)
      )
      assert.match(told(run, 1), /^TURN-FAILED: The response had neither a tool call nor a final report\./)
      assert.strictEqual(guidance?.role === "user" && guidance.synthetic, true)
      assert.deepStrictEqual(
        run.sink.of("synthetic-retry").map(({ guidance, step }) => [guidance, step]),
        [[told(run, 1), 0]]
      )
      const told0 = run.sink.of("provider-retry")[0]
      assert.deepInclude(told0, { attempt: 0, reason: "invalid-response" })
      assert.deepInclude(run.sink.of("retry-end")[0], { success: true, attempt: 0 })
      // The usage of both responses counts.
      assert.deepStrictEqual(end.usage, { inputTokens: 20, outputTokens: 10 })
    })
  )

  bothWays("rule A9: an invalid report as text is retried, with the reason as guidance", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [answer('{"a":1}'), hands(good)], services, strategy: strategy() })
      assert.strictEqual((yield* settle(run)).status, "completed")
      assert.include(told(run, 1), "findings are missing")
    })
  )

  bothWays("rule A9: its retries are counted, waited for and directed like any others", (start) =>
    Effect.gen(function* () {
      const policy = strategy([1_000, 2_000])
      const router = new TestRouter.TestRouter({ direct: ({ retries }) => ({ delayMs: 1_000 * (retries + 1) }) })
      const run = yield* start({
        scripts: [answer("Well."), emits(overloaded), hands(good)],
        services: Layer.merge(services, router.layer),
        strategy: policy
      })
      const end = yield* settle(run)
      assert.deepStrictEqual(policy.sleeps, [1_000, 2_000])
      assert.strictEqual(end.sleptMs, 3_000)
      assert.deepStrictEqual(
        router.asked.map(([{ failure, contentSeen, whole }]) => [failure.reason, contentSeen, whole]),
        [
          ["invalid-response", false, true],
          ["overloaded", false, undefined]
        ]
      )
      // The rejected response and the report are answers of the endpoint.
      assert.deepStrictEqual(
        router.answered.map(([, began]) => began),
        [0, 3_000]
      )
    })
  )

  bothWays("rule P14: cancelling its retry leaves the response in the history once", (start) =>
    Effect.gen(function* () {
      const policy = strategy([60_000])
      const run = yield* start({ scripts: [answer("Well.")], services, strategy: policy })
      yield* TestClock.adjust(1_000)
      yield* policy.wake({ type: "cancelled" })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "failed")
      assert.deepStrictEqual(
        run.sink.of("message").map(({ message }) => message.role),
        ["user", "assistant", "user"]
      )
      assert.deepStrictEqual(end.usage, { inputTokens: 10, outputTokens: 5 })
    })
  )

  bothWays("rule A14: without a report it fails with a synthetic report that has the reason", (start) =>
    Effect.gen(function* () {
      const scripts = ["a", "b", "c", "d", "e", "f"].map((word) => answer(word))
      const run = yield* start({ scripts, services, toolbox, strategy: strategy() })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "failed")
      assert.strictEqual(end.error?.reason, "invalid-response")
      assert.deepStrictEqual(
        run.sink.of("final-turn").map(({ cause, step }) => [cause, step]),
        [["retries-exhausted", 1]]
      )
      const all = ["look", "report"]
      assert.deepStrictEqual(offered(run), [all, all, all, ["report"], ["report"], ["report"]])
      assert.deepStrictEqual(
        run.sink.of("retry-end").map(({ success }) => success),
        [false, false]
      )
      assert.deepStrictEqual(end.report, {
        source: "synthetic",
        success: false,
        content: {
          reason: "invalid-response",
          context: "After 6 attempt(s), in step 2: The response had neither a tool call nor a final report."
        }
      })
      assert.deepStrictEqual(
        run.sink.of("message").map(({ message }) => `${message.role} ${"synthetic" in message}`),
        ["user false", ...Array.from({ length: 5 }, () => ["assistant false", "user true"]).flat(), "assistant false"]
      )
    })
  )

  bothWays(
    "rule A14: when text uses up its attempts, one last step offers the report alone, and may complete the turn",
    (start) =>
      Effect.gen(function* () {
        const run = yield* start({
          scripts: [answer("a"), answer("b"), answer("c"), hands(good)],
          services,
          toolbox,
          strategy: strategy()
        })
        const end = yield* settle(run)
        assert.deepStrictEqual([end.status, end.steps, end.attempts], ["completed", 2, 4])
        assert.deepInclude(end.report, { source: "tool-call", success: true })
        // The rejected text is not in the model's context, and the instruction is.
        assert.deepStrictEqual(
          run.provider.requests[3]?.messages.map(({ role }) => role),
          ["user", "user", "user", "user"]
        )
        assert.match(told(run, 3), /This is the last step of this turn: none of the responses .* Call report now/)
      })
  )

  for (const [what, scripts] of [
    ["an outage behind words", [answer("a"), emits(overloaded), emits(overloaded)]],
    ["an outage", [emits(overloaded), emits(overloaded), emits(overloaded)]],
    ["an answer beyond its limit", [answer("x".repeat(2_000))]]
  ] as const) {
    bothWays(`rule A14: there is no such step after ${what}`, (start) =>
      Effect.gen(function* () {
        const limits = { maxResponseCharacters: 1_000 }
        const run = yield* start({ scripts, services, strategy: strategy(), limits })
        const end = yield* settle(run)
        assert.deepStrictEqual([end.status, end.report?.source], ["failed", "synthetic"])
        assert.strictEqual(run.provider.requests.length, scripts.length)
        assert.deepStrictEqual(run.sink.of("final-turn"), [])
      })
    )
  }

  for (const [what, words] of [
    ["ends before it is complete", '{"findings": "all is w'],
    ["ends in a fence before it is complete", '```json\n{"findings": '],
    ["does not fit its schema", '{"a":1}']
  ] as const) {
    bothWays(`rule A12: a report as text that ${what} shortens the turn, and its former limit is reported`, (start) =>
      Effect.gen(function* () {
        const run = yield* start({
          scripts: [answer(words), look(), hands(good)],
          services,
          toolbox,
          strategy: strategy(),
          limits: { maxTurns: 7 }
        })
        assert.strictEqual((yield* settle(run)).status, "completed")
        assert.deepStrictEqual(
          run.sink.of("final-turn").map(({ cause, shortenedFrom, step }) => [cause, step, shortenedFrom]),
          [["malformed-report", 1, 7]]
        )
      })
    )
  }

  bothWays("rule A12: a turn without a limit is shortened from none", (start) =>
    Effect.gen(function* () {
      const scripts = [answer('{"a":1}'), look(), hands(good)]
      const run = yield* start({ scripts, services, toolbox, strategy: strategy() })
      assert.strictEqual((yield* settle(run)).status, "completed")
      const [final] = run.sink.of("final-turn")
      assert.deepInclude(final, { cause: "malformed-report", step: 1 })
      assert.notProperty(final, "shortenedFrom")
    })
  )

  for (const [what, toolNames, isShortened] of [
    ["in a call of the report", ["look", "report"], true],
    ["in a call of another tool", ["look"], false]
  ] as const) {
    bothWays(`rule A12: a response that breaks off ${what} shortens the turn: ${isShortened}`, (start) =>
      Effect.gen(function* () {
        const cut = ScriptedProvider.throws(badGateway, { type: "tool-calls-cut", toolNames })
        const run = yield* start({
          scripts: [cut, look(), hands(good)],
          services,
          toolbox,
          strategy: strategy(),
          limits: { maxTurns: 7 }
        })
        assert.strictEqual((yield* settle(run)).status, "completed")
        assert.deepStrictEqual(
          run.sink.of("final-turn").map(({ cause, shortenedFrom, step }) => [cause, step, shortenedFrom]),
          isShortened ? [["malformed-report", 1, 7]] : []
        )
        // C7: no part of it ran, and it was no content.
        assert.strictEqual(run.sink.of("tool-call").length, 2)
      })
    )
  }

  bothWays("rule A12: text that is no report does not shorten the turn", (start) =>
    Effect.gen(function* () {
      const run = yield* start({
        scripts: [answer("Well."), answer("42"), answer("null"), look(), hands(good)],
        services,
        toolbox,
        strategy: strategy([0, 0, 0])
      })
      assert.strictEqual((yield* settle(run)).status, "completed")
      assert.deepStrictEqual(run.sink.of("final-turn"), [])
    })
  )

  bothWays("rule A14: the same when an outage, or an error that is not retried, ends it", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [look(), emits(unauthorized)], services, toolbox, strategy: strategy() })
      const end = yield* settle(run)
      assert.deepInclude(end.report, { source: "synthetic", success: false })
      assert.deepStrictEqual(end.report?.content, {
        reason: "auth",
        context: "After 2 attempt(s), in step 2: invalid x-api-key"
      })
    })
  )

  bothWays("rule D9: without a strategy text alone ends it", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [answer("Well.")], services })
      const end = yield* settle(run)
      assert.deepStrictEqual([end.status, end.report?.source], ["failed", "synthetic"])
      assert.deepStrictEqual(run.sink.of("synthetic-retry"), [])
    })
  )

  bothWays("rule A9: the guidance of one turn is not in the context of the next", (start) =>
    Effect.gen(function* () {
      const before = yield* start({ scripts: [answer("Well."), hands(good)], services, strategy: strategy() })
      yield* settle(before)
      const history = before.sink.of("message").map(({ message }) => message)
      const run = yield* start({ scripts: [answer("ok")], history, prompt: "And now?" })
      yield* settle(run)
      assert.deepStrictEqual(
        run.provider.requests[0]?.messages.map(({ role }) => role),
        ["user", "assistant", "tool", "user"]
      )
      assert.strictEqual(told(run, 0), "")
    })
  )
})

describe("a rejected report", () => {
  for (const [what, bad, said] of [
    ["is not valid", { ...call("report"), input: { a: 1 } }, "findings are missing"],
    ["is malformed", { ...call("report"), input: '{"find', malformed: "Unexpected end of JSON input" }, '{"find']
  ] as const) {
    bothWays(`rule A12: a report that ${what} is answered, and leaves one step to correct it`, (start) =>
      Effect.gen(function* () {
        const run = yield* start({ scripts: [tools(bad), hands(good)], services, toolbox, strategy: strategy() })
        const end = yield* settle(run)
        assert.strictEqual(end.status, "completed")
        assert.strictEqual(end.steps, 2)
        const [result] = run.sink.of("tool-result")
        assert.isTrue(result?.isError)
        assert.include(result?.output, said)
        // A10
        assert.deepStrictEqual(run.sink.of("synthetic-retry"), [])
        assert.deepStrictEqual(
          run.sink.of("final-turn").map(({ cause, step }) => [cause, step]),
          [["malformed-report", 1]]
        )
        assert.deepStrictEqual(offered(run), [["look", "report"], ["report"]])
      })
    )
  }

  bothWays("rule A12: it does not lengthen a turn with a lower limit", (start) =>
    Effect.gen(function* () {
      const run = yield* start({
        scripts: [hands({ a: 1 }), hands(good)],
        services,
        toolbox,
        strategy: strategy(),
        limits: { maxTurns: 2 }
      })
      yield* settle(run)
      assert.deepInclude(run.sink.of("final-turn")[0], { cause: "max-turns", step: 1 })
    })
  )

  bothWays("rule A13: a second report does not replace the first", (start) =>
    Effect.gen(function* () {
      const other = { findings: "all is lost" }
      const scripts = [tools({ ...call("report", "1"), input: good }, { ...call("report", "2"), input: other })]
      const run = yield* start({ scripts, services, strategy: strategy() })
      assert.deepStrictEqual((yield* settle(run)).report?.content, good)
    })
  )
})

describe("the final step", () => {
  bothWays("rule A11: at maxTurns it is announced to clients and to the model, and offers the report alone", (start) =>
    Effect.gen(function* () {
      const run = yield* start({
        scripts: [look(), look(), hands(good)],
        services,
        toolbox,
        strategy: strategy(),
        limits: { maxTurns: 3 }
      })
      const end = yield* settle(run)
      assert.deepStrictEqual([end.status, end.steps, end.report?.success], ["completed", 3, true])
      assert.deepStrictEqual(
        run.sink.of("final-turn").map(({ cause, step }) => [cause, step]),
        [["max-turns", 2]]
      )
      assert.deepStrictEqual(offered(run), [["look", "report"], ["look", "report"], ["report"]])
      assert.match(told(run, 2), /^This is the last step of this turn: .* Call report now/)
      assert.strictEqual(told(run, 1), "")
    })
  )

  bothWays("rule A11: is retried until the report comes, after any other response", (start) =>
    Effect.gen(function* () {
      ran.length = 0
      const run = yield* start({
        scripts: [answer("No."), look(), emits(overloaded), hands({ a: 1 }), hands(good)],
        services,
        toolbox,
        strategy: strategy([0, 0, 0, 0]),
        limits: { maxTurns: 1 }
      })
      const end = yield* settle(run)
      assert.deepStrictEqual([end.status, end.steps, end.attempts], ["completed", 1, 5])
      assert.deepStrictEqual(ran, [])
      assert.isTrue(offered(run).every((names) => names.join() === "report"))
      assert.strictEqual(run.sink.of("final-turn").length, 1)
      assert.deepStrictEqual(
        run.sink.of("synthetic-retry").map(({ guidance }) => guidance.slice(0, 50)),
        [
          "TURN-FAILED: The response had neither a tool call ",
          "TURN-FAILED: The response asked for a tool other t",
          "TURN-FAILED: The final report was not valid: findi"
        ]
      )
    })
  )

  bothWays("rule A14: fails with a synthetic report when attempts run out", (start) =>
    Effect.gen(function* () {
      const run = yield* start({
        scripts: [look(), answer("a"), look(), answer("c")],
        services,
        toolbox,
        strategy: strategy(),
        limits: { maxTurns: 2 }
      })
      const end = yield* settle(run)
      assert.deepStrictEqual([end.status, end.attempts, end.report?.source], ["failed", 4, "synthetic"])
    })
  )

  for (const steps of [{}, { maxTurns: 10 }])
    bothWays(`rule A11: comes when the next request would be too long, with limits ${JSON.stringify(steps)}`, (start) =>
      Effect.gen(function* () {
        const asked: Array<Prospect> = []
        const run = yield* start({
          scripts: [look(), hands(good)],
          services,
          toolbox,
          strategy: strategy(),
          limits: {
            ...steps,
            exceedsContext: (prospect) => {
              asked.push(prospect)
              return (prospect.usage?.inputTokens ?? 0) >= 10
            }
          }
        })
        const end = yield* settle(run)
        assert.strictEqual(end.report?.success, true)
        assert.deepInclude(run.sink.of("final-turn")[0], { cause: "context", step: 1 })
        assert.deepStrictEqual(asked.at(-1)?.target, Scenario.target)
        assert.deepStrictEqual(
          asked.at(-1)?.messages.map(({ role }) => role),
          ["user", "assistant", "tool"]
        )
        assert.deepStrictEqual(
          asked.at(-1)?.tools.map(({ name }) => name),
          ["look", "report"]
        )
      })
    )

  bothWays(
    "rule A11: calls beside the report are answered but do not run, and no person is asked about them",
    (start) =>
      Effect.gen(function* () {
        ran.length = 0
        const definitions = [{ name: "look", inputSchema: {}, confirmWithinMs: 5_000 }]
        const run = yield* start({
          scripts: [tools(call("look"), { ...call("report"), input: good })],
          services,
          toolbox: { ...toolbox, definitions },
          strategy: strategy(),
          limits: { maxTurns: 1 }
        })
        assert.strictEqual((yield* settle(run)).status, "completed")
        assert.deepStrictEqual([ran, run.sink.of("provider-retry")], [[], []])
        assert.deepStrictEqual(
          run.sink.of("tool-result").map(({ isError, toolName }) => [toolName, isError]),
          [
            ["look", true],
            ["report", false]
          ]
        )
      })
  )

  bothWays("rule A11: if no report is required, it has no tools and its text is the answer", (start) =>
    Effect.gen(function* () {
      const run = yield* start({
        scripts: [look(), look(), answer("Well.")],
        toolbox,
        strategy: strategy(),
        limits: { maxTurns: 2 }
      })
      const end = yield* settle(run)
      assert.deepStrictEqual([end.status, end.steps, end.report], ["completed", 2, undefined])
      assert.deepStrictEqual(offered(run), [["look"], [], []])
      assert.match(told(run, 2), /Answer now, in words[\s\S]*TURN-FAILED: The response asked for a tool, and no tool/)
    })
  )

  bothWays("rule A13: a turn that ends in time has no final step", (start) =>
    Effect.gen(function* () {
      const limits = { maxTurns: 2, exceedsContext: () => false }
      const run = yield* start({ scripts: [answer("ok")], strategy: strategy(), limits })
      assert.strictEqual((yield* settle(run)).status, "completed")
      assert.deepStrictEqual(run.sink.of("final-turn"), [])
    })
  )
})

describe("limits that change while a turn waits", () => {
  for (const [title, first, then, finals] of [
    ["a step that has begun is not made the last", 9, 1, 0],
    ["the last step stays the last", 1, 9, 1]
  ] as const) {
    bothWays(`rule X1: ${title}`, (start) =>
      Effect.gen(function* () {
        let maxTurns: number = first
        const limits = {
          get maxTurns() {
            return maxTurns
          }
        }
        const policy = strategy([60_000])
        const run = yield* start({
          scripts: [emits(badGateway), hands(good)],
          services,
          strategy: policy,
          limits
        })
        yield* TestClock.adjust(1_000)
        maxTurns = then
        assert.strictEqual((yield* settle(run)).status, "completed")
        assert.strictEqual(run.sink.of("final-turn").length, finals)
      })
    )
  }
})

describe("a bug beside a report", () => {
  bothWays("rule A14: after three bugs of a provider the synthetic report has the reason", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [dies("a"), dies("b"), dies("c")], services, strategy: strategy([0, 0, 0]) })
      const end = yield* settle(run)
      assert.deepStrictEqual([end.status, end.report?.source], ["failed", "synthetic"])
    })
  )
})
