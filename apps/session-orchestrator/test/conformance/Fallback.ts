/** Fallback chains, cooldowns and credentials (rules P3, P7 to P9). */
import * as Answers from "./Answers.ts"
import {
  BEGUN,
  BEGUN_AGAIN,
  type Expected,
  type Pattern,
  type Scenario,
  TARGET,
  answered,
  atOnce,
  called,
  failed,
  fallsBack,
  provedAt,
  waits
} from "./Scenario.ts"
import { ANSWER, ANSWERED, BOTH, HOUR, MINUTE, SECOND, endsIn, times } from "./Shapes.ts"

const { asks, breaksOff, callsTool, exhausted, overloaded, says, status, takes, words } = Answers

const SPARE = "spare/m"
const THIRD = "third/m"

const TWO = [TARGET, SPARE] as const
const THREE = [TARGET, SPARE, THIRD] as const

/** A chain with the profile that it was made for (P3). */
const chain = (...standIns: ReadonlyArray<string>) =>
  ({ profile: "interactive", routing: { type: "fallback-chain", chains: { default: standIns } } }) as const

const never = (...standIns: ReadonlyArray<string>) =>
  ({
    profile: "interactive",
    routing: { type: "fallback-chain", chains: { default: standIns }, revert: "never" }
  }) as const

/** A step that begins on a fallback because the primary cools down. */
const begunOn = (model: string): ReadonlyArray<Expected> => [
  "turn-start",
  "message",
  ...fallsBack(TARGET, model),
  { type: "step-start", target: model },
  "text-delta",
  { type: "retry-fallback-succeeded", model, role: "default" },
  "usage",
  "message",
  { type: "turn-end", status: "completed" }
]

/** The first call fails, and the fallback answers at once. */
const takenOver = {
  calls: TWO,
  events: [...BEGUN, atOnce(0, "overloaded"), ...fallsBack(TARGET, SPARE), ...provedAt(SPARE, 0)],
  shown: ANSWER
}

const AT_SPARE = `assistant at ${SPARE}: ${ANSWER}`

const chains: ReadonlyArray<Scenario> = [
  {
    title:
      "P8, P11: a target that fails is left at once for the next of its chain, which is told, and told again when it has answered",
    retry: chain(SPARE),
    targets: TWO,
    formats: BOTH,
    turns: [{ given: [overloaded, says(ANSWER)], follows: takenOver }],
    history: ["user: Hello", AT_SPARE]
  },
  {
    title: "P8: a chain is gone down, one by one, without a wait",
    retry: chain(SPARE, THIRD),
    targets: THREE,
    turns: [
      {
        given: [overloaded, Answers.reset, says(ANSWER)],
        follows: {
          calls: THREE,
          asked: times(3, overloaded).map(() => ["user: Hello"]),
          events: [
            ...BEGUN,
            { type: "provider-retry", attempt: 0, delayMs: 0, reason: "overloaded", target: TARGET },
            ...fallsBack(TARGET, SPARE),
            { type: "provider-retry", attempt: 1, delayMs: 0, reason: "network", target: SPARE },
            ...fallsBack(SPARE, THIRD),
            ...provedAt(THIRD, 1)
          ],
          shown: ANSWER
        }
      }
    ],
    history: ["user: Hello", `assistant at ${THIRD}: ${ANSWER}`]
  },
  {
    title: "P8: a primary has the chain of its own before the one for all",
    retry: {
      profile: "interactive",
      routing: { type: "fallback-chain", chains: { default: [THIRD], [TARGET]: [SPARE] } }
    },
    targets: THREE,
    turns: [
      {
        given: [overloaded, says(ANSWER)],
        follows: {
          calls: TWO,
          events: [
            ...BEGUN,
            atOnce(0, "overloaded"),
            ...fallsBack(TARGET, SPARE, TARGET),
            ...provedAt(SPARE, 0, TARGET)
          ],
          shown: ANSWER
        }
      }
    ],
    history: ["user: Hello", AT_SPARE]
  },
  {
    title: "P4, P8: where all of a chain cool down the schedule goes on, to whoever is free first",
    retry: chain(SPARE),
    targets: TWO,
    turns: [
      {
        given: [...times(3, overloaded), says(ANSWER)],
        follows: {
          calls: [TARGET, SPARE, TARGET, SPARE],
          events: [
            ...BEGUN,
            atOnce(0, "overloaded"),
            ...fallsBack(TARGET, SPARE),
            { type: "provider-retry", attempt: 1, delayMs: 4 * SECOND },
            { type: "model-change", from: SPARE, to: TARGET },
            { type: "provider-retry", attempt: 2, delayMs: 8 * SECOND },
            ...fallsBack(TARGET, SPARE),
            ...provedAt(SPARE, 2)
          ],
          shown: ANSWER
        }
      }
    ],
    history: ["user: Hello", AT_SPARE]
  },
  {
    title: "P8, P11: a chain of targets that all fail ends with the last error, and no fallback has succeeded",
    retry: { ...chain(SPARE), maxRetries: 1 },
    targets: TWO,
    turns: [
      {
        given: [overloaded, status(503, "unavailable")],
        follows: {
          calls: TWO,
          events: [
            ...BEGUN,
            atOnce(0, "overloaded"),
            ...fallsBack(TARGET, SPARE),
            ...failed("overloaded", { attempt: 0 })
          ]
        }
      }
    ],
    history: ["user: Hello", `assistant at ${SPARE} (overloaded):`]
  },
  {
    title: "P6, P8: a delay above the cap fails no turn that can go elsewhere",
    retry: chain(SPARE),
    targets: TWO,
    turns: [
      {
        given: [asks(301 * SECOND, "retry-after"), says(ANSWER)],
        follows: {
          calls: TWO,
          events: [...BEGUN, atOnce(0, "rate-limited"), ...fallsBack(TARGET, SPARE), ...provedAt(SPARE, 0)],
          shown: ANSWER
        }
      }
    ],
    history: ["user: Hello", AT_SPARE]
  },
  ...(
    [
      ["a key that is refused", status(401, "auth"), "auth"],
      ["a quota that is used up", status(429, "quota"), "quota-exhausted"],
      ["a model that is not there", status(404, "model"), "model-unavailable"]
    ] as const
  ).map(([what, answer, reason]): Scenario => ({
    title: `P8: ${what} is final on its own target, and none on another`,
    retry: chain(SPARE),
    targets: TWO,
    turns: [
      {
        given: [answer, says(ANSWER)],
        follows: {
          calls: TWO,
          events: [...BEGUN, atOnce(0, reason), ...fallsBack(TARGET, SPARE), ...provedAt(SPARE, 0)],
          shown: ANSWER
        }
      }
    ],
    history: ["user: Hello", AT_SPARE]
  })),
  endsIn(
    "P8: what is the request's own fault is sent nowhere else",
    "bad-request",
    [words(400, "Invalid value.")],
    [],
    {
      retry: chain(SPARE),
      targets: TWO
    }
  ),
  endsIn("P2, P8: nor is a context that is too long", "context-overflow", [status(400, "too-long")], [], {
    retry: chain(SPARE),
    targets: TWO
  }),
  endsIn("D4, P8: nor anything after content", "network", [breaksOff("Half of")], [], {
    retry: chain(SPARE),
    targets: TWO,
    shown: "Half of"
  }),
  {
    title: "P8: a stand-in that cannot hold the request is passed over",
    retry: chain(SPARE, THIRD),
    targets: THREE,
    models: { [SPARE]: { contextWindow: 8 }, [THIRD]: { contextWindow: 100_000 } },
    turns: [
      {
        prompt: "one two three four five six seven eight nine ten eleven twelve",
        given: [overloaded, says(ANSWER)],
        follows: {
          calls: [TARGET, THIRD],
          events: [...BEGUN, atOnce(0, "overloaded"), ...fallsBack(TARGET, THIRD), ...provedAt(THIRD, 0)],
          shown: ANSWER
        }
      }
    ],
    history: [
      "user: one two three four five six seven eight nine ten eleven twelve",
      `assistant at ${THIRD}: ${ANSWER}`
    ]
  },
  endsIn(
    "C10, P8: a bug of the program itself is nobody's fault, and sends the turn nowhere",
    "unknown",
    times(3, Answers.throws(new TypeError("undefined is not a function"))),
    waits(2 * SECOND, 4 * SECOND),
    { retry: chain(SPARE), targets: TWO, only: { runner: "kernel", because: "a bug of the program itself" } }
  ),
  {
    title: "P8, X4: a person who wants the retry now has it where the wait was to lead",
    retry: chain(SPARE),
    targets: TWO,
    turns: [
      {
        given: [overloaded, overloaded, says(ANSWER)],
        when: [{ at: 1, act: "retry-now" }],
        follows: {
          calls: [TARGET, SPARE, TARGET],
          events: [
            ...BEGUN,
            atOnce(0, "overloaded"),
            ...fallsBack(TARGET, SPARE),
            { type: "provider-retry", attempt: 1, delayMs: 4 * SECOND },
            { type: "model-change", from: SPARE, to: TARGET },
            ...answered(1)
          ],
          shown: ANSWER
        }
      }
    ],
    history: ANSWERED
  },
  {
    title: "P11, P14: one who cancels it ends the turn with the error of the target that failed last",
    retry: chain(SPARE),
    targets: TWO,
    turns: [
      {
        given: [overloaded, status(503, "unavailable")],
        when: [{ at: 1, act: "abort-retry" }],
        follows: {
          calls: TWO,
          events: [
            ...BEGUN,
            atOnce(0, "overloaded"),
            ...fallsBack(TARGET, SPARE),
            { type: "provider-retry", attempt: 1, delayMs: 4 * SECOND, target: SPARE },
            ...failed("overloaded", { attempt: 1, finalError: "Retry cancelled" })
          ]
        }
      }
    ],
    history: ["user: Hello", `assistant at ${SPARE} (overloaded):`]
  },
  {
    title: "P15: switched off in a wait, the next failure ends the turn, whoever could take over",
    retry: chain(SPARE),
    targets: TWO,
    only: { runner: "service", because: "a switch of the conversation's" },
    turns: [
      {
        given: [overloaded, overloaded, overloaded],
        when: [
          { at: 1, act: "auto-retry off" },
          { at: 1, act: "retry-now" }
        ],
        follows: {
          calls: [TARGET, SPARE, TARGET],
          events: [
            ...BEGUN,
            atOnce(0, "overloaded"),
            ...fallsBack(TARGET, SPARE),
            { type: "provider-retry", attempt: 1, delayMs: 4 * SECOND },
            { type: "model-change", from: SPARE, to: TARGET },
            ...failed("overloaded", { attempt: 1 })
          ]
        }
      }
    ],
    history: ["user: Hello", "assistant (overloaded):"]
  },
  {
    title: "P15: switched off, nothing takes over",
    retry: chain(SPARE),
    targets: TWO,
    only: { runner: "service", because: "a switch of the conversation's" },
    turns: [
      {
        given: [overloaded],
        when: [{ at: "start", act: "auto-retry off" }],
        follows: { events: [...BEGUN, ...failed("overloaded")] }
      }
    ],
    history: ["user: Hello", "assistant (overloaded):"]
  }
]

/** The fallback answers so late that the primary's cooldown of 5 minutes is over. */
const late = takes(6 * MINUTE, says(ANSWER))

const secondTurn = (calls: ReadonlyArray<string>, events: ReadonlyArray<Expected>) => ({
  prompt: "And?",
  given: [says(ANSWER)],
  follows: { calls, events, shown: ANSWER }
})

const TOOL_AT_SPARE: ReadonlyArray<Expected> = [
  ...BEGUN,
  atOnce(0, "overloaded"),
  ...fallsBack(TARGET, SPARE),
  { type: "retry-end", success: true, attempt: 0 },
  { type: "retry-fallback-succeeded", model: SPARE, role: "default" },
  ...called("send", true)
]

const reverting: ReadonlyArray<Scenario> = [
  {
    title: "P8, P9: while its primary cools down the next turn begins on the fallback",
    retry: chain(SPARE),
    targets: TWO,
    scale: 1,
    turns: [{ given: [overloaded, says(ANSWER)], follows: takenOver }, secondTurn([SPARE], begunOn(SPARE))],
    history: ["user: Hello", AT_SPARE, "user: And?", AT_SPARE]
  },
  {
    title: "P3, P9: once the cooldown is over the next turn begins on the primary, unless it is told otherwise",
    retry: chain(SPARE),
    targets: TWO,
    turns: [{ given: [overloaded, late], follows: takenOver }, secondTurn([TARGET], [...BEGUN, ...answered()])],
    history: ["user: Hello", AT_SPARE, "user: And?", `assistant: ${ANSWER}`]
  },
  {
    title: 'P9: under "never" it does not',
    retry: never(SPARE),
    targets: TWO,
    turns: [{ given: [overloaded, late], follows: takenOver }, secondTurn([SPARE], begunOn(SPARE))],
    history: ["user: Hello", AT_SPARE, "user: And?", AT_SPARE]
  },
  {
    title: "P9: in the middle of a turn the first step after the cooldown is the primary's",
    retry: chain(SPARE),
    targets: TWO,
    turns: [
      {
        given: [overloaded, takes(6 * MINUTE, callsTool("send")), says(ANSWER)],
        follows: {
          calls: [TARGET, SPARE, TARGET],
          events: [
            ...TOOL_AT_SPARE,
            { type: "model-change", from: SPARE, to: TARGET },
            { type: "step-start", step: 1, target: TARGET },
            ...answered()
          ],
          shown: ANSWER
        }
      }
    ],
    history: ["user: Hello", `assistant at ${SPARE}: calls send`, "tool: send failed", `assistant: ${ANSWER}`]
  },
  {
    title: 'P9: under "never" the turn goes on where it is',
    retry: never(SPARE),
    targets: TWO,
    turns: [
      {
        given: [overloaded, takes(6 * MINUTE, callsTool("send")), says(ANSWER)],
        follows: {
          calls: [TARGET, SPARE, SPARE],
          events: [...TOOL_AT_SPARE, { type: "step-start", step: 1, target: SPARE }, ...answered()],
          shown: ANSWER
        }
      }
    ],
    history: ["user: Hello", `assistant at ${SPARE}: calls send`, "tool: send failed", AT_SPARE]
  },
  {
    title: "P8: a cooldown is as long as it is set, and as the provider asks where that is longer",
    retry: {
      profile: "interactive",
      routing: { type: "fallback-chain", chains: { default: [SPARE] }, cooldown: "1 minute" }
    },
    targets: TWO,
    // Two seconds are there for the second step to begin.
    scale: 80,
    turns: [
      {
        given: [asks(4 * MINUTE, "retry-after"), takes(65 * SECOND, callsTool("send")), says(ANSWER)],
        follows: {
          calls: [TARGET, SPARE, SPARE],
          events: [
            ...BEGUN,
            atOnce(0, "rate-limited"),
            ...TOOL_AT_SPARE.slice(BEGUN.length + 1),
            { type: "step-start", step: 1, target: SPARE },
            ...answered()
          ],
          shown: ANSWER
        }
      }
    ],
    history: ["user: Hello", `assistant at ${SPARE}: calls send`, "tool: send failed", AT_SPARE]
  },
  {
    title: "M1, P8: a manual retry begins where something is free",
    retry: { ...chain(SPARE), maxRetries: 0 },
    targets: TWO,
    scale: 1,
    turns: [
      { given: [overloaded], follows: { events: [...BEGUN, ...failed("overloaded")] } },
      {
        prompt: null,
        given: [says(ANSWER)],
        follows: {
          calls: [SPARE],
          asked: [["user: Hello"]],
          events: [...BEGUN_AGAIN.slice(0, 1), ...begunOn(SPARE).slice(2)],
          shown: ANSWER
        }
      }
    ],
    history: ["user: Hello", "assistant (overloaded):", AT_SPARE]
  }
]

const KEYS = { scripted: ["KEY_1", "KEY_2"] } as const

const FIRST = `${TARGET}#KEY_1`
const SECOND_KEY = `${TARGET}#KEY_2`

/** The first key is used up, and the second takes over at once. */
const switchedKey: Pattern = {
  type: "provider-retry",
  attempt: 0,
  delayMs: 0,
  reason: "quota-exhausted",
  credential: "KEY_2"
}

const credentials: ReadonlyArray<Scenario> = [
  {
    title:
      "P7: a used-up quota moves to another key of the same provider, at once, and is told of as a retry and nothing more",
    retry: { profile: "interactive" },
    credentials: KEYS,
    formats: BOTH,
    turns: [
      {
        given: [exhausted(HOUR), says(ANSWER)],
        follows: { calls: [FIRST, SECOND_KEY], events: [...BEGUN, switchedKey, ...answered(0)], shown: ANSWER }
      }
    ],
    history: ANSWERED
  },
  {
    title: "P7: a key is limited until its reset, for later turns too, and used again after it",
    retry: { profile: "interactive" },
    credentials: KEYS,
    // So much time is there for the second turn to begin, in which the key is still limited.
    scale: 150,
    turns: [
      {
        given: [exhausted(8 * MINUTE), says(ANSWER)],
        follows: { calls: [FIRST, SECOND_KEY], events: [...BEGUN, switchedKey, ...answered(0)], shown: ANSWER }
      },
      {
        prompt: "And?",
        given: [takes(9 * MINUTE, says(ANSWER))],
        follows: { calls: [SECOND_KEY], events: [...BEGUN, ...answered()], shown: ANSWER }
      },
      {
        prompt: "So?",
        given: [says(ANSWER)],
        follows: { calls: [FIRST], events: [...BEGUN, ...answered()], shown: ANSWER }
      }
    ],
    history: [...ANSWERED, "user: And?", `assistant: ${ANSWER}`, "user: So?", `assistant: ${ANSWER}`]
  },
  {
    title: "P7: a rate limit by the minute keeps its key",
    retry: { profile: "interactive" },
    credentials: KEYS,
    turns: [
      {
        given: [asks(10 * SECOND, "retry-after"), says(ANSWER)],
        follows: {
          calls: [FIRST, FIRST],
          events: [
            ...BEGUN,
            { type: "provider-retry", attempt: 0, delayMs: 10 * SECOND, reason: "rate-limited" },
            ...answered(0)
          ],
          shown: ANSWER
        }
      }
    ],
    history: ANSWERED
  },
  {
    title: "P7, P8: when all keys are used up the next target takes over",
    retry: chain(SPARE),
    targets: TWO,
    credentials: KEYS,
    turns: [
      {
        given: [exhausted(HOUR), exhausted(HOUR), says(ANSWER)],
        follows: {
          calls: [FIRST, SECOND_KEY, SPARE],
          events: [
            ...BEGUN,
            switchedKey,
            atOnce(1, "quota-exhausted"),
            ...fallsBack(TARGET, SPARE),
            ...provedAt(SPARE, 1)
          ],
          shown: ANSWER
        }
      }
    ],
    history: ["user: Hello", AT_SPARE]
  },
  {
    title: "P7, P8: a fallback has keys of its own",
    retry: chain(SPARE),
    targets: TWO,
    credentials: { spare: ["KEY_A", "KEY_B"] },
    turns: [
      {
        given: [overloaded, exhausted(HOUR), says(ANSWER)],
        follows: {
          calls: [TARGET, `${SPARE}#KEY_A`, `${SPARE}#KEY_B`],
          events: [
            ...BEGUN,
            atOnce(0, "overloaded"),
            ...fallsBack(TARGET, SPARE),
            { type: "provider-retry", attempt: 1, delayMs: 0, reason: "quota-exhausted", credential: "KEY_B" },
            ...provedAt(SPARE, 1)
          ],
          shown: ANSWER
        }
      }
    ],
    history: ["user: Hello", AT_SPARE]
  },
  {
    title: "P7: with nowhere to go, the reset that comes first is waited for",
    credentials: KEYS,
    only: {
      runner: "kernel",
      because: "the reset is a moment, and on a real clock some of the time until then has gone by"
    },
    turns: [
      {
        given: [exhausted(10 * MINUTE), exhausted(2 * HOUR), says(ANSWER)],
        follows: {
          calls: [FIRST, SECOND_KEY, FIRST],
          events: [
            ...BEGUN,
            switchedKey,
            { type: "provider-retry", attempt: 1, delayMs: 10 * MINUTE, reason: "quota-exhausted" },
            ...answered(1)
          ],
          shown: ANSWER
        }
      }
    ],
    history: ANSWERED
  },
  {
    title: "P6, P7: one that is above the cap fails the turn at once, when no key is left",
    retry: { profile: "interactive" },
    credentials: KEYS,
    turns: [
      {
        given: [exhausted(10 * MINUTE), exhausted(2 * HOUR)],
        follows: {
          calls: [FIRST, SECOND_KEY],
          events: [...BEGUN, switchedKey, ...failed("quota-exhausted", { attempt: 0 })]
        }
      }
    ],
    history: ["user: Hello", "assistant (quota-exhausted):"]
  }
]

export const scenarios = [...chains, ...reverting, ...credentials]
