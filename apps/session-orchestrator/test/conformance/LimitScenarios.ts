/** Scenarios of quotas and rate limits: their scope and their end (rules C12, P7, P8). */
import * as Answers from "./Answers.ts"
import { begunOn, chained, movesOn, secondTurn, SPARE } from "./ChainShapes.ts"
import {
  type Scenario,
  answered,
  atOnce,
  BEGUN,
  fallsBack,
  provedAt,
  providerOf,
  TARGET,
  turn
} from "./RuleScenario.ts"
import { ANSWER, HOUR, MINUTE, SECOND } from "./Shapes.ts"

const { asks, exhausted, overloaded, says, status, words } = Answers

/** Another model of the same provider. */
const SMALL = `${providerOf(TARGET)}/small`

const KEYS = { scripted: ["KEY"] } as const

const FIRST = `${TARGET}#KEY`
const SMALL_KEY = `${SMALL}#KEY`

export const scenarios: ReadonlyArray<Scenario> = [
  movesOn({
    title: "rule P8: a quota failure switches to another model of the same provider",
    ...chained(SMALL, SPARE),
    credentials: KEYS,
    format: "anthropic",
    failures: [exhausted(3 * HOUR)],
    calls: [FIRST, SMALL_KEY],
    events: [atOnce(0, "quota-exhausted"), ...fallsBack(TARGET, SMALL), ...provedAt(SMALL, 0)]
  }),
  movesOn({
    title: "rule C12, P8: the reset of one model's quota delays no other model of its key",
    ...chained(SMALL),
    credentials: KEYS,
    format: "anthropic",
    failures: [exhausted(3 * HOUR), status(503, "unavailable")],
    calls: [FIRST, SMALL_KEY, SMALL_KEY],
    events: [
      atOnce(0, "quota-exhausted"),
      ...fallsBack(TARGET, SMALL),
      { type: "provider-retry", attempt: 1, delayMs: 4 * SECOND, reason: "overloaded" },
      ...provedAt(SMALL, 1)
    ]
  }),
  {
    title: "rule C12, P8: a model that has met the limit is not tried again before the reset",
    ...chained(SMALL, SPARE),
    credentials: KEYS,
    scale: 1,
    turns: [
      turn(
        [exhausted(3 * HOUR), exhausted(3 * HOUR), says(ANSWER)],
        [
          atOnce(0, "quota-exhausted"),
          ...fallsBack(TARGET, SMALL),
          atOnce(1, "quota-exhausted"),
          ...fallsBack(SMALL, SPARE),
          ...provedAt(SPARE, 1)
        ],
        { calls: [FIRST, SMALL_KEY, SPARE], shown: ANSWER }
      ),
      secondTurn([SPARE], begunOn(SPARE))
    ],
    history: ["user: Hello", `assistant at ${SPARE}: ${ANSWER}`, "user: And?", `assistant at ${SPARE}: ${ANSWER}`]
  },
  movesOn({
    title: "rule C12, P8: if the error names the account, no other model of it is tried",
    ...chained(SMALL, SPARE),
    credentials: KEYS,
    failures: [words(402, "Your account has no credits left.")],
    calls: [FIRST, SPARE],
    events: [atOnce(0, "quota-exhausted"), ...fallsBack(TARGET, SPARE), ...provedAt(SPARE, 0)]
  }),
  {
    title: "rule C12: a success ends the older cooldown of its target, and the next turn begins there",
    ...chained(SPARE),
    turns: [
      turn(
        [asks(10 * MINUTE, "retry-after"), overloaded, says(ANSWER)],
        [
          atOnce(0, "rate-limited"),
          ...fallsBack(TARGET, SPARE),
          { type: "provider-retry", attempt: 1, delayMs: 4 * SECOND },
          { type: "model-change", from: SPARE, to: TARGET },
          ...answered(1)
        ],
        { when: [{ at: 1, act: { switchesTo: TARGET } }], calls: [TARGET, SPARE, TARGET], shown: ANSWER }
      ),
      secondTurn([TARGET], [...BEGUN, ...answered()])
    ],
    history: ["user: Hello", `assistant: ${ANSWER}`, "user: And?", `assistant: ${ANSWER}`]
  }
]
