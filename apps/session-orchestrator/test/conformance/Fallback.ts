/** Scenarios of fallback chains: which target takes over (rule P8). */
import * as Answers from "./Answers.ts"
import { AT_SPARE, chain, chained, movesOn, SPARE, takenOver, THIRD, THREE, TWO } from "./ChainShapes.ts"
import * as Rule from "./RuleScenario.ts"
import { ANSWER, SECOND, endsIn, times } from "./Shapes.ts"

const { asks, breaksOff, overloaded, says, status, words } = Answers
const { answered, atOnce, failed, fallsBack, provedAt, TARGET, turn } = Rule

/** The primary has failed, and so has its fallback: the turn waits. */
const bothDown: ReadonlyArray<Rule.Expected> = [
  atOnce(0, "overloaded"),
  ...fallsBack(TARGET, SPARE),
  { type: "provider-retry", attempt: 1, delayMs: 4 * SECOND, target: SPARE }
]

export const scenarios: ReadonlyArray<Rule.Scenario> = [
  {
    title:
      "rule P8, P11: after a failure the turn switches at once to the next target of the chain, with an event, and another one at its first answer",
    ...chained(SPARE),
    format: "anthropic",
    given: [overloaded, says(ANSWER)],
    follows: takenOver,
    history: ["user: Hello", AT_SPARE]
  },
  {
    title: "rule P8: a chain is gone down, one by one, without a wait",
    ...chained(SPARE, THIRD),
    ...turn(
      [overloaded, Answers.reset, says(ANSWER)],
      [
        { type: "provider-retry", attempt: 0, delayMs: 0, reason: "overloaded", target: TARGET },
        ...fallsBack(TARGET, SPARE),
        { type: "provider-retry", attempt: 1, delayMs: 0, reason: "network", target: SPARE },
        ...fallsBack(SPARE, THIRD),
        ...provedAt(THIRD, 1)
      ],
      { calls: THREE, asked: times(3, overloaded).map(() => ["user: Hello"]), shown: ANSWER }
    ),
    history: ["user: Hello", `assistant at ${THIRD}: ${ANSWER}`]
  },
  movesOn({
    title: "rule P8: a primary has the chain of its own before the one for all",
    retry: {
      profile: "interactive",
      routing: { type: "fallback-chain", chains: { default: [THIRD], [TARGET]: [SPARE] } }
    },
    targets: THREE,
    failures: [overloaded],
    calls: TWO,
    events: [atOnce(0, "overloaded"), ...fallsBack(TARGET, SPARE, TARGET), ...provedAt(SPARE, 0, TARGET)]
  }),
  movesOn({
    title: "rule P4, P8: if all targets of a chain cool down, the schedule continues with the first that is free",
    ...chained(SPARE),
    failures: times(3, overloaded),
    calls: [TARGET, SPARE, TARGET, SPARE],
    events: [
      ...bothDown,
      { type: "model-change", from: SPARE, to: TARGET },
      { type: "provider-retry", attempt: 2, delayMs: 8 * SECOND },
      ...fallsBack(TARGET, SPARE),
      ...provedAt(SPARE, 2)
    ]
  }),
  {
    title: "rule P8, P11: a chain of targets that all fail ends with the last error, and no fallback has succeeded",
    retry: { ...chain(SPARE), maxRetries: 1 },
    targets: TWO,
    ...turn(
      [overloaded, status(503, "unavailable")],
      [atOnce(0, "overloaded"), ...fallsBack(TARGET, SPARE), ...failed("overloaded", { attempt: 0 })],
      { calls: TWO }
    ),
    history: ["user: Hello", `assistant at ${SPARE} (overloaded):`]
  },
  movesOn({
    title: "rule P6, P8: a delay above the cap fails no turn that has another target",
    ...chained(SPARE),
    failures: [asks(301 * SECOND, "retry-after")],
    calls: TWO,
    events: [atOnce(0, "rate-limited"), ...fallsBack(TARGET, SPARE), ...provedAt(SPARE, 0)]
  }),
  ...(
    [
      ["a key that is refused", status(401, "auth"), "auth"],
      ["a quota that is used up", status(429, "quota"), "quota-exhausted"],
      ["a model that is not there", status(404, "model"), "model-unavailable"]
    ] as const
  ).map(([what, answer, reason]) =>
    movesOn({
      title: `rule P8: ${what} is final on its target, but another target is tried`,
      ...chained(SPARE),
      failures: [answer],
      calls: TWO,
      events: [atOnce(0, reason), ...fallsBack(TARGET, SPARE), ...provedAt(SPARE, 0)]
    })
  ),
  endsIn(
    "rule P8: a failure that the request causes is not sent to another target",
    "bad-request",
    [words(400, "Invalid value.")],
    { ...chained(SPARE) }
  ),
  endsIn("rule P2, P8: nor is a context that is too long", "context-overflow", [status(400, "too-long")], {
    ...chained(SPARE)
  }),
  endsIn("rule D4, P8: nor anything after content", "network", [breaksOff("Half of")], {
    ...chained(SPARE),
    shown: "Half of"
  }),
  {
    title: "rule P8: a stand-in that cannot hold the request is passed over",
    ...chained(SPARE, THIRD),
    models: { [SPARE]: { contextWindow: 8 }, [THIRD]: { contextWindow: 100_000 } },
    ...turn([overloaded, says(ANSWER)], [atOnce(0, "overloaded"), ...fallsBack(TARGET, THIRD), ...provedAt(THIRD, 0)], {
      prompt: "one two three four five six seven eight nine ten eleven twelve",
      calls: [TARGET, THIRD],
      shown: ANSWER
    }),
    history: [
      "user: one two three four five six seven eight nine ten eleven twelve",
      `assistant at ${THIRD}: ${ANSWER}`
    ]
  },
  movesOn({
    title: "rule P8, X4: `retry-now` runs the retry on the target that the wait would have led to",
    ...chained(SPARE),
    failures: [overloaded, overloaded],
    when: [{ at: 1, act: "retry-now" }],
    calls: [TARGET, SPARE, TARGET],
    events: [...bothDown, { type: "model-change", from: SPARE, to: TARGET }, ...answered(1)]
  }),
  movesOn({
    title: "rule P8, X4: a person's choice stands above the chain",
    retry: chain(SPARE),
    targets: THREE,
    failures: [overloaded, overloaded],
    when: [{ at: 1, act: { switchesTo: THIRD } }],
    calls: THREE,
    events: [...bothDown, { type: "model-change", from: SPARE, to: THIRD }, ...answered(1)]
  }),
  {
    title: "rule P11, P14: one who cancels it ends the turn with the error of the target that failed last",
    ...chained(SPARE),
    ...turn(
      [overloaded, status(503, "unavailable")],
      [...bothDown, ...failed("overloaded", { attempt: 1, finalError: "Retry cancelled" })],
      { when: [{ at: 1, act: "abort-retry" }], calls: TWO }
    ),
    history: ["user: Hello", `assistant at ${SPARE} (overloaded):`]
  },
  {
    title:
      "rule P15: if retries are switched off during a wait, the next failure ends the turn, even with a fallback left",
    ...chained(SPARE),
    ...turn(
      [overloaded, overloaded, overloaded],
      [...bothDown, { type: "model-change", from: SPARE, to: TARGET }, ...failed("overloaded", { attempt: 1 })],
      {
        when: [
          { at: 1, act: "auto-retry off" },
          { at: 1, act: "retry-now" }
        ],
        calls: [TARGET, SPARE, TARGET]
      }
    ),
    history: ["user: Hello", "assistant (overloaded):"]
  },
  {
    title: "rule P15: switched off, nothing takes over",
    ...chained(SPARE),
    ...turn([overloaded], failed("overloaded"), { when: [{ at: "start", act: "auto-retry off" }] }),
    history: ["user: Hello", "assistant (overloaded):"]
  }
]
