/** Tests the sentences about waits: commands, questions, and their ends. */
import { describe } from "@effect/vitest"
import { RetryStrategy } from "@holdfast/kernel"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Duration, Effect } from "effect"
import * as ScriptedTurn from "./ScriptedTurn.ts"
import * as ExplanationCases from "./ExplanationCases.ts"

const { answer } = ScriptedProvider
const { by } = ScriptedTurn
const { down } = ExplanationCases

const hour = Duration.hours(1)

const asking =
  (more: { readonly goesOn?: true }) =>
  (strategy: RetryStrategy.RetryStrategy["Service"]): RetryStrategy.RetryStrategy["Service"] => ({
    ...strategy,
    ask: ({ waitedMs }) => ({
      asks: { because: "turn", tokens: 9, limit: 1, waitedMs, message: "May it go on?", ...more },
      answerWithinMs: 8 * 3_600_000
    })
  })

describe("a wait", () =>
  ExplanationCases.explains({
    "a turn that waits": [
      { scripts: down(1), live: () => Effect.void },
      "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's; 5 s of 8 h spent."
    ],
    "a wait that people moved, extended and ended": [
      {
        scripts: [...down(1), answer("Hello")],
        live: ({ pass, wake }) =>
          Effect.gen(function* () {
            yield* wake({ type: "until", until: Date.parse("2031-04-02T06:00:00Z"), by })
            yield* wake({ type: "extended", byMs: 7_200_000, by })
            yield* pass(hour)
            yield* wake({ type: "now", by })
          })
      },
      "The wait was moved to 2031-04-02 06:00:00 UTC by HTTP from 127.0.0.1, command k1.",
      "2 h were added to the budget by HTTP from 127.0.0.1, command k1.",
      "The wait was ended by HTTP from 127.0.0.1, command k1, to retry at once.",
      "Attempt 2 was answered (stop)."
    ],
    "a wait that was moved to a time that was past: it was over when that was heard, and nothing was late": [
      {
        scripts: [...down(1), answer("Hello")],
        live: ({ pass, wake }) =>
          Effect.gen(function* () {
            yield* pass(Duration.seconds(2))
            yield* wake({ type: "until", until: 1, by })
            yield* pass(Duration.zero)
          })
      },
      "The wait was moved to 1970-01-01 00:00:00 UTC by HTTP from 127.0.0.1, command k1.",
      "The wait was over.",
      "Attempt 2 was answered (stop)."
    ],
    "a turn that was sent elsewhere": [
      {
        scripts: [...down(1), answer("Hello")],
        live: ({ wake }) => wake({ type: "switched", target: { provider: "openai", model: "gpt-5" }, by })
      },
      "The wait was ended by HTTP from 127.0.0.1, command k1, to continue on openai/gpt-5."
    ],
    "retries that were given up": [
      { scripts: down(1), live: ({ wake }) => wake({ type: "cancelled", by }) },
      "The wait was ended by HTTP from 127.0.0.1, command k1, and the retries given up.",
      'The turn failed after 1 call: overloaded, 529 overloaded_error: "Overloaded".'
    ],
    "an abort in a wait": [
      { scripts: down(1), live: ({ abort }) => abort },
      "The wait was ended by an abort of the turn.",
      "The turn was aborted after 1 call."
    ],
    "a wait that failed itself": [
      {
        scripts: down(1),
        strategy: (strategy) => ({
          ...strategy,
          sleep: () => Effect.fail(new RetryStrategy.SleepFailure({ message: "The alarm clock is broken." }))
        })
      },
      "The wait itself failed, and there is no retry without it.",
      'The turn failed after 1 call: unknown: "The alarm clock is broken."'
    ],
    "a question with an answer": [
      {
        scripts: [...down(1), answer("Hello")],
        strategy: asking({}),
        live: ({ pass, wake }) => Effect.andThen(pass(hour), wake({ type: "now", by }))
      },
      "May it go on? The turn asked, and waits for an answer until 2031-04-02 06:58:05 UTC.",
      "The wait was ended by HTTP from 127.0.0.1, command k1, to retry at once.",
      "Attempt 2 was answered (stop)."
    ],
    "a question after which the turn goes on without an answer": [
      { scripts: [...down(1), answer("Hello")], strategy: asking({ goesOn: true }) },
      "The wait was over.",
      "Attempt 2 was answered (stop)."
    ],
    "a question without an answer": [
      { scripts: down(1), strategy: asking({}) },
      "The question got no answer, and the turn gave up.",
      'The turn failed after 1 call and 8 h 5 s of waiting: overloaded: "May it go on? Nobody answered within 8 h. The last error was: Overloaded".'
    ]
  }))
