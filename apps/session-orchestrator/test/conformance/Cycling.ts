/** Provider cycling, synthetic retries and the final report (rules A). */
import * as Answers from "./Answers.ts"
import { BEGUN, type Scenario, answered } from "./Scenario.ts"
import { ANSWER, BOTH, SECOND, outlives } from "./Shapes.ts"

export const scenarios: ReadonlyArray<Scenario> = [
  outlives(
    "A8: a request without progress for 10 minutes has failed as a timeout, and is retried",
    [Answers.silence],
    [{ type: "provider-retry", reason: "timeout", delayMs: 5 * SECOND }],
    { only: { runner: "kernel", because: "10 minutes, and a limit that a slow machine must not meet" } }
  ),
  {
    title: "A10: a tool call that cannot be read is answered to the model, and the turn goes on",
    formats: BOTH,
    turns: [
      {
        given: [Answers.callsBadly("send"), Answers.says(ANSWER)],
        follows: {
          asked: [["user: Hello"], ["user: Hello", "assistant calls send", "tool"]],
          events: [
            ...BEGUN,
            { type: "tool-call", toolName: "send" },
            "usage",
            "message",
            { type: "tool-result", toolName: "send", isError: true },
            "message",
            "step-start",
            ...answered()
          ],
          shown: ANSWER
        }
      }
    ],
    history: ["user: Hello", "assistant: calls send", "tool: send failed", `assistant: ${ANSWER}`]
  }
]
