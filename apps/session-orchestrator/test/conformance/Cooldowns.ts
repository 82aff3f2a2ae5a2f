/** Scenarios of cooldowns that outlive a step or a turn, and of the way back to the primary (rules P3, P8, P9). */
import * as Answers from "./Answers.ts"
import { AT_SPARE, begunOn, chain, chained, never, secondTurn, SPARE, takenOver, TWO } from "./ChainShapes.ts"
import * as Rule from "./RuleScenario.ts"
import { ANSWER, MINUTE, SECOND } from "./Shapes.ts"

const { asks, callsTool, holds, overloaded, says, takes } = Answers

/** The fallback answers so late that the primary's cooldown of 5 minutes is over. */
const late = takes(6 * MINUTE, says(ANSWER))

/** A turn that begins on the primary, after a turn that ended on a fallback. */
const returned: ReadonlyArray<Rule.Expected> = [
  "turn-start",
  "message",
  { type: "model-change", from: SPARE, to: Rule.TARGET },
  { type: "step-start", target: Rule.TARGET },
  ...Rule.answered()
]

const badRequest = Answers.words(400, "temperature: must be at most 2")

const TOOL_AT_SPARE: ReadonlyArray<Rule.Expected> = [
  Rule.atOnce(0, "overloaded"),
  ...Rule.fallsBack(Rule.TARGET, SPARE),
  { type: "retry-end", success: true, attempt: 0 },
  { type: "retry-fallback-succeeded", model: SPARE, role: "default" },
  ...Rule.called("send", true)
]

export const scenarios: ReadonlyArray<Rule.Scenario> = [
  {
    title: "rule P8, P9, P15: the state of a conversation has the target of its next step",
    ...chained(SPARE),
    scale: 1,
    turns: [
      {
        given: [overloaded, says(ANSWER)],
        when: [{ at: "start", act: { reads: { model: Rule.TARGET } } }],
        follows: takenOver
      },
      {
        ...secondTurn([SPARE], begunOn(SPARE)),
        when: [{ at: "start", act: { reads: { status: "idle", model: SPARE } } }]
      },
      {
        prompt: "So?",
        given: [holds("There is")],
        when: [
          { at: "held", act: { reads: { status: "running", model: SPARE } } },
          { at: "held", act: "abort" }
        ],
        follows: {
          calls: [SPARE],
          events: ["turn-start", "message", { type: "step-start", target: SPARE }, "text-delta", ...Rule.aborted()],
          shown: "There is"
        }
      }
    ],
    history: ["user: Hello", AT_SPARE, "user: And?", AT_SPARE, "user: So?", `assistant at ${SPARE} (aborted): There is`]
  },
  {
    title: "rule X4, P8: after a turn that a person sent to another target the next one has a change back",
    targets: TWO,
    turns: [
      Rule.turn(
        [overloaded, says(ANSWER)],
        [
          { type: "provider-retry", attempt: 0, delayMs: 5 * SECOND },
          { type: "model-change", from: Rule.TARGET, to: SPARE },
          ...Rule.answered(0)
        ],
        { when: [{ at: 0, act: { switchesTo: SPARE } }], calls: TWO, shown: ANSWER }
      ),
      secondTurn([Rule.TARGET], returned)
    ],
    history: ["user: Hello", AT_SPARE, "user: And?", `assistant: ${ANSWER}`]
  },
  {
    title: "rule P8: a fallback that has failed in one turn and answers in the next has succeeded then, and only then",
    retry: { ...chain(SPARE), maxRetries: 1 },
    targets: TWO,
    scale: 1,
    turns: [
      Rule.turn(
        [overloaded, badRequest],
        [
          Rule.atOnce(0, "overloaded"),
          ...Rule.fallsBack(Rule.TARGET, SPARE),
          ...Rule.failed("bad-request", { attempt: 0 })
        ],
        { calls: TWO }
      ),
      secondTurn([SPARE], ["turn-start", "message", { type: "step-start", target: SPARE }, ...Rule.provedAt(SPARE)]),
      { ...secondTurn([SPARE], begunOn(SPARE)), prompt: "So?" }
    ],
    history: ["user: Hello", `assistant at ${SPARE} (bad-request):`, "user: And?", AT_SPARE, "user: So?", AT_SPARE]
  },
  {
    title:
      "rule P8, P9: while its primary cools down the next turn begins on the fallback of the last one, without a model change",
    ...chained(SPARE),
    scale: 1,
    turns: [{ given: [overloaded, says(ANSWER)], follows: takenOver }, secondTurn([SPARE], begunOn(SPARE))],
    history: ["user: Hello", AT_SPARE, "user: And?", AT_SPARE]
  },
  {
    title:
      "rule P3, P9: after the cooldown the next turn begins on the primary, with a model change, unless the settings prevent it",
    ...chained(SPARE),
    turns: [{ given: [overloaded, late], follows: takenOver }, secondTurn([Rule.TARGET], returned)],
    history: ["user: Hello", AT_SPARE, "user: And?", `assistant: ${ANSWER}`]
  },
  {
    title: 'rule P9: under "never" it does not',
    ...never(SPARE),
    turns: [{ given: [overloaded, late], follows: takenOver }, secondTurn([SPARE], begunOn(SPARE))],
    history: ["user: Hello", AT_SPARE, "user: And?", AT_SPARE]
  },
  {
    title: "rule P9: in the middle of a turn the first step after the cooldown is the primary's",
    ...chained(SPARE),
    ...Rule.turn(
      [overloaded, takes(6 * MINUTE, callsTool("send")), says(ANSWER)],
      [
        ...TOOL_AT_SPARE,
        { type: "model-change", from: SPARE, to: Rule.TARGET },
        { type: "step-start", step: 1, target: Rule.TARGET },
        ...Rule.answered()
      ],
      { calls: [Rule.TARGET, SPARE, Rule.TARGET], shown: ANSWER }
    ),
    history: ["user: Hello", `assistant at ${SPARE}: calls send`, "tool: send failed", `assistant: ${ANSWER}`]
  },
  {
    title: 'rule P9: with "never" the turn stays on its target',
    ...never(SPARE),
    ...Rule.turn(
      [overloaded, takes(6 * MINUTE, callsTool("send")), says(ANSWER)],
      [...TOOL_AT_SPARE, { type: "step-start", step: 1, target: SPARE }, ...Rule.answered()],
      { calls: [Rule.TARGET, SPARE, SPARE], shown: ANSWER }
    ),
    history: ["user: Hello", `assistant at ${SPARE}: calls send`, "tool: send failed", AT_SPARE]
  },
  {
    title: "rule P8: a cooldown has its configured length, or the longer one that the provider asks for",
    retry: {
      profile: "interactive",
      routing: { type: "fallback-chain", chains: { default: [SPARE] }, cooldown: "1 minute" }
    },
    targets: TWO,
    // The second step has two seconds to begin.
    scale: 80,
    ...Rule.turn(
      [asks(4 * MINUTE, "retry-after"), takes(65 * SECOND, callsTool("send")), says(ANSWER)],
      [
        Rule.atOnce(0, "rate-limited"),
        ...TOOL_AT_SPARE.slice(1),
        { type: "step-start", step: 1, target: SPARE },
        ...Rule.answered()
      ],
      { calls: [Rule.TARGET, SPARE, SPARE], shown: ANSWER }
    ),
    history: ["user: Hello", `assistant at ${SPARE}: calls send`, "tool: send failed", AT_SPARE]
  },
  {
    title: "rule M1, P8: a manual retry begins on a target that is not cooling down",
    retry: { ...chain(SPARE), maxRetries: 0 },
    targets: TWO,
    scale: 1,
    turns: [
      Rule.turn([overloaded], Rule.failed("overloaded")),
      {
        prompt: null,
        given: [says(ANSWER)],
        follows: {
          calls: [SPARE],
          asked: [["user: Hello"]],
          events: [
            ...Rule.BEGUN_AGAIN.slice(0, 1),
            ...Rule.fallsBack(Rule.TARGET, SPARE),
            { type: "step-start", target: SPARE },
            ...Rule.provedAt(SPARE)
          ],
          shown: ANSWER
        }
      }
    ],
    history: ["user: Hello", "assistant (overloaded):", AT_SPARE]
  }
]
