/** Scenarios of a turn's last step, and of what makes a step the last (rules A11, A12). */
import * as Answers from "./Answers.ts"
import * as Report from "./ReportShapes.ts"
import { type Expected, type Scenario, BEGUN, called, turn } from "./RuleScenario.ts"
import { times } from "./Shapes.ts"

const { callsBadly, callsTool, overloaded, reports, says, REPORT } = Answers
const { AT_LIMIT, END_NOW, FULL, GOOD, HANDED_IN, INVALID, MENDING, NEITHER, OTHER_TOOL, REPORTING } = Report
const { failedFor, lastBegins, refused, rejected, reported } = Report

/** Two steps have called a tool, and the third can only call the report's tool. */
const thirdIsLast = (cause: "max-turns" | "context"): ReadonlyArray<Expected> => [
  ...BEGUN,
  ...called("look", false),
  "step-start",
  ...called("look", false),
  ...lastBegins(2, cause),
  ...reported()
]

/** The same in the history; the model got the reason. */
const lookedTwice = (told: string) => [
  "user: Hello",
  "assistant: calls look",
  "tool: look",
  "assistant: calls look",
  "tool: look",
  `told: ${told}`,
  ...HANDED_IN
]

const limits: ReadonlyArray<Scenario> = [
  {
    title: "rule A11: the model is informed about the last allowed step, which offers the report alone",
    retry: { ...REPORTING, maxTurns: 3 },
    tools: ["look"],
    format: "anthropic",
    given: [callsTool("look"), callsTool("look"), reports(GOOD)],
    follows: { offered: [["look", REPORT], ["look", REPORT], [REPORT]], events: thirdIsLast("max-turns") },
    history: lookedTwice(AT_LIMIT)
  },
  {
    title: "rule A11: a turn may have 10 steps by default",
    retry: REPORTING,
    tools: ["look"],
    given: [...times(9, callsTool("look")), reports(GOOD)],
    follows: {
      offered: [...times(9, overloaded).map(() => ["look", REPORT]), [REPORT]],
      events: [
        "turn-start",
        "message",
        ...times(9, overloaded).flatMap((): ReadonlyArray<Expected> => ["step-start", ...called("look", false)]),
        ...lastBegins(9, "max-turns"),
        ...reported()
      ]
    },
    history: [
      "user: Hello",
      ...times(9, overloaded).flatMap(() => ["assistant: calls look", "tool: look"]),
      `told: ${AT_LIMIT}`,
      ...HANDED_IN
    ]
  },
  {
    title: "rule A11, A15: the last step is retried until the report comes, with the report alone",
    retry: { ...REPORTING, maxTurns: 1, maxRetries: 4 },
    tools: ["look"],
    given: [says("No."), callsTool("look"), reports({}), reports(GOOD)],
    follows: {
      asked: [
        ["user: Hello", `user: ${AT_LIMIT}`],
        ["user: Hello", `user: ${AT_LIMIT}`, `user: ${failedFor(NEITHER, END_NOW)}`],
        [
          "user: Hello",
          `user: ${AT_LIMIT}`,
          `user: ${failedFor(NEITHER, END_NOW)}`,
          `user: ${failedFor(OTHER_TOOL, END_NOW)}`
        ],
        [
          "user: Hello",
          `user: ${AT_LIMIT}`,
          `user: ${failedFor(NEITHER, END_NOW)}`,
          `user: ${failedFor(OTHER_TOOL, END_NOW)}`,
          `user: ${failedFor(INVALID, END_NOW)}`
        ]
      ],
      offered: times(4, overloaded).map(() => [REPORT]),
      events: [
        "turn-start",
        "message",
        ...lastBegins(0, "max-turns"),
        ...refused(0, true),
        ...refused(1, false),
        ...refused(2, false),
        ...reported(2)
      ],
      shown: "No."
    },
    history: [
      "user: Hello",
      `told: ${AT_LIMIT}`,
      ...rejected("No.", failedFor(NEITHER, END_NOW)),
      ...rejected("calls look", failedFor(OTHER_TOOL, END_NOW)),
      ...rejected(`calls ${REPORT}`, failedFor(INVALID, END_NOW)),
      ...HANDED_IN
    ]
  },
  {
    title: "rule A11: a step whose request would be larger than the context budget is the last",
    retry: { ...REPORTING, finalReport: { ...REPORTING.finalReport, contextBudget: 1_000 } },
    tools: ["look"],
    format: "anthropic",
    given: [callsTool("look", {}, 900), callsTool("look", {}, 1_100), reports(GOOD)],
    follows: { offered: [["look", REPORT], ["look", REPORT], [REPORT]], events: thirdIsLast("context") },
    history: lookedTwice(FULL)
  },
  {
    title: "rule A11: without a report to give the last step has no tools, and its words are the answer",
    retry: { profile: "cycling", maxTurns: 2 },
    tools: ["look"],
    ...turn(
      [callsTool("look"), says("Well.")],
      [
        ...called("look", false),
        ...lastBegins(1, "max-turns"),
        "text-delta",
        "usage",
        "message",
        { type: "turn-end", status: "completed" }
      ],
      { offered: [["look"], []], shown: "Well." }
    ),
    history: [
      "user: Hello",
      "assistant: calls look",
      "tool: look",
      "told: This is the last step of this turn: it has as many steps as it may have. " +
        "Answer now, in words, with what you have: no tool can be used.",
      "assistant: Well."
    ]
  }
]

const malformed: ReadonlyArray<Scenario> = [
  ...(
    [
      ["that is not valid", reports({})],
      ["whose arguments are no JSON", callsBadly(REPORT)]
    ] as const
  ).map(([what, answer]): Scenario => ({
    title: `rule A10, A12: a report ${what} is answered like a failed call, and leaves one more step`,
    retry: { ...REPORTING, maxTurns: 9 },
    tools: ["look"],
    format: "anthropic",
    ...turn([answer, reports(GOOD)], [...called(REPORT, true), ...lastBegins(1, "malformed-report"), ...reported()], {
      offered: [["look", REPORT], [REPORT]],
      asked: [["user: Hello"], ["user: Hello", `assistant calls ${REPORT}`, "tool", `user: ${MENDING}`]]
    }),
    history: ["user: Hello", `assistant: calls ${REPORT}`, `tool: ${REPORT} failed`, `told: ${MENDING}`, ...HANDED_IN]
  })),
  {
    title: "rule A12: it makes no turn longer",
    retry: { ...REPORTING, maxTurns: 2 },
    ...turn([reports({}), reports(GOOD)], [...called(REPORT, true), ...lastBegins(1, "max-turns"), ...reported()]),
    history: ["user: Hello", `assistant: calls ${REPORT}`, `tool: ${REPORT} failed`, `told: ${AT_LIMIT}`, ...HANDED_IN]
  }
]

export const scenarios = [...limits, ...malformed]
