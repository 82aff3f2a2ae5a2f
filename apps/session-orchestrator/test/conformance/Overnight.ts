/** Scenarios of stepped backoff within a budget: the default profile (rules D). */
import * as Answers from "./Answers.ts"
import { type Scenario, aborted, answered, called, turn, waits } from "./RuleScenario.ts"
import { ANSWER, ANSWERED, HOUR, MINUTE, SECOND, endsIn, outlives, times } from "./Shapes.ts"

const { OVERLOADED, badGateway, overloaded, says } = Answers

/** D1: the steps, and then the last of them until the night is over. */
const NIGHT = [
  ...[5, 10, 30, 60].map((seconds) => seconds * SECOND),
  ...[5, 10, 15].map((minutes) => minutes * MINUTE),
  ...times(14, overloaded).map(() => 30 * MINUTE)
]

const DAYS_30 = 30 * 24 * HOUR

const schedule: ReadonlyArray<Scenario> = [
  {
    title: "rule D1, D7: a dead endpoint is called 22 times in 7 h 31 min 45 s, and then its last error ends the turn",
    scale: 5_000,
    ...turn(
      [...times(20, overloaded), badGateway, overloaded],
      [
        ...waits(...NIGHT),
        { type: "retry-end", success: false, attempt: 20, finalError: OVERLOADED },
        "message",
        { type: "error", message: OVERLOADED, reason: "overloaded", code: "429" },
        { type: "turn-end", status: "failed", attempts: 22, sleptMs: 27_105 * SECOND }
      ]
    ),
    history: ["user: Hello", "assistant (overloaded):"]
  },
  {
    title: "rule D1: with a clipped budget the last wait is the rest of 8 h: 22 retries, to the millisecond",
    scale: 5_000,
    retry: { budget: { clip: true } },
    ...turn(
      [...times(22, overloaded), says(ANSWER)],
      [
        ...waits(...NIGHT, 1_695 * SECOND),
        ...answered(21).slice(0, -1),
        { type: "turn-end", status: "completed", attempts: 23, sleptMs: 8 * HOUR }
      ],
      { shown: ANSWER }
    ),
    history: ANSWERED
  }
]

const trigger: ReadonlyArray<Scenario> = [
  outlives(
    "rule D3, C9: an overload with 429 and a gateway's 502 are retried, with one request per attempt",
    [overloaded, overloaded, badGateway],
    [
      { type: "provider-retry", attempt: 0, delayMs: 5 * SECOND, code: "429", reason: "overloaded" },
      { type: "provider-retry", attempt: 1, delayMs: 10 * SECOND, code: "429", reason: "overloaded" },
      { type: "provider-retry", attempt: 2, delayMs: 30 * SECOND, code: "502", reason: "server-error" }
    ],
    { format: "anthropic" }
  ),
  outlives(
    "rule D3: an overload inside a 200 stream is retried",
    [Answers.failsInStream("overloaded")],
    [{ type: "provider-retry", delayMs: 5 * SECOND, reason: "overloaded" }],
    { format: "anthropic" }
  ),
  outlives(
    "rule D3: a connection that is reset, or that closes before any output, is retried",
    [Answers.reset, Answers.breaksOff("")],
    [
      { type: "provider-retry", attempt: 0, delayMs: 5 * SECOND, reason: "network" },
      { type: "provider-retry", attempt: 1, delayMs: 10 * SECOND, reason: "network" }
    ],
    { format: "anthropic" }
  ),
  endsIn("rule D3: an error that is not retryable ends the step: a wrong key", "auth", [Answers.status(401, "auth")], {
    format: "anthropic"
  }),
  endsIn("rule D3: an error that is not retryable ends the step: no such model", "model-unavailable", [
    Answers.status(404, "model")
  ]),
  endsIn("rule D3: an error that is not retryable ends the step: a bad request", "bad-request", [
    Answers.status(400, "bad-request")
  ]),
  endsIn(
    "rule D3, D7: after a wait, an error that is not retryable ends the step",
    "auth",
    [overloaded, Answers.status(403, "forbidden")],
    { waits: waits(5 * SECOND) }
  ),
  endsIn("rule D9: without a strategy the first error ends the step", "overloaded", [overloaded], { retry: null })
]

const content: ReadonlyArray<Scenario> = [
  endsIn(
    "rule D4: an answer that is cut is not retried, and its text is kept",
    "network",
    [Answers.breaksOff("Here I")],
    { format: "anthropic", shown: "Here I" }
  ),
  endsIn(
    "rule D4: an overload in the middle of an answer is not retried, although it is retryable",
    "overloaded",
    [Answers.failsInStream("overloaded", "Here I")],
    { format: "anthropic", shown: "Here I" }
  ),
  endsIn(
    "rule D4: nor is one in the answer that a retry got",
    "overloaded",
    [overloaded, Answers.failsInStream("overloaded", "Here I")],
    { shown: "Here I", waits: waits(5 * SECOND) }
  )
]

const told: ReadonlyArray<Scenario> = [
  outlives(
    "rule D5, D12: a client gets an event before a wait: retry, delay, error verbatim, code",
    [overloaded],
    [
      {
        type: "provider-retry",
        attempt: 0,
        delayMs: 5 * SECOND,
        message: OVERLOADED,
        code: "429",
        reason: "overloaded",
        target: "scripted/m"
      }
    ],
    { format: "anthropic" }
  ),
  {
    title: "rule D6: a wait leaves nothing in the history, and nothing in the next prompt",
    turns: [
      turn([overloaded, says(ANSWER)], [...waits(5 * SECOND), ...answered(0)], { shown: ANSWER }),
      turn([says("Still here.")], answered(), {
        prompt: "And?",
        asked: [["user: Hello", `assistant: ${ANSWER}`, "user: And?"]],
        shown: "Still here."
      })
    ],
    history: [...ANSWERED, "user: And?", "assistant: Still here."]
  },
  {
    title: "rule D7: no error event comes before the last one, which is persisted and seals the turn",
    retry: { budget: "20 seconds" },
    format: "anthropic",
    ...turn(
      [overloaded, badGateway, overloaded],
      [
        ...waits(5 * SECOND, 10 * SECOND),
        { type: "retry-end", success: false, attempt: 1, finalError: OVERLOADED },
        "message",
        { type: "error", message: OVERLOADED, reason: "overloaded", code: "429" },
        { type: "turn-end", status: "failed", attempts: 3, sleptMs: 15 * SECOND }
      ]
    ),
    history: ["user: Hello", "assistant (overloaded):"]
  }
]

const sleep: ReadonlyArray<Scenario> = [
  ...[5 * SECOND, 30 * MINUTE].map((delayMs): Scenario => ({
    title: `rule D8: an abort in a wait of ${delayMs / SECOND} s ends it at once, without another call`,
    retry: { schedule: { type: "steps", delays: [`${delayMs} millis`] } },
    ...turn([overloaded], [...waits(delayMs), ...aborted(0)], { when: [{ at: 0, act: "abort" }] }),
    history: ["user: Hello", "assistant (aborted):"]
  })),
  {
    title: "rule D11, X4: a wait of 30 days is not over at once, and a command can end it",
    retry: { budget: "Infinity" },
    ...turn([Answers.asks(DAYS_30, "retry-after"), says(ANSWER)], [...waits(DAYS_30), ...answered(0)], {
      when: [{ at: 0, act: "retry-now" }],
      shown: ANSWER
    }),
    history: ANSWERED
  },
  {
    title: "rule X4: a waiting turn that is sent to another target continues there at once, and stays",
    targets: ["scripted/m", "other/n"],
    ...turn(
      [overloaded, Answers.callsTool("send"), says(ANSWER)],
      [
        ...waits(5 * SECOND),
        { type: "model-change", from: "scripted/m", to: "other/n" },
        { type: "retry-end", success: true, attempt: 0 },
        ...called("send", true),
        { type: "step-start", target: "other/n" },
        ...answered()
      ],
      {
        when: [{ at: 0, act: { switchesTo: "other/n" } }],
        calls: ["scripted/m", "other/n", "other/n"],
        asked: [["user: Hello"], ["user: Hello"], ["user: Hello", "assistant calls send", "tool"]],
        shown: ANSWER
      }
    ),
    history: ["user: Hello", "assistant at other/n: calls send", "tool: send failed", `assistant at other/n: ${ANSWER}`]
  }
]

export const scenarios = [...schedule, ...trigger, ...content, ...told, ...sleep]
