/**
 * A turn with nearly every kind of event: a context that is too long, an overloaded provider, a fallback, text instead of a report, a tool,
 * a rejected report, the last step, and a valid report.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Compactor } from "../src/ports/Compactor.ts"
import { FinalReport } from "../src/ports/FinalReport.ts"
import type * as Scenario from "./Scenario.ts"
import * as ScriptedProvider from "./ScriptedProvider.ts"
import { TestRouter } from "./TestRouter.ts"
import { TestStrategy } from "./TestStrategy.ts"

const { answer, call, emits, overloaded, throws, tools } = ScriptedProvider

/** The target after its own is overloaded. */
export const fallback = { provider: "other", model: "big" }

/** The turn, which completes after seven calls. */
export const turn = () =>
  ({
    scripts: [
      emits({ reason: "context-overflow", message: "prompt is too long", retryable: false }),
      throws(overloaded),
      answer("no report"),
      tools(call("good")),
      tools({ ...call("report"), input: "bad" }),
      tools({ ...call("report"), input: "good" })
    ],
    strategy: new TestStrategy({ delays: [0, 0, 0] }),
    toolbox: {
      definitions: [{ name: "good", inputSchema: {} }],
      run: () => Effect.succeed({ output: "done", isError: false })
    },
    services: Layer.mergeAll(
      Layer.succeed(Compactor, {
        compact: ({ messages: [first] }) =>
          Effect.succeed(
            first && { summary: "They talked.", upTo: first.id, usage: { inputTokens: 100, outputTokens: 10 } }
          )
      }),
      new TestRouter({ direct: () => ({ delayMs: 0, route: { target: fallback, role: "default" } }) }).layer,
      Layer.succeed(FinalReport, {
        tool: { name: "report", inputSchema: {} },
        validate: (value) => (value === "good" ? undefined : "it is not good")
      })
    )
  }) satisfies Scenario.Options
