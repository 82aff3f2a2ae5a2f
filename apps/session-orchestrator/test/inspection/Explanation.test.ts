/** Turns that have really happened, and what is said of them afterwards. */
import { assert, describe, it } from "@effect/vitest"
import { Compactor, FinalReport, RetryStrategy } from "@holdfast/kernel"
import { ScriptedProvider, TestRouter } from "@holdfast/kernel/testing"
import { Basis, Profile } from "@holdfast/policy"
import { Failure, TurnExplanation } from "@holdfast/wire"
import { Duration, Effect, Layer, Schema } from "effect"
import * as Explanation from "../../src/inspection/Explanation.ts"
import { Journal } from "../../src/storage/Journal.ts"
import { Store } from "../../src/storage/Store.ts"
import * as ScriptedTurn from "./ScriptedTurn.ts"

const { answer, call, dies, emits, text, throws, tools, unauthorized } = ScriptedProvider
const { by, hangs } = ScriptedTurn

const overloaded: Failure.Failure = {
  reason: "overloaded",
  message: "Overloaded",
  retryable: true,
  status: 529,
  code: "overloaded_error"
}
const asked = (ms: number): Failure.Failure => ({ ...overloaded, hint: { retryAfterMs: ms, source: "retry-after" } })
const quota: Failure.Failure = { reason: "quota-exhausted", message: "You exceeded your quota", retryable: false }
const tooLong: Failure.Failure = { reason: "context-overflow", message: "prompt is too long", retryable: false }
const down = (times: number, failure = overloaded) => Array.from({ length: times }, () => emits(failure))

const hour = Duration.hours(1)

/** Every sentence, in order. */
const wordsOf = ({ seal, steps }: TurnExplanation.TurnExplanation): ReadonlyArray<string> => [
  ...steps.flatMap(({ attempts, tools }) => [
    ...attempts.flatMap(({ decision, wait, words }) => [
      words,
      ...(decision === undefined ? [] : [decision.words]),
      ...(wait?.asked === undefined ? [] : [wait.asked.words]),
      ...(wait?.changes.map(({ words }) => words) ?? []),
      ...(wait?.end === undefined ? [] : [wait.end.words])
    ]),
    ...tools.map(({ words }) => words)
  ]),
  ...(seal === undefined ? [] : [seal.words])
]

const asking = (strategy: RetryStrategy.RetryStrategy["Service"]): RetryStrategy.RetryStrategy["Service"] => ({
  ...strategy,
  ask: ({ waitedMs }) => ({
    asks: { because: "turn", tokens: 9, limit: 1, waitedMs, message: "May it go on?" },
    answerWithinMs: 8 * 3_600_000
  })
})

const fallback = { target: { provider: "openai", model: "gpt-5" }, role: "default" }

const sends = (move: TestRouter.Move) => new TestRouter.TestRouter({ direct: () => move }).layer

/** Does one after another. */
const compactor = (...does: ReadonlyArray<Effect.Effect<never, Failure.ProviderFailure> | string | undefined>) => {
  let n = 0
  return Layer.succeed(Compactor.Compactor, {
    compact: ({ messages }) => {
      const what = does[n++]
      if (what !== undefined && typeof what !== "string") return what
      const upTo = messages[0]?.id
      return Effect.succeed(what === undefined || upTo === undefined ? undefined : { summary: what, upTo })
    }
  })
}

const report = Layer.succeed(FinalReport.FinalReport, {
  tool: { name: "report", inputSchema: {} },
  validate: () => undefined
})

interface Case {
  readonly title: string
  readonly plan: ScriptedTurn.Plan
  readonly live?: (hand: ScriptedTurn.Hand) => Effect.Effect<unknown>
  /** What is said, among other things, in this order. */
  readonly says: ReadonlyArray<string>
}

const cases: ReadonlyArray<Case> = [
  {
    title: "a retry by the schedule says what it was, when it was due, and what it cost (D1, D3)",
    plan: { scripts: [...down(1), answer("Hello")] },
    says: [
      'Attempt 1 failed before any content: overloaded, 529 overloaded_error: "Overloaded".',
      "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's (D3, D1); 5 s of 8 h spent.",
      "The wait was over.",
      "Attempt 2 was answered (stop).",
      "The turn was answered after 2 attempts and 5 s of waiting."
    ]
  },
  {
    title: "after content (D4)",
    plan: { scripts: [emits(overloaded, text("Hel"))] },
    says: [
      'Attempt 1 failed after content had left: overloaded, 529 overloaded_error: "Overloaded".',
      "Gave up: content had left, and what has been shown is not produced twice (D4).",
      'The turn failed after 1 attempt: overloaded, 529 overloaded_error: "Overloaded".'
    ]
  },
  {
    title: "a failure that is final (D3)",
    plan: { scripts: [emits(unauthorized)] },
    says: ["Gave up: a failure of this kind (auth) is not retried (D3)."]
  },
  {
    title: "a provider that says not to ask again (C2)",
    plan: { scripts: [emits({ ...overloaded, retryable: false, evidence: { "x-should-retry": "false" } })] },
    says: ["Gave up: the provider said that it should not be retried (D3)."]
  },
  {
    title: "a quota without a reset is not waited for (C2)",
    plan: { scripts: [emits(quota)] },
    says: ["Gave up: the quota is used up, and the provider named no time of its reset (D3, C2)."]
  },
  {
    title: "a quota with a reset is waited for (C2)",
    plan: {
      scripts: [
        emits({ ...quota, retryable: true, hint: { retryAfterMs: 3_600_000, source: "body" } }),
        answer("Hello")
      ]
    },
    says: [
      "Retry 1 at 2031-04-01 23:58:00 UTC, after 1 h, the provider's, longer than the schedule's 5 s (C2, P5); 1 h of 8 h spent."
    ]
  },
  {
    title: "a context that is too long (P2)",
    plan: { scripts: [emits(tooLong)] },
    says: ["Gave up: what is too long for the model is not sent again (P2)."]
  },
  {
    title: "a bug (C10)",
    plan: { scripts: [1, 2, 3].map(() => dies(new TypeError("x is undefined"))) },
    says: [
      'Attempt 1 failed before any content: unknown: "TypeError: x is undefined".',
      "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's (C10, D1); 5 s of 8 h spent.",
      "Gave up: this is a bug of the program, and it was tried again twice already (C10)."
    ]
  },
  {
    title: "an abort that nobody here asked for (M3)",
    plan: { scripts: [throws({ reason: "aborted", message: "terminated", retryable: true }), answer("Hello")] },
    says: ["Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's (M3, D1); 5 s of 8 h spent."]
  },
  {
    title: "no strategy (D9)",
    plan: { scripts: down(1), isPatient: false },
    says: ["Gave up: no retries were asked for (D9)."]
  },
  {
    title: "retries that are switched off in the configuration (P3)",
    plan: { scripts: down(1), retry: { enabled: false } },
    says: ["Gave up: retries are switched off in the configuration (retry.enabled) (P3)."]
  },
  {
    title: "retries that a person switched off (P15)",
    plan: {
      scripts: down(1),
      strategy: (strategy) => ({
        ...strategy,
        delayFor: () => undefined,
        basisFor: (_attempt, _failure, spent) => Basis.switchedOff(Profile.resolve(), spent)
      })
    },
    says: ["Gave up: automatic retries had been switched off for this conversation (P15)."]
  },
  {
    title: "no more than so many retries (P3, P4)",
    plan: { scripts: down(4), retry: { profile: "interactive" } },
    says: [
      "Retry 2 at 2031-04-01 22:58:06 UTC, after 4 s, the schedule's (D3, P4).",
      "Gave up: 3 retries had been made, and there may be no more (P3, D7)."
    ]
  },
  {
    title: "a wait longer than any may be (P6)",
    plan: { scripts: [emits(asked(600_000))], retry: { profile: "interactive" } },
    says: ["Gave up: the next wait would be 10 m, and none may be longer than 5 m (P6)."]
  },
  {
    title: "the budget (D1, D7)",
    plan: { scripts: down(3), retry: { budget: Duration.seconds(20) } },
    says: ["Gave up: the next wait of 30 s does not fit into the budget: 15 s of 20 s were spent (D1, D7)."]
  },
  {
    title: "a budget by the clock (D2)",
    plan: { scripts: down(3), retry: { budget: Duration.seconds(20), measure: "wall-clock" } },
    says: [
      "Retry 2 at 2031-04-01 22:58:15 UTC, after 10 s, the schedule's (D3, D1); 5 s of 20 s had passed.",
      "Gave up: the next wait of 30 s does not fit into the budget: 15 s of 20 s had passed (D1, D2, D7)."
    ]
  },
  {
    title: "a wait that is cut to what is left (D1)",
    plan: { scripts: [...down(3), answer("Hello")], retry: { budget: { total: Duration.seconds(20), clip: true } } },
    says: [
      "Retry 3 at 2031-04-01 22:58:20 UTC, after 5 s: the schedule's 30 s, cut to what was left of the budget (D3, D1); 20 s of 20 s spent."
    ]
  },
  {
    title: "a hint that is shorter than the schedule (P5)",
    plan: { scripts: [emits(asked(2_000)), answer("Hello")] },
    says: [
      "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's, no shorter than the provider's 2 s (D3, D1); 5 s of 8 h spent."
    ]
  },
  {
    title: "a hint that the configuration ignores (P5)",
    plan: { scripts: [emits(asked(60_000)), answer("Hello")], retry: { hints: false } },
    says: [
      "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's, not the provider's 1 m, which is not followed (retry.hints) (D3, D1); 5 s of 8 h spent."
    ]
  },
  {
    title: "a wait that people moved, extended and ended (X4)",
    plan: { scripts: [...down(1), answer("Hello")] },
    live: ({ pass, wake }) =>
      Effect.gen(function* () {
        yield* wake({ type: "until", until: Date.parse("2031-04-02T06:00:00Z"), by })
        yield* wake({ type: "extended", byMs: 7_200_000, by })
        yield* pass(hour)
        yield* wake({ type: "now", by })
      }),
    says: [
      "The wait was moved to 2031-04-02 06:00:00 UTC by HTTP from 127.0.0.1, command k1 (X4).",
      "2 h were added to the budget by HTTP from 127.0.0.1, command k1 (X4).",
      "The wait was ended by HTTP from 127.0.0.1, command k1, to retry at once (X4).",
      "Attempt 2 was answered (stop)."
    ]
  },
  {
    title: "a wait that was moved to a time that was past: it was over when that was heard, and nothing was late (X4)",
    plan: { scripts: [...down(1), answer("Hello")] },
    live: ({ pass, wake }) =>
      Effect.gen(function* () {
        yield* pass(Duration.seconds(2))
        yield* wake({ type: "until", until: 1, by })
        yield* pass(Duration.zero)
      }),
    says: [
      "The wait was moved to 1970-01-01 00:00:00 UTC by HTTP from 127.0.0.1, command k1 (X4).",
      "The wait was over.",
      "Attempt 2 was answered (stop)."
    ]
  },
  {
    title: "a reason that has spent its own budget (X11)",
    plan: { scripts: down(4), retry: { reasons: { overloaded: { budget: Duration.seconds(20) } } } },
    says: [
      "Retry 2 at 2031-04-01 22:58:15 UTC, after 10 s, the schedule's (D3, D1); 15 s of 8 h spent; 15 s of 20 s spent on overloaded.",
      "Gave up: the next wait of 30 s does not fit into the budget for overloaded (retry.reasons): 15 s of 20 s were spent (X11, D7)."
    ]
  },
  {
    title: "a reason that has spent its own budget by the clock (X11)",
    plan: {
      scripts: down(4),
      retry: { measure: "wall-clock", reasons: { overloaded: { budget: Duration.seconds(20) } } }
    },
    says: [
      "Gave up: the next wait of 30 s does not fit into the budget for overloaded (retry.reasons): 15 s of 20 s had passed (X11, D2, D7)."
    ]
  },
  {
    title: "as many retries as a reason may have (X11)",
    plan: { scripts: down(4), retry: { reasons: { overloaded: { maxRetries: 1 } } } },
    says: ["Gave up: 1 retry had been made after overloaded, and there may be no more (retry.reasons) (X11, D7)."]
  },
  {
    title: "a question that somebody has answered (X11)",
    plan: { scripts: [...down(1), answer("Hello")], strategy: asking },
    live: ({ pass, wake }) => Effect.andThen(pass(hour), wake({ type: "now", by })),
    says: [
      "May it go on? The turn asked, and waits for an answer until 2031-04-02 06:58:05 UTC (X11).",
      "The wait was ended by HTTP from 127.0.0.1, command k1, to retry at once (X4).",
      "Attempt 2 was answered (stop)."
    ]
  },
  {
    title: "a question that nobody has answered (X11)",
    plan: { scripts: down(1), strategy: asking },
    says: [
      "Nobody had answered, and the turn gave up (X11).",
      'The turn failed after 1 attempt: overloaded: "May it go on? Nobody answered within 8h. The last error was: Overloaded".'
    ]
  },
  {
    title: "a turn that was sent elsewhere (X4)",
    plan: { scripts: [...down(1), answer("Hello")] },
    live: ({ wake }) => wake({ type: "switched", target: { provider: "openai", model: "gpt-5" }, by }),
    says: ["The wait was ended by HTTP from 127.0.0.1, command k1, to go on with openai/gpt-5 (X4)."]
  },
  {
    title: "a switch to a fallback (P8)",
    plan: { scripts: [...down(1), answer("Hello")], services: sends({ delayMs: 0, route: fallback }) },
    says: [
      'Attempt 1 failed before any content: overloaded, 529 overloaded_error: "Overloaded".',
      "Retry 1 at once, on openai/gpt-5, of the chain default (P8).",
      "Attempt 2 was answered (stop).",
      "The turn was answered after 2 attempts."
    ]
  },
  {
    title: "a switch to another credential (P7)",
    plan: {
      scripts: [emits(quota), answer("Hello")],
      services: sends({ delayMs: 0, route: { target: { provider: "openai", model: "gpt-5" }, credential: "second" } })
    },
    says: ["Retry 1 at once, on openai/gpt-5 with credential second (P7)."]
  },
  {
    title: "a round that has to wait (A4)",
    plan: {
      scripts: [...down(1), answer("Hello")],
      services: sends({ delayMs: 7_000, route: { target: fallback.target } })
    },
    says: ["Retry 1 at 2031-04-01 22:58:07 UTC, after 7 s, on openai/gpt-5 (A4).", "The wait was over."]
  },
  {
    title: "a context that was made smaller, and the wait for it (P19)",
    plan: {
      scripts: [emits(tooLong), answer("Hello")],
      services: compactor(Effect.fail(new Failure.ProviderFailure({ failure: overloaded })), "So far.")
    },
    says: [
      'Attempt 1 failed before any content: context-overflow: "prompt is too long".',
      'Call 2, for a summary, failed: overloaded, 529 overloaded_error: "Overloaded".',
      "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's (D3, D1); 5 s of 8 h spent.",
      "Call 3, for a summary, was answered: it stands for the older messages from here on (P19).",
      "Attempt 4 was answered (stop).",
      "The turn was answered after 4 attempts and 5 s of waiting."
    ]
  },
  {
    title: "a context that could not be made smaller (P19)",
    plan: { scripts: [emits(tooLong)], services: compactor(undefined) },
    says: [
      "Gave up: what is too long for the model is not sent again (P2).",
      "Nothing of what was too long could be left out (P19).",
      'The turn failed after 1 attempt: context-overflow: "prompt is too long".'
    ]
  },
  {
    title: "one whose older part was too long itself (P19)",
    plan: {
      scripts: [emits(tooLong)],
      services: compactor(Effect.fail(new Failure.ProviderFailure({ failure: tooLong })))
    },
    says: [
      'Call 2, for a summary, was too long itself: context-overflow: "prompt is too long". Nothing of what was too long could be left out (P19).',
      'The turn failed after 2 attempts: context-overflow: "prompt is too long".'
    ]
  },
  {
    title: "words where a report was asked for (A9)",
    plan: { scripts: [answer("Well."), tools(call("report"))], services: report },
    says: [
      'Attempt 1 failed after content had left: invalid-response: "The response had neither a tool call nor a final report."',
      "Attempt 2 was answered (tool-calls)."
    ]
  },
  {
    title: "retries that were given up (P14)",
    plan: { scripts: down(1) },
    live: ({ wake }) => wake({ type: "cancelled", by }),
    says: [
      "The wait was ended by HTTP from 127.0.0.1, command k1, and the retries given up (P14, X4).",
      'The turn failed after 1 attempt: overloaded, 529 overloaded_error: "Overloaded".'
    ]
  },
  {
    title: "an abort in a wait (D8)",
    plan: { scripts: down(1) },
    live: ({ abort }) => abort,
    says: ["The wait was ended by an abort of the turn (D8).", "The turn was aborted after 1 attempt (P14)."]
  },
  {
    title: "an abort in an attempt (P14)",
    plan: { scripts: [hangs(text("Hel"))] },
    live: ({ abort }) => abort,
    says: [
      "Attempt 1 was cut short, after content had left: the turn ended.",
      "The turn was aborted after 1 attempt (P14)."
    ]
  },
  {
    title: "an abort before anything came (P14)",
    plan: { scripts: [...down(1), hangs()] },
    live: ({ abort, pass }) => Effect.andThen(pass(hour), abort),
    says: ["The wait was over.", "Attempt 2 was cut short: the turn ended."]
  },
  {
    title: "a wait that could not be slept (D14)",
    plan: {
      scripts: down(1),
      strategy: (strategy) => ({
        ...strategy,
        sleep: () => Effect.fail(new RetryStrategy.SleepFailure({ message: "The alarm clock is broken." }))
      })
    },
    says: [
      "The wait could not be slept, and there is no retry without it (D14).",
      'The turn failed after 1 attempt: unknown: "The alarm clock is broken."'
    ]
  },
  {
    title: "an attempt whose process died after content had left (X2)",
    plan: { scripts: [answer("Hel"), answer("Hello")], diesBefore: "step/0/attempt/0" },
    says: [
      "Attempt 1 was lost: its process died after content had left. What was shown is void; it costs no retry (X2).",
      "Attempt 2 was answered (stop)."
    ]
  },
  {
    title: "a tool call whose process died, beside one that was answered and one that failed (X8)",
    plan: {
      scripts: [tools(call("search"), call("mail"), call("unknown")), answer("Done")],
      toolbox: {
        definitions: [],
        run: ({ toolName }) => Effect.succeed({ output: toolName, isError: toolName === "unknown" })
      },
      diesBefore: "step/0/tool/1"
    },
    says: [
      "Attempt 1 was answered (tool-calls).",
      "Tool call 1, search, was answered.",
      "Tool call 2, mail, was running when its process died. It was not run again; the model was told that nobody knows what became of it (X8).",
      "Attempt 1 was answered (stop).",
      "The turn was answered after 2 attempts."
    ]
  },
  {
    title: "a turn that waits",
    plan: { scripts: down(1) },
    live: () => Effect.void,
    says: ["Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s, the schedule's (D3, D1); 5 s of 8 h spent."]
  },
  {
    title: "a turn in the middle of an answer",
    plan: { scripts: [...down(1), hangs(text("Hel"))] },
    live: ({ pass }) => pass(hour),
    says: ["Attempt 2 is under way, and content has left."]
  },
  {
    title: "a turn whose tools have run",
    plan: {
      scripts: [tools(call("search")), hangs()],
      toolbox: { definitions: [], run: () => Effect.succeed({ output: "found", isError: false }) }
    },
    live: ({ pass }) => pass(hour),
    says: ["Tool call 1, search, was answered.", "Attempt 1 is under way."]
  }
]

const isExplanation = Schema.is(TurnExplanation.TurnExplanation)

describe("Explanation", () => {
  for (const { live, plan, says, title } of cases) {
    it.effect(`X9: what is said of ${title}`, () =>
      Effect.gen(function* () {
        const explanation = yield* ScriptedTurn.happened(plan, live)
        const words = wordsOf(explanation)
        assert.deepStrictEqual(
          words.filter((sentence) => says.includes(sentence)),
          says,
          words.join("\n")
        )
        assert.isTrue(isExplanation(JSON.parse(JSON.stringify(explanation))))
      }).pipe(Effect.provide(ScriptedTurn.layer))
    )
  }
})

describe("an explanation", () => {
  it.effect("X9: has the numbers of a decision: schedule, hint, jitter, what was spent, and when it wakes", () =>
    Effect.gen(function* () {
      const { steps } = yield* ScriptedTurn.happened({
        scripts: [emits(asked(30_000)), answer("Hello")],
        retry: { jitter: { factor: 1 } }
      })
      const decision = steps[0]?.attempts[0]?.decision
      if (decision?.type !== "retry") return assert.fail("no retry")
      const { delayMs, jitterMs = 0, retryAt } = decision
      assert.deepInclude(decision, {
        retry: 0,
        scheduledMs: 5_000,
        hintMs: 30_000,
        spending: { measure: "scheduled", spentMs: 0, totalMs: 28_800_000 },
        rules: ["D3", "P5"]
      })
      assert.strictEqual(delayMs, 30_000 + jitterMs)
      assert.strictEqual(retryAt, Date.parse("2031-04-01T22:58:00Z") + delayMs)
      assert.match(
        decision.words,
        /: the provider's 30 s(?: and [\d.]+ m?s of jitter)?, longer than the schedule's 5 s/
      )
    }).pipe(Effect.provide(ScriptedTurn.layer))
  )

  it.effect("X4: has the target of every attempt, as commands have changed it", () =>
    Effect.gen(function* () {
      const { steps } = yield* ScriptedTurn.happened({ scripts: [...down(2), answer("Hello")] }, ({ pass, wake }) =>
        Effect.andThen(wake({ type: "switched", target: { provider: "openai", model: "gpt-5" }, by }), pass(hour))
      )
      assert.deepStrictEqual(
        steps[0]?.attempts.map(({ target }) => target),
        ["anthropic/claude-sonnet-4-5", "openai/gpt-5", "openai/gpt-5"]
      )
    }).pipe(Effect.provide(ScriptedTurn.layer))
  )

  it.effect("X9: has no key in it that a provider quoted, whatever let it get that far", () =>
    Effect.gen(function* () {
      const key = "sk-ant-api03-0123456789abcdef"
      const leaky = { ...unauthorized, message: `invalid x-api-key ${key}`, evidence: { "request-id": key } }
      const explanation = yield* ScriptedTurn.happened({ scripts: [emits(leaky)] })
      assert.notInclude(JSON.stringify(explanation), key)
      assert.include(JSON.stringify(explanation), "invalid x-api-key [redacted]")
    }).pipe(Effect.provide(ScriptedTurn.layer))
  )

  it.effect("says so when the records of a sealed turn were deleted", () =>
    Effect.gen(function* () {
      yield* ScriptedTurn.happened({ scripts: [...down(1), answer("Hello")] })
      const journal = yield* Journal
      yield* journal.forget(Number.MAX_SAFE_INTEGER, undefined)
      const { isForgotten, seal, steps } = Explanation.of(yield* evidence, (text) => text)
      assert.deepStrictEqual(
        { isForgotten, steps, attempts: seal?.attempts },
        { isForgotten: true, steps: [], attempts: 2 }
      )
    }).pipe(Effect.provide(ScriptedTurn.layer))
  )

  it.effect("says that a turn is queued that nobody has begun", () =>
    Effect.gen(function* () {
      yield* ScriptedTurn.happened({ scripts: down(1) }, () => Effect.void)
      const { conversation, turn } = yield* evidence
      const { status, steps } = Explanation.of({ turn, conversation, events: [], records: [] }, (text) => text)
      assert.deepStrictEqual({ status, steps }, { status: "queued", steps: [] })
    }).pipe(Effect.provide(ScriptedTurn.layer))
  )

  it.effect("reads what older versions have recorded, and names what a later one has", () =>
    Effect.gen(function* () {
      yield* ScriptedTurn.happened({ scripts: down(1) }, () => Effect.void)
      const found = yield* evidence
      const records = [
        ...found.records.map(({ name, value }) => ({ name, value: withoutBasis(value) })),
        { name: "step/0/sleep/0", value: '{"type":"elapsed"}' },
        { name: "step/0/verdict/0", value: "{}" }
      ]
      const explanation = Explanation.of({ ...found, records }, (text) => text)
      assert.deepStrictEqual(explanation.unread, ["step/0/verdict/0"])
      assert.deepStrictEqual(wordsOf(explanation).slice(1), [
        "Retry 1 at 2031-04-01 22:58:05 UTC, after 5 s (D3).",
        "The wait was over.",
        "Attempt 2 is under way."
      ])
    }).pipe(Effect.provide(ScriptedTurn.layer))
  )

  it.effect("X1: says by how much a turn was woken late", () =>
    Effect.gen(function* () {
      yield* ScriptedTurn.happened({ scripts: down(1) }, () => Effect.void)
      const found = yield* evidence
      const wake = { type: "elapsed", at: Date.parse("2031-04-02T06:00:05Z") }
      const records = [...found.records, { name: "step/0/sleep/0", value: JSON.stringify(wake) }]
      const words = wordsOf(Explanation.of({ ...found, records }, (text) => text))
      assert.include(words, "The wait was over, 7 h 2 m late: nothing ran this turn, or the machine slept.")
    }).pipe(Effect.provide(ScriptedTurn.layer))
  )
})

const evidence = Effect.gen(function* () {
  const store = yield* Store
  const journal = yield* Journal
  const { conversationId, turnId } = ScriptedTurn
  return {
    turn: yield* Effect.flatMap(store.turn(turnId), Effect.fromOption),
    conversation: yield* Effect.flatMap(store.conversation(conversationId), Effect.fromOption),
    events: (yield* store.turnEvents(turnId)).map(({ event }) => event),
    records: yield* journal.load(turnId)
  }
})

const withoutBasis = (value: string): string => {
  const { basis: _, ...rest } = Object(JSON.parse(value))
  return value.startsWith("{") ? JSON.stringify(rest) : value
}
