/** Scenarios of a provider's keys: which is used, and how long one is set aside (rule P7). */
import * as Answers from "./Answers.ts"
import { chained, movesOn, SPARE } from "./ChainShapes.ts"
import * as Rule from "./RuleScenario.ts"
import { ANSWER, ANSWERED, HOUR, MINUTE, SECOND } from "./Shapes.ts"

const { asks, exhausted, overloaded, says, takes } = Answers
const { answered, atOnce, failed, fallsBack, provedAt, TARGET, turn } = Rule

const KEYS = { scripted: ["KEY_1", "KEY_2"] } as const

const FIRST = `${TARGET}#KEY_1`
const SECOND_KEY = `${TARGET}#KEY_2`

/** The first key is used up, and the second takes over at once. */
const switchedKey: Rule.Pattern = {
  type: "provider-retry",
  attempt: 0,
  delayMs: 0,
  reason: "quota-exhausted",
  credential: "KEY_2"
}

export const scenarios: ReadonlyArray<Rule.Scenario> = [
  {
    title:
      "rule P7: after a used-up quota the turn switches to another key of the same provider at once, with a retry event only",
    retry: { profile: "interactive" },
    credentials: KEYS,
    format: "anthropic",
    ...turn([exhausted(HOUR), says(ANSWER)], [switchedKey, ...answered(0)], {
      calls: [FIRST, SECOND_KEY],
      shown: ANSWER
    }),
    history: ANSWERED
  },
  {
    title: "rule P7: a key is limited until its reset, for later turns too, and used again after it",
    retry: { profile: "interactive" },
    credentials: KEYS,
    // The second turn has this time to begin while the key is still limited.
    scale: 150,
    turns: [
      turn([exhausted(8 * MINUTE), says(ANSWER)], [switchedKey, ...answered(0)], {
        calls: [FIRST, SECOND_KEY],
        shown: ANSWER
      }),
      turn([takes(9 * MINUTE, says(ANSWER))], answered(), { prompt: "And?", calls: [SECOND_KEY], shown: ANSWER }),
      turn([says(ANSWER)], answered(), { prompt: "So?", calls: [FIRST], shown: ANSWER })
    ],
    history: [...ANSWERED, "user: And?", `assistant: ${ANSWER}`, "user: So?", `assistant: ${ANSWER}`]
  },
  movesOn({
    title: "rule P7: a rate limit by the minute keeps its key",
    retry: { profile: "interactive" },
    credentials: KEYS,
    failures: [asks(10 * SECOND, "retry-after")],
    calls: [FIRST, FIRST],
    events: [{ type: "provider-retry", attempt: 0, delayMs: 10 * SECOND, reason: "rate-limited" }, ...answered(0)]
  }),
  movesOn({
    title: "rule P7, P8: when all keys are used up the next target takes over",
    ...chained(SPARE),
    credentials: KEYS,
    failures: [exhausted(HOUR), exhausted(HOUR)],
    calls: [FIRST, SECOND_KEY, SPARE],
    events: [switchedKey, atOnce(1, "quota-exhausted"), ...fallsBack(TARGET, SPARE), ...provedAt(SPARE, 1)]
  }),
  movesOn({
    title: "rule P7, P8: a fallback has keys of its own",
    ...chained(SPARE),
    credentials: { spare: ["KEY_A", "KEY_B"] },
    failures: [overloaded, exhausted(HOUR)],
    calls: [TARGET, `${SPARE}#KEY_A`, `${SPARE}#KEY_B`],
    events: [
      atOnce(0, "overloaded"),
      ...fallsBack(TARGET, SPARE),
      { type: "provider-retry", attempt: 1, delayMs: 0, reason: "quota-exhausted", credential: "KEY_B" },
      ...provedAt(SPARE, 1)
    ]
  }),
  {
    title: "rule P6, P7: a reset beyond the cap fails the turn at once if no key is left",
    retry: { profile: "interactive" },
    credentials: KEYS,
    ...turn(
      [exhausted(10 * MINUTE), exhausted(2 * HOUR)],
      [switchedKey, ...failed("quota-exhausted", { attempt: 0 })],
      { calls: [FIRST, SECOND_KEY] }
    ),
    history: ["user: Hello", "assistant (quota-exhausted):"]
  }
]
