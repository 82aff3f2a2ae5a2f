/** Scenarios of compaction: a context that is too long is made smaller (rule P19). */
import * as Answers from "./Answers.ts"
import { chained, SPARE } from "./ChainShapes.ts"
import * as Rule from "./RuleScenario.ts"
import { ANSWER, SECOND, endsIn } from "./Shapes.ts"

const { callsTool, overloaded, reset, says, status } = Answers
const { aborted, answered, atOnce, called, failed, fallsBack, provedAt, TARGET, turn, waits } = Rule

const INTERACTIVE = { profile: "interactive" } as const

const tooLong = status(400, "too-long")

const SUMMARY = "They said hello."

/** The summary of the older messages, for the model and in the history. */
const STANDS_FOR = `The conversation until here, summed up, because it had become too long:\n\n${SUMMARY}`

/** The request for the summary. */
const TRANSCRIPT = `User:\nHello\n\nAssistant:\n${ANSWER}`

/** Longer than the earlier messages, so that all of them can be summarised. */
const QUESTION = "And is that all that there is to be said?"
const MORE = "So tell me what else there is, and do not leave anything out, however long it may take you to do it."

const AGAIN = "Here I am again."

const greeting: Rule.Turn = turn([says(ANSWER)], answered(), { shown: ANSWER })

/** The turn after a greeting. */
const asks = (turn: Rule.Turn) => [greeting, { ...turn, prompt: QUESTION }] as const

const compacted: ReadonlyArray<Rule.Expected> = [{ type: "compaction", summary: SUMMARY, messages: 2 }, "message"]

const BEFORE = ["user: Hello", `assistant: ${ANSWER}`, `user: ${QUESTION}`] as const

export const scenarios: ReadonlyArray<Rule.Scenario> = [
  {
    title:
      "rule P19: the model summarises the older messages, and the step runs again; no client gets the summary, and the history loses nothing",
    retry: INTERACTIVE,
    format: "anthropic",
    turns: [
      greeting,
      turn([tooLong, says(SUMMARY), says(AGAIN)], [...compacted, ...answered()], {
        prompt: QUESTION,
        asked: [BEFORE, [`user: ${TRANSCRIPT}`], [`user: ${STANDS_FOR}`, `user: ${QUESTION}`]],
        shown: AGAIN
      }),
      turn([says(ANSWER)], answered(), {
        prompt: MORE,
        asked: [[`user: ${STANDS_FOR}`, `user: ${QUESTION}`, `assistant: ${AGAIN}`, `user: ${MORE}`]],
        shown: ANSWER
      })
    ],
    history: [...BEFORE, `summary: ${STANDS_FOR}`, `assistant: ${AGAIN}`, `user: ${MORE}`, `assistant: ${ANSWER}`]
  },
  ...(
    [
      ["by its status", status(413, "too-large")],
      ["by its words", Answers.words(500, "Input is too long for requested model.")],
      ["inside a stream", Answers.failsInStream("too-long")]
    ] as const
  ).map(([how, answer]): Rule.Scenario => ({
    title: `rule P2, P19: an overflow that is recognised ${how} leads to compaction too`,
    retry: INTERACTIVE,
    turns: asks(turn([answer, says(SUMMARY), says(AGAIN)], [...compacted, ...answered()], { shown: AGAIN })),
    history: [...BEFORE, `summary: ${STANDS_FOR}`, `assistant: ${AGAIN}`]
  })),
  {
    title: "rule P2, P19: once: a context that is too long again fails the turn, and is not retried",
    retry: INTERACTIVE,
    turns: asks(turn([tooLong, says(SUMMARY), tooLong], [...compacted, ...failed("context-overflow")])),
    history: [...BEFORE, `summary: ${STANDS_FOR}`, "assistant (context-overflow):"]
  },
  endsIn("rule P19: where nothing can be left out the turn fails with the overflow", "context-overflow", [tooLong], {
    retry: INTERACTIVE,
    format: "anthropic"
  }),
  {
    title: "rule P19: a context that is too long for a summary fails with the overflow too",
    retry: INTERACTIVE,
    turns: asks(turn([tooLong, tooLong], failed("context-overflow"))),
    history: [...BEFORE, "assistant (context-overflow):"]
  },
  {
    title:
      "rule P11, P19: a call for the summary that fails is retried like any other, in one chain with the step's own",
    retry: INTERACTIVE,
    turns: asks(
      turn(
        [reset, tooLong, overloaded, says(SUMMARY), says(AGAIN)],
        [...waits(2 * SECOND, 4 * SECOND), ...compacted, ...answered(1)],
        { shown: AGAIN }
      )
    ),
    history: [...BEFORE, `summary: ${STANDS_FOR}`, `assistant: ${AGAIN}`]
  },
  {
    title: "rule P19: each step of a turn has its own",
    retry: INTERACTIVE,
    tools: ["look"],
    turns: asks(
      turn(
        [tooLong, says(SUMMARY), callsTool("look"), tooLong, says(SUMMARY), says(AGAIN)],
        [...compacted, ...called("look", false), "step-start", ...compacted, ...answered()],
        { shown: AGAIN }
      )
    ),
    history: [
      ...BEFORE,
      `summary: ${STANDS_FOR}`,
      "assistant: calls look",
      "tool: look",
      `summary: ${STANDS_FOR}`,
      `assistant: ${AGAIN}`
    ]
  },
  {
    title: "rule P19, P12: a failed response is not part of the summary",
    retry: { ...INTERACTIVE, enabled: false },
    turns: [
      greeting,
      turn([Answers.breaksOff("Half of")], ["text-delta", ...failed("network")], {
        prompt: QUESTION,
        shown: "Half of"
      }),
      turn([tooLong, says(SUMMARY), says(AGAIN)], [{ type: "compaction", messages: 3 }, "message", ...answered()], {
        prompt: MORE,
        asked: [
          [...BEFORE, `user: ${MORE}`],
          [`user: ${TRANSCRIPT}\n\nUser:\n${QUESTION}`],
          [`user: ${STANDS_FOR}`, `user: ${MORE}`]
        ],
        shown: AGAIN
      })
    ],
    history: [
      ...BEFORE,
      "assistant (network): Half of",
      `user: ${MORE}`,
      `summary: ${STANDS_FOR}`,
      `assistant: ${AGAIN}`
    ]
  },
  {
    title:
      "rule P8, P19: a fallback with a context that is too long makes the summary itself, and has succeeded when it has answered",
    ...chained(SPARE),
    turns: asks(
      turn(
        [overloaded, tooLong, says(SUMMARY), says(AGAIN)],
        [atOnce(0, "overloaded"), ...fallsBack(TARGET, SPARE), ...compacted, ...provedAt(SPARE, 0)],
        { calls: [TARGET, SPARE, SPARE, SPARE], shown: AGAIN }
      )
    ),
    history: [...BEFORE, `summary: ${STANDS_FOR}`, `assistant at ${SPARE}: ${AGAIN}`]
  },
  {
    title: "rule P8, P19: a failed call for the summary continues at the next target, and so does the step",
    ...chained(SPARE),
    turns: asks(
      turn(
        [tooLong, overloaded, says(SUMMARY), says(AGAIN)],
        [atOnce(0, "overloaded"), ...fallsBack(TARGET, SPARE), ...compacted, ...provedAt(SPARE, 0)],
        { calls: [TARGET, TARGET, SPARE, SPARE], shown: AGAIN }
      )
    ),
    history: [...BEFORE, `summary: ${STANDS_FOR}`, `assistant at ${SPARE}: ${AGAIN}`]
  },
  {
    title: "rule M1, P19: a manual retry begins with the summary that was made before the turn failed",
    retry: INTERACTIVE,
    turns: [
      greeting,
      turn([tooLong, says(SUMMARY), status(401, "auth")], [...compacted, ...failed("auth")], { prompt: QUESTION }),
      turn([says(AGAIN)], answered(), {
        prompt: null,
        asked: [[`user: ${STANDS_FOR}`, `user: ${QUESTION}`]],
        shown: AGAIN
      })
    ],
    history: [...BEFORE, `summary: ${STANDS_FOR}`, "assistant (auth):", `assistant: ${AGAIN}`]
  },
  {
    title: "rule P14, P19: an abort while a summary is waited for ends the turn",
    retry: INTERACTIVE,
    turns: asks(
      turn([tooLong, overloaded], [...waits(2 * SECOND), ...aborted(0)], { when: [{ at: 0, act: "abort" }] })
    ),
    history: [...BEFORE, "assistant (aborted):"]
  }
]
