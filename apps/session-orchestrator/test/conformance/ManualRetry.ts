/** Scenarios of manual retries (rules M). */
import * as Answers from "./Answers.ts"
import * as Rule from "./RuleScenario.ts"
import { ANSWER, SECOND, outlives } from "./Shapes.ts"

const { breaksOff, overloaded, says, status } = Answers

/** A manual retry that is answered; the model got nothing but the prompt. */
const again: Rule.Turn = Rule.turn([says(ANSWER)], Rule.answered(), {
  prompt: null,
  asked: [["user: Hello"]],
  shown: ANSWER
})

const STEP: ReadonlyArray<Rule.Expected> = [...Rule.called("send", true), "step-start"]

const INTERACTIVE = { profile: "interactive" } as const

const manual: ReadonlyArray<Rule.Scenario> = [
  {
    title: "rule M1: after an error before content it runs the model again from the last user message",
    format: "anthropic",
    turns: [Rule.turn([status(401, "auth")], Rule.failed("auth")), again],
    history: ["user: Hello", "assistant (auth):", `assistant: ${ANSWER}`]
  },
  {
    title:
      "rule M1: after an answer that broke off it runs the prompt again: the partial text stays in the history, and the model never gets it",
    format: "anthropic",
    turns: [Rule.turn([breaksOff("Half of")], ["text-delta", ...Rule.failed("network")], { shown: "Half of" }), again],
    history: ["user: Hello", "assistant (network): Half of", `assistant: ${ANSWER}`]
  },
  {
    title: "rule M1: after an abort in the middle of an answer",
    format: "anthropic",
    turns: [
      Rule.turn([Answers.holds("Half of")], ["text-delta", ...Rule.aborted()], {
        when: [{ at: "held", act: "abort" }],
        shown: "Half of"
      }),
      again
    ],
    history: ["user: Hello", "assistant (aborted): Half of", `assistant: ${ANSWER}`]
  },
  {
    title: "rule M1: after an abort in a wait",
    turns: [
      Rule.turn([overloaded], [...Rule.waits(5 * SECOND), ...Rule.aborted(0)], { when: [{ at: 0, act: "abort" }] }),
      again
    ],
    history: ["user: Hello", "assistant (aborted):", `assistant: ${ANSWER}`]
  },
  {
    title: "rule M1, P10: after retries that were exhausted, with retries of its own that count from 0",
    retry: { ...INTERACTIVE, maxRetries: 1 },
    turns: [
      Rule.turn([overloaded, overloaded], [...Rule.waits(2 * SECOND), ...Rule.failed("overloaded", { attempt: 0 })]),
      Rule.turn([overloaded, says(ANSWER)], [...Rule.waits(2 * SECOND), ...Rule.answered(0)], {
        prompt: null,
        asked: [["user: Hello"], ["user: Hello"]],
        shown: ANSWER
      })
    ],
    history: ["user: Hello", "assistant (overloaded):", `assistant: ${ANSWER}`]
  },
  {
    title: "rule M1, P12: after several manual retries the model still gets none of the failed responses",
    turns: [
      Rule.turn([breaksOff("One")], ["text-delta", ...Rule.failed("network")], { shown: "One" }),
      Rule.turn([breaksOff("Two")], ["text-delta", ...Rule.failed("network")], {
        prompt: null,
        asked: [["user: Hello"]],
        shown: "Two"
      }),
      again
    ],
    history: ["user: Hello", "assistant (network): One", "assistant (network): Two", `assistant: ${ANSWER}`]
  },
  {
    title: "rule M1: after an error in a later step it keeps the steps that were finished",
    format: "anthropic",
    turns: [
      Rule.turn([Answers.callsTool("send"), breaksOff("Half of")], [...STEP, "text-delta", ...Rule.failed("network")], {
        shown: "Half of"
      }),
      Rule.turn([says(ANSWER)], Rule.answered(), {
        prompt: null,
        asked: [["user: Hello", "assistant calls send", "tool"]],
        shown: ANSWER
      })
    ],
    history: [
      "user: Hello",
      "assistant: calls send",
      "tool: send failed",
      "assistant (network): Half of",
      `assistant: ${ANSWER}`
    ]
  }
]

const aborts: ReadonlyArray<Rule.Scenario> = [
  outlives(
    "rule M3: an abort that the user did not ask for is retried after 2, 4 and 8 s: in the stream's words, or by status",
    [
      Answers.failsInWords("Request was aborted."),
      Answers.words(499, "Client closed request"),
      Answers.failsInWords("aborted")
    ],
    Rule.waits(2 * SECOND, 4 * SECOND, 8 * SECOND).map((wait) => ({ ...wait, reason: "aborted" })),
    { retry: INTERACTIVE }
  )
]

export const scenarios = [...manual, ...aborts]
