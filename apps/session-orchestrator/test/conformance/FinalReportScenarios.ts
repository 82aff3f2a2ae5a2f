/** Scenarios of turns that have to end with a report (rules A9, A13, A14). */
import * as Answers from "./Answers.ts"
import { SPARE, THIRD, THREE, TWO, chain } from "./ChainShapes.ts"
import * as Report from "./ReportShapes.ts"
import { type Scenario, aborted, atOnce, called, TARGET, turn } from "./RuleScenario.ts"
import { SECOND } from "./Shapes.ts"

const { callsTool, failsInStream, overloaded, reports, says, status, REPORT } = Answers
const { AT_LIMIT, END_NOW, GOOD, GO_ON, HANDED_IN, NEITHER, REPORTING, SPENT } = Report
const { ends, failedFor, failsWith, lastBegins, refused, rejected, reported, spent } = Report

const guidance: ReadonlyArray<Scenario> = [
  {
    title: "rule A13: a report that is handed in ends the turn, and is in its seal",
    retry: REPORTING,
    format: "anthropic",
    ...turn([reports(GOOD)], reported(), { offered: [[REPORT]] }),
    history: ["user: Hello", ...HANDED_IN]
  },
  {
    title: "rule A13: so does an answer that is a report as a whole",
    retry: REPORTING,
    ...turn(
      [says(JSON.stringify(GOOD))],
      [
        "text-delta",
        "usage",
        "message",
        { type: "turn-end", status: "completed", report: { source: "tool-message", success: true, content: GOOD } }
      ],
      { shown: JSON.stringify(GOOD) }
    ),
    history: ["user: Hello", `assistant: ${JSON.stringify(GOOD)}`]
  },
  {
    title:
      "rule A9, A15: an answer of words alone is retried: the model gets the guidance, and nothing else of the attempt",
    retry: REPORTING,
    format: "anthropic",
    ...turn([says("All is well."), reports(GOOD)], [...refused(0, true), ...reported(0)], {
      asked: [["user: Hello"], ["user: Hello", `user: ${failedFor(NEITHER, GO_ON)}`]],
      shown: "All is well."
    }),
    history: ["user: Hello", ...rejected("All is well.", failedFor(NEITHER, GO_ON)), ...HANDED_IN]
  },
  {
    title: "rule A9, P12: the guidance of one turn is not in the context of the next",
    retry: REPORTING,
    turns: [
      turn([says("All is well."), reports(GOOD)], [...refused(0, true), ...reported(0)], { shown: "All is well." }),
      turn([reports(GOOD)], reported(), {
        prompt: "And?",
        asked: [["user: Hello", `assistant calls ${REPORT}`, "tool", "user: And?"]]
      })
    ],
    history: [
      "user: Hello",
      ...rejected("All is well.", failedFor(NEITHER, GO_ON)),
      ...HANDED_IN,
      "user: And?",
      ...HANDED_IN
    ]
  },
  {
    title: "rule A9: its retries belong to one chain with those of an outage",
    retry: { ...REPORTING, maxRetries: 4 },
    ...turn(
      [says("Well."), Answers.reset, failsInStream("overloaded"), reports(GOOD)],
      [
        ...refused(0, true),
        { type: "provider-retry", attempt: 1, delayMs: 2 * SECOND },
        atOnce(2, "overloaded"),
        ...reported(2)
      ],
      { shown: "Well." }
    ),
    history: ["user: Hello", ...rejected("Well.", failedFor(NEITHER, GO_ON)), ...HANDED_IN]
  },
  {
    title: "rule A9, P8: a target without tools is no fallback if a report is required",
    retry: { ...REPORTING, ...chain(SPARE, THIRD) },
    targets: THREE,
    models: { "spare/m": { tools: false } },
    ...turn(
      [overloaded, reports(GOOD)],
      [
        atOnce(0, "overloaded"),
        { type: "retry-fallback-applied", from: TARGET, to: "third/m" },
        "model-change",
        { type: "retry-end", success: true, attempt: 0 },
        { type: "retry-fallback-succeeded", model: "third/m" },
        ...reported()
      ],
      { calls: [TARGET, "third/m"] }
    ),
    history: ["user: Hello", `assistant at third/m: calls ${REPORT}`, `tool: ${REPORT}`]
  }
]

/** Words instead of a due report, in a conversation with another target. */
const chained: ReadonlyArray<Scenario> = [
  {
    title: "rule A9, P8: an answer of words alone is retried on the same target, which does not cool down",
    retry: { ...REPORTING, ...chain(SPARE) },
    targets: TWO,
    turns: [
      turn(
        [says("Well."), reports(GOOD)],
        [
          ...refused(0, true).slice(0, -1),
          { type: "provider-retry", attempt: 0, delayMs: 2 * SECOND, reason: "invalid-response" },
          ...reported(0)
        ],
        { calls: [TARGET, TARGET], shown: "Well." }
      ),
      turn([reports(GOOD)], reported(), { prompt: "And?", calls: [TARGET] })
    ],
    history: ["user: Hello", ...rejected("Well.", failedFor(NEITHER, GO_ON)), ...HANDED_IN, "user: And?", ...HANDED_IN]
  },
  {
    title: "rule A4, A11: the last step offers the report alone on every target",
    retry: { ...REPORTING, maxTurns: 1, routing: { type: "round-robin", targets: TWO } },
    targets: TWO,
    tools: ["look"],
    given: [status(401, "auth"), reports(GOOD)],
    follows: {
      calls: [TARGET, "spare/m"],
      offered: [[REPORT], [REPORT]],
      asked: [
        ["user: Hello", `user: ${AT_LIMIT}`],
        ["user: Hello", `user: ${AT_LIMIT}`]
      ],
      events: [
        "turn-start",
        "message",
        ...lastBegins(0, "max-turns"),
        atOnce(0, "auth"),
        { type: "model-change", from: TARGET, to: "spare/m" },
        ...reported(0)
      ]
    },
    history: ["user: Hello", `told: ${AT_LIMIT}`, `assistant at spare/m: calls ${REPORT}`, `tool: ${REPORT}`]
  },
  {
    title: "rule M1, A9: a manual retry begins without the earlier guidance",
    retry: { ...REPORTING, maxRetries: 2 },
    turns: [
      turn(
        [says("One."), says("Two."), says("Three."), says("Four.")],
        [
          ...refused(0, true),
          ...spent(0, 1),
          ...refused(0, true),
          "text-delta",
          ...failsWith("invalid-response", `After 4 attempt(s), in step 2: ${NEITHER}`, 0)
        ],
        { shown: "One.Two.Three.Four." }
      ),
      turn([reports(GOOD)], reported(), { prompt: null, asked: [["user: Hello"]] })
    ],
    history: [
      "user: Hello",
      ...rejected("One.", failedFor(NEITHER, GO_ON)),
      ...rejected("Two.", SPENT),
      ...rejected("Three.", failedFor(NEITHER, END_NOW)),
      "assistant (invalid-response): Four.",
      ...HANDED_IN
    ]
  }
]

const failing: ReadonlyArray<Scenario> = [
  {
    title: "rule A14: if words used up all attempts, a synthetic report has the reason",
    retry: REPORTING,
    ...turn(
      [says("One."), says("Two."), says("Three."), says("Four."), says("Five."), says("Six.")],
      [
        ...refused(0, true),
        ...refused(1, true),
        ...spent(1, 1),
        ...refused(0, true),
        ...refused(1, true),
        "text-delta",
        ...failsWith("invalid-response", `After 6 attempt(s), in step 2: ${NEITHER}`, 1)
      ],
      { shown: "One.Two.Three.Four.Five.Six." }
    ),
    history: [
      "user: Hello",
      ...rejected("One.", failedFor(NEITHER, GO_ON)),
      ...rejected("Two.", failedFor(NEITHER, GO_ON)),
      ...rejected("Three.", SPENT),
      ...rejected("Four.", failedFor(NEITHER, END_NOW)),
      ...rejected("Five.", failedFor(NEITHER, END_NOW)),
      "assistant (invalid-response): Six."
    ]
  },
  {
    title:
      "rule A14: when all attempts were spent on words, a last step offers the report alone, and may mend the turn",
    retry: REPORTING,
    tools: ["look"],
    ...turn(
      [says("One."), says("Two."), says("Three."), reports(GOOD)],
      [...refused(0, true), ...refused(1, true), ...spent(1, 1), ...reported()],
      { offered: [["look", REPORT], ["look", REPORT], ["look", REPORT], [REPORT]], shown: "One.Two.Three." }
    ),
    history: [
      "user: Hello",
      ...rejected("One.", failedFor(NEITHER, GO_ON)),
      ...rejected("Two.", failedFor(NEITHER, GO_ON)),
      ...rejected("Three.", SPENT),
      ...HANDED_IN
    ]
  },
  {
    title: "rule A14: the same when an outage ends the turn, in whichever step",
    retry: { ...REPORTING, profile: "interactive", maxRetries: 1 },
    tools: ["look"],
    ...turn(
      [callsTool("look"), overloaded, overloaded],
      [
        ...called("look", false),
        "step-start",
        { type: "provider-retry", attempt: 0, delayMs: 2 * SECOND },
        ...failsWith("overloaded", `After 3 attempt(s), in step 2: ${Answers.OVERLOADED}`, 0)
      ]
    ),
    history: ["user: Hello", "assistant: calls look", "tool: look", "assistant (overloaded):"]
  },
  {
    title: "rule A14: and when nothing is retried at all",
    retry: { ...REPORTING, profile: "overnight" },
    format: "anthropic",
    ...turn([status(401, "auth")], failsWith("auth", "After 1 attempt(s), in step 1: invalid x-api-key")),
    history: ["user: Hello", "assistant (auth):"]
  },
  {
    title: "rule A13: an accepted report is in the seal, whatever the outcome of the calls beside it",
    retry: REPORTING,
    ...turn(
      [Answers.callsTools([REPORT, GOOD], ["send", {}])],
      [
        { type: "tool-call", toolName: REPORT },
        { type: "tool-call", toolName: "send" },
        "message",
        { type: "tool-result", toolName: REPORT, isError: false },
        { type: "tool-result", toolName: "send", isError: true },
        "message",
        ends
      ]
    ),
    history: ["user: Hello", `assistant: calls ${REPORT} calls send`, `tool: ${REPORT}, tool: send failed`]
  },
  {
    title: "rule A14, P14: an aborted turn has no synthetic report",
    retry: { ...REPORTING, profile: "overnight" },
    ...turn([overloaded], [{ type: "provider-retry", attempt: 0, delayMs: 5 * SECOND }, ...aborted(0)], {
      when: [{ at: 0, act: "abort" }]
    }),
    history: ["user: Hello", "assistant (aborted):"]
  }
]

export const scenarios = [...guidance, ...chained, ...failing]
