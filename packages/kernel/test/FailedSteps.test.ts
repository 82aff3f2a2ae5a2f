/** Turns whose model makes only failed tool calls, step after step. */
import { assert, describe, it } from "@effect/vitest"
import {
  Property,
  RecordingSink,
  ReplayCheckpoint,
  Scenario,
  ScriptedProvider,
  TestStrategy
} from "@holdfast/kernel/testing"
import type { Message } from "@holdfast/wire"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { MOST_FAILED_TOOL_STEPS } from "../src/turn/TurnLimits.ts"
import { FinalReport } from "../src/ports/FinalReport.ts"

const { bothWays, settle } = Scenario
const { answer, call, emits, overloaded, tools } = ScriptedProvider

/** Tool calls; each succeeds or fails as given. */
const asks = (...outcomes: ReadonlyArray<boolean>) =>
  tools(...outcomes.map((isGood, i) => call(isGood ? "good" : "bad", `call-${i}`)))

const toolbox = {
  definitions: [],
  run: ({ toolName }: Message.ToolCallPart) =>
    Effect.succeed(
      toolName === "good" ? { output: "done", isError: false } : { output: `There is no ${toolName}.`, isError: true }
    )
}

/** The step after which a turn failed, counted from 1; `undefined`: it completed. */
const endOf = (steps: ReadonlyArray<ReadonlyArray<boolean>>, most: number): number | undefined => {
  const last = steps.findIndex(
    (_, i) =>
      most > 0 && i + 1 >= most && steps.slice(i + 1 - most, i + 1).every((outcomes) => !outcomes.includes(true))
  )
  return last === -1 ? undefined : last + 1
}

const steps = fc.array(fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }), { maxLength: 12 })

describe("a model that makes only failed tool calls", () => {
  for (const [how, start] of [
    ["in its first life", Scenario.straight],
    ["run again after every record", Scenario.replayed]
  ] as const) {
    Property.prop(
      `is stopped at the limit, unless a call in between succeeds (${how})`,
      fc.tuple(steps, fc.nat(6)),
      ([steps, most]) =>
        Effect.gen(function* () {
          const run = yield* start({
            scripts: [...steps.map((outcomes) => asks(...outcomes)), answer("ok")],
            toolbox,
            limits: { maxFailedToolSteps: most }
          })
          const end = yield* settle(run)
          const last = endOf(steps, most)
          assert.strictEqual(end.status, last === undefined ? "completed" : "failed")
          assert.strictEqual(end.steps, last ?? steps.length + 1)
          assert.strictEqual(run.provider.requests.length, end.steps)
          assert.strictEqual(run.sink.of("turn-end").length, 1)
        })
    )
  }

  bothWays("is stopped after five steps by default, with the result of the last call", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: Array.from({ length: 17 }, () => asks(false)), toolbox })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "failed")
      assert.strictEqual(run.provider.requests.length, MOST_FAILED_TOOL_STEPS)
      assert.deepStrictEqual(end.error, {
        reason: "invalid-response",
        message:
          "The model made nothing but failed tool calls in 5 steps in a row. The last one, of bad: There is no bad.",
        retryable: false
      })
      // Every call keeps its result, and the error comes after them.
      assert.strictEqual(run.sink.of("tool-result").length, MOST_FAILED_TOOL_STEPS)
      assert.deepInclude(run.sink.of("error")[0], { reason: "invalid-response" })
    })
  )

  it.effect("is stopped with a quotation of the last result, cut after 300 characters", () =>
    Effect.gen(function* () {
      const quoted = (output: Message.ToolResultPart["output"]) =>
        Effect.gen(function* () {
          const failing = { definitions: [], run: () => Effect.succeed({ output, isError: true }) }
          const limits = { maxFailedToolSteps: 1 }
          const run = yield* Scenario.straight({ scripts: [asks(false, false)], toolbox: failing, limits })
          const { error } = yield* settle(run)
          return error?.message.split("of bad: ")[1]
        })
      assert.strictEqual(yield* quoted("x".repeat(300)), "x".repeat(300))
      assert.strictEqual(yield* quoted("x".repeat(301)), `${"x".repeat(300)}…`)
      assert.strictEqual(yield* quoted({ code: 7 }), '{"code":7}')
    })
  )

  bothWays("rule A14: is stopped with a synthetic report, if a report is required", (start) =>
    Effect.gen(function* () {
      const report = { tool: { name: "report", inputSchema: { type: "object" } }, validate: () => undefined }
      const run = yield* start({
        scripts: Array.from({ length: 17 }, () => asks(false)),
        toolbox,
        services: Layer.succeed(FinalReport, report)
      })
      const end = yield* settle(run)
      assert.strictEqual(run.provider.requests.length, MOST_FAILED_TOOL_STEPS)
      assert.deepInclude(end.report, { source: "synthetic", success: false })
    })
  )

  it.effect("rule X1: is not stopped in a step that has begun under another limit", () =>
    Effect.gen(function* () {
      const shared = {
        replay: new ReplayCheckpoint.ReplayCheckpoint(),
        sink: new RecordingSink.RecordingSink(),
        toolbox
      }
      const begin = (scripts: Scenario.Options["scripts"], maxFailedToolSteps: number) =>
        Scenario.replayed({
          ...shared,
          scripts,
          limits: { maxFailedToolSteps },
          strategy: new TestStrategy.TestStrategy({ delays: [60_000] })
        })
      const first = yield* begin([asks(false), asks(false), emits(overloaded)], 9)
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(first.fiber)
      const second = yield* begin([asks(true), answer("ok")], 2)
      assert.strictEqual((yield* settle(second)).status, "completed")
    })
  )
})
