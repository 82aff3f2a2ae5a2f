/** Scenarios of automatic retries: the interactive profile (rules P). */
import { defined, type Failure } from "@holdfast/wire"
import * as Answers from "./Answers.ts"
import * as Rule from "./RuleScenario.ts"
import { ANSWER, ANSWERED, MINUTE, SECOND, endsIn, outlives, times } from "./Shapes.ts"

const { OVERLOADED, asks, overloaded, says } = Answers
const { aborted, answered, BEGUN, called, failed, turn, waits } = Rule

const INTERACTIVE = { profile: "interactive" } as const

const BACKOFF = [2 * SECOND, 4 * SECOND, 8 * SECOND] as const

/** P1: sentences without a code, and the reason of each. */
const wordings: ReadonlyArray<readonly [text: string, reason: Failure.Reason]> = [
  ["The model is overloaded.", "overloaded"],
  ["Provider returned error", "server-error"],
  ["Rate limit exceeded for this key", "rate-limited"],
  ["You have reached your usage limit", "quota-exhausted"],
  ["Too many requests, slow down", "rate-limited"],
  ["upstream said 429", "rate-limited"],
  ["upstream said 500", "server-error"],
  ["upstream said 502", "server-error"],
  ["upstream said 503", "overloaded"],
  ["upstream said 504", "timeout"],
  ["Service unavailable", "overloaded"],
  ["The server had a server error", "server-error"],
  ["Internal error", "server-error"],
  ["An error occurred. You can retry your request.", "server-error"],
  ["A retry delay applies.", "server-error"],
  ["Network error", "network"],
  ["Connection error.", "network"],
  ["connection refused", "network"],
  ["connection closed", "network"],
  ["upstream connect error or disconnect/reset before headers", "network"],
  ["socket hang up", "network"],
  ["The socket was closed unexpectedly", "network"],
  ["timeout", "timeout"],
  ["The request timed out", "timeout"],
  ["fetch failed", "network"],
  ["terminated", "network"],
  ["The stream ended before message_start", "network"]
]

const classification: ReadonlyArray<Rule.Scenario> = [
  outlives(
    "rule P1: every wording of a transient failure is classified, although there is no code",
    wordings.map(([text]) => Answers.failsInWords(text)),
    wordings.map(([message, reason], attempt) => ({ type: "provider-retry", attempt, message, reason })),
    { retry: { ...INTERACTIVE, maxRetries: 100, schedule: { type: "steps", delays: ["1 second"] } } }
  ),
  endsIn("rule P1: a typed code wins over text", "auth", [
    () => ({
      status: 401,
      body: { error: { type: "authentication_error", message: "Service overloaded, rate limit" } }
    })
  ]),
  ...(
    [
      ["by its code", Answers.status(400, "too-long")],
      ["by its status", Answers.status(413, "too-large")],
      ["by its words", Answers.words(400, "prompt is too long: 210000 tokens > 200000 maximum")],
      ["whatever its status", Answers.words(500, "Input is too long for requested model.")],
      ["inside a stream", Answers.failsInStream("too-long")]
    ] as const
  ).map(([how, answer]) =>
    endsIn(`rule P2: a context that is too long is not sent again: known ${how}`, "context-overflow", [answer], {
      retry: INTERACTIVE,
      format: "anthropic"
    })
  )
]

const backoff: ReadonlyArray<Rule.Scenario> = [
  endsIn(
    "rule P3, P4, P11: three retries after 2, 4 and 8 s, and then the chain is closed with its last error",
    "overloaded",
    times(4, overloaded),
    { retry: INTERACTIVE, format: "anthropic", waits: waits(...BACKOFF).map((wait) => ({ ...wait, maxAttempts: 3 })) }
  ),
  outlives(
    "rule P3: the number of retries and the base of the backoff can be set",
    times(4, overloaded),
    waits(1 * SECOND, 2 * SECOND, 4 * SECOND, 8 * SECOND),
    { retry: { ...INTERACTIVE, maxRetries: 4, schedule: { type: "exponential", base: "1 second" } } }
  ),
  endsIn("rule P3: switched off, the first error ends the turn", "overloaded", [overloaded], {
    retry: { ...INTERACTIVE, enabled: false }
  }),
  endsIn("rule P3: without a retry to make, too", "overloaded", [overloaded], {
    retry: { ...INTERACTIVE, maxRetries: 0 }
  }),
  ...(["retry-after", "retry-after-ms", "x-ratelimit-reset-tokens", "RetryInfo", "words"] as const).map((how) =>
    outlives(
      `rule P5: a delay requested by ${how} lengthens one wait, and no other`,
      [asks(7 * SECOND, how), overloaded],
      waits(7 * SECOND, 4 * SECOND),
      { retry: INTERACTIVE }
    )
  ),
  outlives(
    "rule P5: a requested delay that is shorter than the backoff does not shorten the wait",
    [asks(1 * SECOND, "retry-after")],
    waits(2 * SECOND),
    { retry: INTERACTIVE }
  ),
  outlives(
    "rule P5: a requested delay that is past, negative, no number or absurd is ignored",
    ["Wed, 21 Oct 2015 07:28:00 GMT", "-5", "soon", "99999999999", "0"].map((value) =>
      Answers.header(503, "retry-after", value)
    ),
    waits(...times(5, overloaded).map((_, n) => 2 * SECOND * 2 ** n)),
    { retry: { ...INTERACTIVE, maxRetries: 5 } }
  ),
  endsIn("rule P6: a delay above the cap fails the turn at once", "rate-limited", [asks(301 * SECOND, "retry-after")], {
    retry: INTERACTIVE
  }),
  outlives("rule P6: one of just the cap is waited for", [asks(5 * MINUTE, "retry-after")], waits(5 * MINUTE), {
    retry: INTERACTIVE
  }),
  endsIn(
    "rule P6, P11: in a chain that is open it closes the chain",
    "rate-limited",
    [overloaded, asks(301 * SECOND, "retry-after")],
    { retry: INTERACTIVE, waits: waits(2 * SECOND) }
  ),
  endsIn("rule P6: a backoff that grows above the cap fails there", "overloaded", times(3, overloaded), {
    retry: { ...INTERACTIVE, maxDelay: "5 seconds" },
    waits: waits(2 * SECOND, 4 * SECOND)
  }),
  outlives("rule P3, P6: a cap of 0 is none", [asks(301 * SECOND, "retry-after")], waits(301 * SECOND), {
    retry: { ...INTERACTIVE, maxDelay: "0 seconds" }
  })
]

/** A turn that is retried once and answered: it begins again with retry 0 after 2 s. */
const anew = (prompt: string, when?: ReadonlyArray<Rule.When>): Rule.Turn => ({
  prompt,
  given: [overloaded, says(ANSWER)],
  ...defined({ when }),
  follows: { events: [...BEGUN, ...waits(2 * SECOND), ...answered(0)], shown: ANSWER }
})

const chains: ReadonlyArray<Rule.Scenario> = [
  outlives(
    "rule P11, P13: a chain is closed by its success, and the prompt is answered no sooner",
    times(2, overloaded),
    waits(2 * SECOND, 4 * SECOND),
    { retry: INTERACTIVE }
  ),
  {
    title: "rule P10: retries count from 0 again after a success",
    retry: INTERACTIVE,
    turns: [anew("Hello"), anew("And?")],
    history: [...ANSWERED, "user: And?", `assistant: ${ANSWER}`]
  },
  {
    title: "rule P10: and in the next step of the same turn",
    retry: INTERACTIVE,
    ...turn(
      [overloaded, Answers.callsTool("send"), overloaded, says(ANSWER)],
      [
        ...waits(2 * SECOND),
        { type: "retry-end", success: true, attempt: 0 },
        ...called("send", true),
        "step-start",
        ...waits(2 * SECOND),
        ...answered(0)
      ],
      { shown: ANSWER }
    ),
    history: ["user: Hello", "assistant: calls send", "tool: send failed", `assistant: ${ANSWER}`]
  },
  {
    title: "rule P10: after a cancellation",
    retry: INTERACTIVE,
    turns: [
      turn([overloaded], [...waits(2 * SECOND), ...failed("overloaded", { attempt: 0 })], {
        when: [{ at: 0, act: "abort-retry" }]
      }),
      anew("And?", [{ at: 0, act: "retry-now" }])
    ],
    history: ["user: Hello", "assistant (overloaded):", "user: And?", `assistant: ${ANSWER}`]
  },
  {
    title: "rule P10: after retries that were exhausted",
    retry: INTERACTIVE,
    turns: [turn(times(4, overloaded), [...waits(...BACKOFF), ...failed("overloaded", { attempt: 2 })]), anew("And?")],
    history: ["user: Hello", "assistant (overloaded):", "user: And?", `assistant: ${ANSWER}`]
  },
  {
    title: "rule P10: after a delay above the cap",
    retry: INTERACTIVE,
    turns: [
      turn(
        [overloaded, asks(301 * SECOND, "retry-after")],
        [...waits(2 * SECOND), ...failed("rate-limited", { attempt: 0 })]
      ),
      anew("And?")
    ],
    history: ["user: Hello", "assistant (rate-limited):", "user: And?", `assistant: ${ANSWER}`]
  },
  {
    title: "rule P12: a failed response stays in the history, and the next prompt does without it",
    retry: INTERACTIVE,
    format: "anthropic",
    turns: [
      turn([Answers.breaksOff("Half of")], ["text-delta", ...failed("network")], { shown: "Half of" }),
      turn([says(ANSWER)], answered(), { prompt: "And?", asked: [["user: Hello", "user: And?"]], shown: ANSWER })
    ],
    history: ["user: Hello", "assistant (network): Half of", "user: And?", `assistant: ${ANSWER}`]
  }
]

const controls: ReadonlyArray<Rule.Scenario> = [
  {
    title: "rule P11, P14: cancelling the retry ends the wait, closes the chain and fails the turn with its last error",
    retry: INTERACTIVE,
    ...turn(
      [overloaded],
      [
        ...waits(2 * SECOND),
        { type: "retry-end", success: false, attempt: 0, finalError: "Retry cancelled" },
        "message",
        { type: "error", message: OVERLOADED, reason: "overloaded", code: "429" },
        { type: "turn-end", status: "failed" }
      ],
      { when: [{ at: 0, act: "abort-retry" }] }
    ),
    history: ["user: Hello", "assistant (overloaded):"]
  },
  {
    title: "rule P14: an abort cancels the retry first, then ends the turn",
    retry: INTERACTIVE,
    ...turn([overloaded], [...waits(2 * SECOND), ...aborted(0)], { when: [{ at: 0, act: "abort" }] }),
    history: ["user: Hello", "assistant (aborted):"]
  },
  {
    title: "rule P11: an abort in the answer that a retry got closes the chain too",
    retry: INTERACTIVE,
    ...turn([overloaded, Answers.holds("Half of")], [...waits(2 * SECOND), "text-delta", ...aborted(0)], {
      when: [{ at: "held", act: "abort" }],
      shown: "Half of"
    }),
    history: ["user: Hello", "assistant (aborted): Half of"]
  },
  {
    title: "rule P15: a client can read that a conversation retries, which retry it is, and that it was switched",
    retry: INTERACTIVE,
    ...turn([overloaded, says(ANSWER)], [...waits(2 * SECOND), ...answered(0)], {
      when: [
        { at: "start", act: { reads: { status: "idle", isRetrying: false, autoRetryEnabled: true } } },
        { at: 0, act: { reads: { status: "retrying", isRetrying: true, autoRetryEnabled: true, attempt: 0 } } },
        { at: 0, act: "auto-retry off" },
        { at: 0, act: { reads: { status: "retrying", isRetrying: true, autoRetryEnabled: false } } },
        { at: 0, act: "retry-now" }
      ],
      shown: ANSWER
    }),
    history: ANSWERED
  },
  {
    title: "rule P15: switched off it makes no retry, switched on again it does",
    retry: INTERACTIVE,
    turns: [
      turn([overloaded], failed("overloaded"), { when: [{ at: "start", act: "auto-retry off" }] }),
      anew("And?", [{ at: "start", act: "auto-retry on" }])
    ],
    history: ["user: Hello", "assistant (overloaded):", "user: And?", `assistant: ${ANSWER}`]
  },
  {
    title: "rule P15: switched off in a wait, the next failure ends the turn",
    retry: INTERACTIVE,
    ...turn([overloaded, overloaded], [...waits(2 * SECOND), ...failed("overloaded", { attempt: 0 })], {
      when: [
        { at: 0, act: "auto-retry off" },
        { at: 0, act: "retry-now" }
      ]
    }),
    history: ["user: Hello", "assistant (overloaded):"]
  }
]

export const scenarios = [...classification, ...backoff, ...chains, ...controls]
