/** Tests the sentences about targets, lost attempts, and work in progress. */
import { describe } from "@effect/vitest"
import { Compactor, FinalReport } from "@holdfast/kernel"
import { ScriptedProvider, TestRouter } from "@holdfast/kernel/testing"
import { Failure } from "@holdfast/wire"
import { Duration, Effect, Layer } from "effect"
import * as ScriptedTurn from "./ScriptedTurn.ts"
import * as ExplanationCases from "./ExplanationCases.ts"

const { answer, call, emits, text, tools } = ScriptedProvider
const { hangs } = ScriptedTurn
const { down, overloaded, quota, tooLong } = ExplanationCases

const hour = Duration.hours(1)

const fallback = { target: { provider: "openai", model: "gpt-5" }, role: "default" }

const sends = (move: TestRouter.Move) => new TestRouter.TestRouter({ direct: () => move }).layer

/** A compactor that gives these results, one after another. */
const compactor = (...does: ReadonlyArray<Effect.Effect<never, Failure.ProviderFailure> | string | undefined>) => {
  let n = 0
  return Layer.succeed(Compactor.Compactor, {
    compact: ({ messages }) => {
      const what = does[n++]
      if (what !== undefined && typeof what !== "string") return what
      const upTo = messages[0]?.id
      return Effect.succeed(what === undefined || upTo === undefined ? undefined : { summary: what, upTo })
    }
  })
}

const report = Layer.succeed(FinalReport.FinalReport, {
  tool: { name: "report", inputSchema: {} },
  validate: () => undefined
})

describe("a turn", () =>
  ExplanationCases.explains({
    "a switch to a fallback": [
      { scripts: [...down(1), answer("Hello")], services: sends({ delayMs: 0, route: fallback }) },
      'Attempt 1 failed before any content: overloaded, 529 overloaded_error: "Overloaded".',
      "Retry 1 at once, on openai/gpt-5, of the chain default.",
      "Attempt 2 was answered (stop).",
      "The turn was answered after 2 calls."
    ],
    "a switch to another credential": [
      {
        scripts: [emits(quota), answer("Hello")],
        services: sends({ delayMs: 0, route: { target: { provider: "openai", model: "gpt-5" }, credential: "second" } })
      },
      "Retry 1 at once, on openai/gpt-5 with credential second."
    ],
    "a round that has to wait": [
      {
        scripts: [...down(1), answer("Hello")],
        services: sends({ delayMs: 7_000, route: { target: fallback.target } })
      },
      "Retry 1 at 2031-04-01 22:58:07 UTC, after 7 s, on openai/gpt-5.",
      "The wait was over."
    ],
    "a context that was made smaller, and the wait for it": [
      {
        scripts: [emits(tooLong), answer("Hello")],
        services: compactor(Effect.fail(new Failure.ProviderFailure({ failure: overloaded })), "So far.")
      },
      'Attempt 1 failed before any content: context-overflow: "prompt is too long".',
      'Call 2, for a summary, failed: overloaded, 529 overloaded_error: "Overloaded".',
      "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's; 5 s of 8 h spent.",
      "Call 3, for a summary, was answered: the summary replaces the older messages from here on.",
      "Attempt 4 was answered (stop).",
      "The turn was answered after 4 calls and 5 s of waiting."
    ],
    "a context that could not be made smaller": [
      { scripts: [emits(tooLong)], services: compactor(undefined) },
      "Gave up: a context that is too long for the model is not sent again.",
      "No part of the context could be left out.",
      'The turn failed after 1 call: context-overflow: "prompt is too long".'
    ],
    "a context whose older part was too long itself": [
      {
        scripts: [emits(tooLong)],
        services: compactor(Effect.fail(new Failure.ProviderFailure({ failure: tooLong })))
      },
      'Call 2, for a summary, was too long itself: context-overflow: "prompt is too long". No part of the context could be left out.',
      'The turn failed after 2 calls: context-overflow: "prompt is too long".'
    ],
    "text although a report was required": [
      { scripts: [answer("Well."), tools(call("report"))], services: report },
      'Attempt 1 failed after content had left: invalid-response: "The response had neither a tool call nor a final report."',
      "Attempt 2 was answered (tool-calls)."
    ],
    "an abort in an attempt": [
      { scripts: [hangs(text("Hel"))], live: ({ abort }) => abort },
      "Attempt 1 was cut short, after content had left: the turn ended.",
      "The turn was aborted after 1 call."
    ],
    "an abort before any content": [
      { scripts: [...down(1), hangs()], live: ({ abort, pass }) => Effect.andThen(pass(hour), abort) },
      "The wait was over.",
      "Attempt 2 was cut short: the turn ended."
    ],
    "an attempt whose process died after content had left": [
      { scripts: [answer("Hel"), answer("Hello")], diesBefore: "step/0/attempt/0" },
      "Attempt 1 was lost: its process died after content had left. The shown text is void; the attempt costs no retry.",
      "Attempt 2 was answered (stop)."
    ],
    "a tool call whose process died, beside an answered and a failed call": [
      {
        scripts: [tools(call("search"), call("mail"), call("unknown")), answer("Done")],
        toolbox: {
          definitions: [],
          run: ({ toolName }) => Effect.succeed({ output: toolName, isError: toolName === "unknown" })
        },
        diesBefore: "step/0/tool/1"
      },
      "Attempt 1 was answered (tool-calls).",
      "Tool call 1, search, was answered.",
      "Tool call 2, mail, was running when its process died. It was not run again; the model was informed that its outcome is unknown.",
      "Attempt 1 was answered (stop).",
      "The turn was answered after 2 calls."
    ],
    "a turn in the middle of an answer": [
      { scripts: [...down(1), hangs(text("Hel"))], live: ({ pass }) => pass(hour) },
      "Attempt 2 is under way, and content has left."
    ],
    "a turn whose tools have run": [
      {
        scripts: [tools(call("search")), hangs()],
        toolbox: { definitions: [], run: () => Effect.succeed({ output: "found", isError: false }) },
        live: ({ pass }) => pass(hour)
      },
      "Tool call 1, search, was answered.",
      "Attempt 1 is under way."
    ]
  }))
