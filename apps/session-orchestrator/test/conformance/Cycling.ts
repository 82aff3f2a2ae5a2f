/** Scenarios of targets in turn, and of the wait after each kind of failure (rules A1 to A8, A10). */
import type { Failure } from "@holdfast/wire"
import * as Answers from "./Answers.ts"
import { SPARE, THIRD, THREE, movesOn } from "./ChainShapes.ts"
import { type Expected, type Scenario, answered, atOnce, called, failed, TARGET, waits, turn } from "./RuleScenario.ts"
import { ANSWER, ANSWERED, MINUTE, SECOND, endsIn, outlives, times } from "./Shapes.ts"

const { asks, callsTool, failsInStream, page, reset, says, silence, status } = Answers

/** The profile with one target: its schedule and its limits. */
const CYCLING = { profile: "cycling" } as const

/** With three, in turn. `maxRetries` counts all attempts (A2). */
const inTurn = (maxRetries = 3) =>
  ({ retry: { ...CYCLING, maxRetries, routing: { type: "round-robin", targets: THREE } }, targets: THREE }) as const

/** A retry on another target, at once. */
const skips = (attempt: number, reason: Failure.Reason, from: string, to: string): ReadonlyArray<Expected> => [
  atOnce(attempt, reason),
  { type: "model-change", from, to }
]

const limited = status(429, "rate-limit")

const waiting: ReadonlyArray<Scenario> = [
  endsIn(
    "rule A2, A7: 3 attempts in total: network errors wait 1 s and 2 s, and then there are no attempts left",
    "network",
    times(3, reset),
    { retry: CYCLING, waits: waits(1 * SECOND, 2 * SECOND) }
  ),
  endsIn("rule A2: with a cap of 1 the first error is the last", "network", [reset], {
    retry: { ...CYCLING, maxRetries: 1 }
  }),
  outlives(
    "rule A7: a wait after a network error is a second longer each time, up to 30 s, whatever delay is requested",
    times(33, reset),
    waits(...times(33, reset).map((_, n) => Math.min((n + 1) * SECOND, 30 * SECOND))),
    { retry: { ...CYCLING, maxRetries: 34 } }
  ),
  outlives(
    "rule A7, A8: a request without progress within its limit is a timeout, and waited for like the network",
    [silence, Answers.fallsSilent()],
    waits(1 * SECOND, 2 * SECOND).map((wait) => ({ ...wait, reason: "timeout" })),
    { retry: { ...CYCLING, requestTimeout: { firstContent: "1 minute" } }, scale: 200 }
  ),
  outlives("rule A3, A7: an answer that is none is not waited for", [page(200)], [atOnce(0, "invalid-response")], {
    retry: CYCLING
  }),
  outlives(
    "rule A6: a rate limit waits as long as its provider asks, from 1 s to 60 s",
    [asks(SECOND / 10, "retry-after"), asks(5 * MINUTE, "retry-after"), asks(20 * SECOND, "retry-after")],
    waits(1 * SECOND, 60 * SECOND, 20 * SECOND),
    { retry: { ...CYCLING, maxRetries: 4 } }
  ),
  outlives(
    "rule A6: a rate limit without a delay waits a second more with each attempt",
    times(5, limited),
    waits(1 * SECOND, 2 * SECOND, 3 * SECOND, 4 * SECOND, 5 * SECOND),
    { retry: { ...CYCLING, maxRetries: 6 } }
  )
]

const turning: ReadonlyArray<Scenario> = [
  ...(
    [
      ["a key that is refused", status(401, "auth"), "auth"],
      ["a quota that is used up", status(429, "quota"), "quota-exhausted"],
      ["a model that is not there", status(404, "model"), "model-unavailable"],
      ["a server error by its status", status(500, "server-error"), "server-error"],
      ["a request that it refuses", Answers.words(400, "Invalid value."), "bad-request"],
      ["a page of a gateway", page(502), "server-error"],
      ["an error in its stream that is final", failsInStream("auth"), "auth"]
    ] as const
  ).map(([what, answer, reason]): Scenario => ({
    title: `rule A1, A3, A4: after ${what} the turn switches to the next target at once`,
    ...inTurn(),
    ...turn([answer, says(ANSWER)], [...skips(0, reason, TARGET, SPARE), ...answered(0)], {
      calls: [TARGET, SPARE],
      asked: [["user: Hello"], ["user: Hello"]],
      shown: ANSWER
    }),
    history: ["user: Hello", `assistant at ${SPARE}: ${ANSWER}`]
  })),
  ...(
    [
      ["an error in its stream that passes", "at once", failsInStream("overloaded"), 0, "overloaded"],
      ["an answer that is none", "at once", page(200), 0, "invalid-response"],
      ["a connection that was lost", "after a wait", reset, 1 * SECOND, "network"]
    ] as const
  ).map(([what, when, answer, delayMs, reason]): Scenario => ({
    title: `rule A1, A3, A4: ${what} is retried on the same target, ${when}`,
    ...inTurn(),
    ...turn([answer, says(ANSWER)], [{ type: "provider-retry", attempt: 0, delayMs, reason }, ...answered(0)], {
      shown: ANSWER
    }),
    history: ANSWERED
  })),
  movesOn({
    title: "rule A4: the cursor goes round, moves on a skip and on a rate limit, and stays on any other retry",
    ...inTurn(6),
    failures: [status(401, "auth"), reset, limited, status(500, "server-error"), failsInStream("overloaded")],
    calls: [TARGET, SPARE, SPARE, THIRD, TARGET, TARGET],
    events: [
      ...skips(0, "auth", TARGET, SPARE),
      { type: "provider-retry", attempt: 1, delayMs: 2 * SECOND, reason: "network" },
      ...skips(2, "rate-limited", SPARE, THIRD),
      ...skips(3, "server-error", THIRD, TARGET),
      atOnce(4, "overloaded"),
      ...answered(4)
    ]
  }),
  {
    title: "rule A2, A4: 3 attempts in all are one on each of three targets",
    ...inTurn(),
    ...turn(
      times(3, status(401, "auth")),
      [...skips(0, "auth", TARGET, SPARE), ...skips(1, "auth", SPARE, THIRD), ...failed("auth", { attempt: 1 })],
      { calls: THREE }
    ),
    history: ["user: Hello", `assistant at ${THIRD} (auth):`]
  },
  {
    title: "rule A4: a step begins at the turn's own target again",
    ...inTurn(),
    ...turn(
      [status(401, "auth"), callsTool("send"), says(ANSWER)],
      [
        ...skips(0, "auth", TARGET, SPARE),
        { type: "retry-end", success: true, attempt: 0 },
        ...called("send", true),
        { type: "model-change", from: SPARE, to: TARGET },
        "step-start",
        ...answered()
      ],
      { calls: [TARGET, SPARE, TARGET], shown: ANSWER }
    ),
    history: ["user: Hello", `assistant at ${SPARE}: calls send`, "tool: send failed", `assistant: ${ANSWER}`]
  },
  movesOn({
    title: "rule A5: a rate limit waits only when all targets of the cycle have one: the longest of their waits",
    ...inTurn(4),
    failures: [asks(7 * SECOND, "retry-after"), asks(30 * SECOND, "retry-after"), asks(3 * SECOND, "retry-after")],
    calls: [...THREE, TARGET],
    events: [
      ...skips(0, "rate-limited", TARGET, SPARE),
      ...skips(1, "rate-limited", SPARE, THIRD),
      { type: "provider-retry", attempt: 2, delayMs: 30 * SECOND },
      { type: "model-change", from: THIRD, to: TARGET },
      ...answered(2)
    ]
  }),
  movesOn({
    title: "rule A5: after such a wait a new cycle begins, and the earlier waits do not count",
    ...inTurn(7),
    failures: [...times(3, asks(30 * SECOND, "retry-after")), ...times(3, asks(9 * SECOND, "retry-after"))],
    calls: [...THREE, ...THREE, TARGET],
    events: [
      ...[30 * SECOND, 9 * SECOND].flatMap((delayMs, cycle): ReadonlyArray<Expected> => [
        ...skips(3 * cycle, "rate-limited", TARGET, SPARE),
        ...skips(3 * cycle + 1, "rate-limited", SPARE, THIRD),
        { type: "provider-retry", attempt: 3 * cycle + 2, delayMs },
        { type: "model-change", from: THIRD, to: TARGET }
      ]),
      ...answered(5)
    ]
  }),
  {
    title: "rule A5: a success clears the cycle",
    retry: { ...CYCLING, routing: { type: "round-robin", targets: [TARGET, SPARE] } },
    targets: [TARGET, SPARE],
    ...turn(
      [asks(7 * SECOND, "retry-after"), callsTool("send"), asks(5 * SECOND, "retry-after"), says(ANSWER)],
      [
        ...skips(0, "rate-limited", TARGET, SPARE),
        { type: "retry-end", success: true, attempt: 0 },
        ...called("send", true),
        { type: "model-change", from: SPARE, to: TARGET },
        "step-start",
        ...skips(0, "rate-limited", TARGET, SPARE),
        ...answered(0)
      ],
      { calls: [TARGET, SPARE, TARGET, SPARE], shown: ANSWER }
    ),
    history: [
      "user: Hello",
      `assistant at ${SPARE}: calls send`,
      "tool: send failed",
      `assistant at ${SPARE}: ${ANSWER}`
    ]
  },
  {
    title: "rule A5: there is no wait if no attempt is left",
    ...inTurn(),
    ...turn(
      times(3, limited),
      [
        ...skips(0, "rate-limited", TARGET, SPARE),
        ...skips(1, "rate-limited", SPARE, THIRD),
        { type: "retry-end", success: false, attempt: 1 },
        "message",
        { type: "error", reason: "rate-limited" },
        { type: "turn-end", status: "failed", attempts: 3, sleptMs: 0 }
      ],
      { calls: THREE }
    ),
    history: ["user: Hello", `assistant at ${THIRD} (rate-limited):`]
  },
  movesOn({
    title: "rule A4: a turn's own target outside the list comes before the targets in turn",
    retry: { ...CYCLING, routing: { type: "round-robin", targets: [SPARE, THIRD] } },
    targets: THREE,
    failures: [status(401, "auth"), status(401, "auth")],
    calls: THREE,
    events: [...skips(0, "auth", TARGET, SPARE), ...skips(1, "auth", SPARE, THIRD), ...answered(1)]
  }),
  movesOn({
    title: "rule A4: a target whose window is too small for the request is skipped",
    ...inTurn(),
    models: { [SPARE]: { contextWindow: 1 } },
    failures: [status(401, "auth")],
    calls: [TARGET, THIRD],
    events: [...skips(0, "auth", TARGET, THIRD), ...answered(0)]
  })
]

const tools: ReadonlyArray<Scenario> = [
  {
    title: "rule A10: a malformed tool call is answered to the model, and the turn continues",
    format: "anthropic",
    ...turn([Answers.callsBadly("send"), says(ANSWER)], [...called("send", true), "step-start", ...answered()], {
      asked: [["user: Hello"], ["user: Hello", "assistant calls send", "tool"]],
      shown: ANSWER
    }),
    history: ["user: Hello", "assistant: calls send", "tool: send failed", `assistant: ${ANSWER}`]
  }
]

export const scenarios = [...waiting, ...turning, ...tools]
