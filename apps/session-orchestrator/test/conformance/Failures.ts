/** Scenarios of the truth about a failure (rules C), as a turn shows it. */
import type { Failure } from "@holdfast/wire"
import * as Answers from "./Answers.ts"
import { type Pattern, type Scenario, answered, called, turn } from "./RuleScenario.ts"
import { ANSWER, MINUTE, SECOND, endsIn, outlives } from "./Shapes.ts"

const { says } = Answers

/** Waits of a second, so that many failures fit into a turn. */
const EVEN = { schedule: { type: "steps", delays: ["1 second"] } } as const

const secondsOf = (...reasons: ReadonlyArray<Failure.Reason>): ReadonlyArray<Pattern> =>
  reasons.map((reason, attempt) => ({ type: "provider-retry", attempt, delayMs: SECOND, reason }))

/** Transient statuses, and the reason of a bare page with each. */
const passing: ReadonlyArray<readonly [status: number, reason: Failure.Reason]> = [
  [408, "timeout"],
  [409, "server-error"],
  [425, "server-error"],
  [429, "rate-limited"],
  [500, "server-error"],
  [501, "server-error"],
  [502, "server-error"],
  [503, "overloaded"],
  [504, "timeout"],
  [520, "server-error"],
  [521, "server-error"],
  [522, "timeout"],
  [523, "server-error"],
  [524, "timeout"],
  [529, "overloaded"]
]

const classification: ReadonlyArray<Scenario> = [
  outlives(
    "rule C1: a failure has its reason, its status and the provider's words",
    [Answers.status(529, "overloaded"), Answers.status(500, "server-error")],
    [
      { type: "provider-retry", reason: "overloaded", code: "529", message: "Overloaded" },
      { type: "provider-retry", reason: "server-error", code: "500", message: "Internal server error" }
    ],
    { format: "anthropic" }
  ),
  outlives(
    "rule C2: 408, 409, 425, 429 and every 5xx are retried, each with its reason",
    passing.map(([status]) => Answers.page(status)),
    passing.map(([status, reason], attempt) => ({ type: "provider-retry", attempt, reason, code: String(status) })),
    { retry: EVEN }
  ),
  endsIn("rule C2: 402 is a quota that is used up, and is not waited for", "quota-exhausted", [
    Answers.status(402, "quota")
  ]),
  endsIn("rule C2: so is insufficient_quota with a 429", "quota-exhausted", [Answers.status(429, "quota")], {
    format: "anthropic"
  }),
  outlives(
    "rule C2: a quota whose reset is named is waited for",
    [Answers.exhausted(10 * MINUTE)],
    [{ type: "provider-retry", reason: "quota-exhausted", delayMs: 10 * MINUTE }]
  ),
  outlives(
    "rule C2: x-should-retry has a client error retried",
    [Answers.header(400, "x-should-retry", "true")],
    [{ type: "provider-retry", code: "400" }]
  ),
  endsIn("rule C2: x-should-retry has a server error end the step", "overloaded", [
    Answers.header(503, "x-should-retry", "false")
  ]),
  outlives(
    "rule C3: an error, a page and nothing inside a 200 are failures",
    [Answers.failsInStream("overloaded"), Answers.page(200), Answers.empty],
    secondsOf("overloaded", "invalid-response", "network"),
    { retry: EVEN, format: "anthropic" }
  ),
  endsIn("rule C4: what an error quotes of the request is not read", "bad-request", [
    Answers.words(400, "Invalid value: 'rate limit exceeded, 503 overloaded'. Expected a number.")
  ])
]

const streams: ReadonlyArray<Scenario> = [
  endsIn("rule C6: a stream that ends without its terminal event has failed", "network", [Answers.justEnds("Here I")], {
    format: "anthropic",
    shown: "Here I"
  }),
  outlives("rule C6: before any output it is asked for again", [Answers.justEnds("")], secondsOf("network"), {
    retry: EVEN,
    format: "anthropic"
  }),
  outlives(
    "rule C7: half a tool call is no call and no content: the attempt is retried",
    [Answers.halfACall("send")],
    secondsOf("network"),
    { retry: EVEN, format: "anthropic" }
  ),
  {
    title: "rule C7: a whole one is run",
    format: "anthropic",
    ...turn([Answers.callsTool("send"), says(ANSWER)], [...called("send", true), "step-start", ...answered()], {
      shown: ANSWER
    }),
    history: ["user: Hello", "assistant: calls send", "tool: send failed", `assistant: ${ANSWER}`]
  },
  outlives(
    "rule C8, D4: a preamble is no content: an overload after it is retried",
    [Answers.failsInStream("overloaded")],
    secondsOf("overloaded"),
    { retry: EVEN, format: "anthropic" }
  ),
  outlives(
    "rule C8: keep-alives are no progress: the limit for the first content holds, and does not shrink",
    [Answers.fallsSilent(), Answers.silence],
    secondsOf("timeout", "timeout"),
    { retry: { ...EVEN, requestTimeout: { firstContent: "1 minute" } }, scale: 200 }
  ),
  endsIn("rule C8: between contents another limit holds", "timeout", [Answers.fallsSilent("Here I")], {
    retry: { requestTimeout: { firstContent: "10 minutes", idle: "1 minute" } },
    scale: 200,
    shown: "Here I"
  }),
  outlives(
    "rule C9: however a request fails, only the turn repeats it",
    [Answers.reset, Answers.badGateway, Answers.empty, Answers.failsInStream("server-error"), Answers.page(200)],
    secondsOf("network", "server-error", "network", "server-error", "invalid-response"),
    { retry: EVEN, format: "anthropic" }
  ),
  endsIn("rule C2, C9: a redirect is not followed, and ends the step", "bad-request", [Answers.page(307)], {
    format: "anthropic"
  })
]

export const scenarios = [...classification, ...streams]
