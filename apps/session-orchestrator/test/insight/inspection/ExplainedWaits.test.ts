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
  ExplanationCases.explains([
    {
      title: "a turn that waits",
      plan: { scripts: down(1) },
      live: () => Effect.void,
      expects: ["Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's; 5 s of 8 h spent."]
    },
    {
      title: "a wait that people moved, extended and ended",
      plan: { scripts: [...down(1), answer("Hello")] },
      live: ({ pass, wake }) =>
        Effect.gen(function* () {
          yield* wake({ type: "until", until: Date.parse("2031-04-02T06:00:00Z"), by })
          yield* wake({ type: "extended", byMs: 7_200_000, by })
          yield* pass(hour)
          yield* wake({ type: "now", by })
        }),
      expects: [
        "The wait was moved to 2031-04-02 06:00:00 UTC by HTTP from 127.0.0.1, command k1.",
        "2 h were added to the budget by HTTP from 127.0.0.1, command k1.",
        "The wait was ended by HTTP from 127.0.0.1, command k1, to retry at once.",
        "Attempt 2 was answered (stop)."
      ]
    },
    {
      title: "a wait that was moved to a time that was past: it was over when that was heard, and nothing was late",
      plan: { scripts: [...down(1), answer("Hello")] },
      live: ({ pass, wake }) =>
        Effect.gen(function* () {
          yield* pass(Duration.seconds(2))
          yield* wake({ type: "until", until: 1, by })
          yield* pass(Duration.zero)
        }),
      expects: [
        "The wait was moved to 1970-01-01 00:00:00 UTC by HTTP from 127.0.0.1, command k1.",
        "The wait was over.",
        "Attempt 2 was answered (stop)."
      ]
    },
    {
      title: "a turn that was sent elsewhere",
      plan: { scripts: [...down(1), answer("Hello")] },
      live: ({ wake }) => wake({ type: "switched", target: { provider: "openai", model: "gpt-5" }, by }),
      expects: ["The wait was ended by HTTP from 127.0.0.1, command k1, to continue on openai/gpt-5."]
    },
    {
      title: "retries that were given up",
      plan: { scripts: down(1) },
      live: ({ wake }) => wake({ type: "cancelled", by }),
      expects: [
        "The wait was ended by HTTP from 127.0.0.1, command k1, and the retries given up.",
        'The turn failed after 1 call: overloaded, 529 overloaded_error: "Overloaded".'
      ]
    },
    {
      title: "an abort in a wait",
      plan: { scripts: down(1) },
      live: ({ abort }) => abort,
      expects: ["The wait was ended by an abort of the turn.", "The turn was aborted after 1 call."]
    },
    {
      title: "a wait that failed itself",
      plan: {
        scripts: down(1),
        strategy: (strategy) => ({
          ...strategy,
          sleep: () => Effect.fail(new RetryStrategy.SleepFailure({ message: "The alarm clock is broken." }))
        })
      },
      expects: [
        "The wait itself failed, and there is no retry without it.",
        'The turn failed after 1 call: unknown: "The alarm clock is broken."'
      ]
    },
    {
      title: "a question with an answer",
      plan: { scripts: [...down(1), answer("Hello")], strategy: asking({}) },
      live: ({ pass, wake }) => Effect.andThen(pass(hour), wake({ type: "now", by })),
      expects: [
        "May it go on? The turn asked, and waits for an answer until 2031-04-02 06:58:05 UTC.",
        "The wait was ended by HTTP from 127.0.0.1, command k1, to retry at once.",
        "Attempt 2 was answered (stop)."
      ]
    },
    {
      title: "a question after which the turn goes on without an answer",
      plan: { scripts: [...down(1), answer("Hello")], strategy: asking({ goesOn: true }) },
      expects: ["The wait was over.", "Attempt 2 was answered (stop)."]
    },
    {
      title: "a question without an answer",
      plan: { scripts: down(1), strategy: asking({}) },
      expects: [
        "The question got no answer, and the turn gave up.",
        'The turn failed after 1 call and 8 h 5 s of waiting: overloaded: "May it go on? Nobody answered within 8 h. The last error was: Overloaded".'
      ]
    }
  ]))
