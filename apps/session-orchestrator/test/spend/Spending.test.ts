/** Tests limits of spending in the service, on a store in memory and a test clock. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import type { Provider } from "@holdfast/kernel"
import { History } from "@holdfast/kernel/host"
import { Ids } from "@holdfast/wire"
import { Duration, Effect, Layer, type Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as ConversationSetup from "../conversation/ConversationSetup.ts"
import * as TurnUse from "../../src/inspection/TurnUse.ts"
import * as Spending from "../../src/spend/Spending.ts"
import type * as SpendLimits from "../../src/spend/limits/SpendLimits.ts"
import type { TurnRow } from "../../src/storage/Lists.ts"
import * as MemoryStore from "../storage/MemoryStore.ts"

/** Its answers report 15 tokens each. */
const { answer, breaksOff, text, unauthorized, emits } = ScriptedProvider

type Service = Parameters<Parameters<typeof ConversationSetup.withService>[1]>[0]

const limited = (
  limits: ReadonlyArray<SpendLimits.SpendLimit>,
  scripts: ReadonlyArray<ScriptedProvider.Script>,
  test: (service: Service) => Effect.Effect<void, unknown, Scope.Scope>,
  options: Partial<ConversationSetup.Options> = {}
) =>
  ConversationSetup.withService(
    { scripts, ...options, spend: { limits, prices: {}, isShared: false, reading: TurnUse.reading } },
    test
  )

/** Runs a turn in a conversation of its own, to its end. */
const turn = ({ conversations }: Service, tags: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const id = yield* conversations.create({})
    const turnId = yield* conversations.prompt(id, { prompt: "Hi", labels: { tags } })
    return yield* conversations.result(turnId)
  })

describe("a limit of the day that fails turns", () => {
  it.effect("lets the step pass that reaches it, and fails the next turn without a call", () =>
    limited([{ per: "day", tokens: 30, then: "fail" }], [answer("one"), answer("two")], (service) =>
      Effect.gen(function* () {
        for (const expected of ["one", "two"]) assert.strictEqual((yield* turn(service)).text, expected)
        const { end } = yield* turn(service)
        assert.strictEqual(end.status, "failed")
        assert.strictEqual(end.attempts, 0)
        assert.strictEqual(end.error?.code, "spend-limit")
        assert.include(end.error?.message, "it allows 30 tokens a day, and 30 tokens were spent since midnight (")
        assert.include(end.error?.message, "spend[0]")
        assert.strictEqual(service.provider.requests.length, 2)
      })
    )
  )

  it.effect("begins anew on the next day", () =>
    limited([{ per: "day", tokens: 15, then: "fail" }], [answer("one"), answer("two")], (service) =>
      Effect.gen(function* () {
        yield* turn(service)
        assert.strictEqual((yield* turn(service)).end.status, "failed")
        yield* TestClock.adjust("24 hours")
        assert.strictEqual((yield* turn(service)).text, "two")
      })
    )
  )

  it.effect("counts an answer that broke off, and one whose turn failed", () =>
    limited(
      [{ per: "day", tokens: 15, then: "fail" }],
      [breaksOff(text("Hel"), { type: "usage", usage: { inputTokens: 10, outputTokens: 5 } })],
      (service) =>
        Effect.gen(function* () {
          assert.strictEqual((yield* turn(service)).end.error?.code, undefined)
          assert.strictEqual((yield* turn(service)).end.error?.code, "spend-limit")
        })
    )
  )

  it.effect("counts an answer that is void, beside the one that follows it", () =>
    limited(
      [{ per: "day", tokens: 30, then: "fail" }],
      [breaksOff(text("Hel"), { type: "usage", usage: { inputTokens: 10, outputTokens: 5 } }), answer("Hello")],
      (service) =>
        Effect.gen(function* () {
          const { conversations } = service
          const id = yield* conversations.create({ retry: { midStream: "discard" } })
          const watcher = yield* ConversationSetup.watching(conversations.watch(id, 0))
          const turnId = yield* conversations.prompt(id, { prompt: "Hi" })
          yield* watcher.until("provider-retry")
          yield* TestClock.adjust("1 second")
          assert.strictEqual((yield* conversations.result(turnId)).text, "Hello")
          assert.include((yield* turn(service)).end.error?.message, "and 30 tokens were spent")
        })
    )
  )

  it.effect("does not refuse the retries of a step that has begun", () =>
    limited([{ per: "day", tokens: 15, then: "fail" }], [emits(unauthorized), answer("one")], (service) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* turn(service)).end.error?.reason, "auth")
        assert.strictEqual((yield* turn(service)).text, "one")
      })
    )
  )

  it.effect("counts what turns of the day have used before the service started", () =>
    Effect.gen(function* () {
      const storage = Layer.succeedContext(yield* Layer.build(Layer.fresh(MemoryStore.layer)))
      const limits = [{ per: "tag", tag: "nightly", tokens: 15, then: "fail" }] as const
      const life = (scripts: ReadonlyArray<ScriptedProvider.Script>, test: Parameters<typeof limited>[2]) =>
        limited(limits, scripts, test, { storage })
      yield* life([answer("one"), answer("two")], (service) =>
        Effect.gen(function* () {
          yield* turn(service, ["nightly"])
          yield* turn(service)
        })
      )
      yield* life([answer("three")], (service) =>
        Effect.gen(function* () {
          const { end } = yield* turn(service, ["nightly", "other"])
          assert.include(end.error?.message, "on turns with the tag nightly, and 15 tokens were spent")
          assert.strictEqual((yield* turn(service, ["other"])).text, "three")
        })
      )
    })
  )
})

describe("a limit of a conversation", () => {
  const limits = [{ per: "conversation", tokens: 30, then: "fail" }] as const
  const prompt = ({ conversations }: Service, id: Ids.ConversationId) =>
    Effect.flatMap(conversations.prompt(id, { prompt: "Hi" }), conversations.result)
  const answers = ["one", "two", "three", "four"].map((text) => answer(text))

  it.effect("rule X11: fails its next turn, on another day too, and no turn of another one", () =>
    limited(limits, answers, (service) =>
      Effect.gen(function* () {
        const id = yield* service.conversations.create({})
        yield* prompt(service, id)
        yield* TestClock.adjust("24 hours")
        assert.strictEqual((yield* prompt(service, id)).text, "two")
        const { end } = yield* prompt(service, id)
        assert.strictEqual(end.error?.code, "spend-limit")
        assert.include(
          end.error?.message,
          "spend[0] of the configuration is reached: it allows 30 tokens a conversation, and 30 tokens were spent in this one. "
        )
        assert.include(end.error?.message, "or open another conversation.")
        assert.strictEqual((yield* turn(service)).end.status, "completed")
      })
    )
  )

  for (const isShared of [true, false]) {
    it.effect(`counts its turns before a restart (several runners: ${isShared})`, () =>
      Effect.gen(function* () {
        const storage = Layer.succeedContext(yield* Layer.build(Layer.fresh(MemoryStore.layer)))
        const spend = { limits, prices: {}, isShared, reading: TurnUse.reading }
        const life = (test: (service: Service) => Effect.Effect<void, unknown, Scope.Scope>) =>
          ConversationSetup.withService({ scripts: answers, storage, spend: { ...spend } }, test)
        let id: Ids.ConversationId | undefined
        yield* life((service) =>
          Effect.gen(function* () {
            id = yield* service.conversations.create({})
            yield* prompt(service, id)
          })
        )
        const conversation = id ?? assert.fail("it was made")
        yield* life((service) =>
          Effect.gen(function* () {
            assert.strictEqual((yield* prompt(service, conversation)).end.status, "completed")
            assert.strictEqual((yield* prompt(service, conversation)).end.error?.code, "spend-limit")
          })
        )
      }).pipe(Effect.scoped)
    )
  }
})

describe("a limit of a turn", () => {
  const limits = [{ per: "turn", tokens: 30, then: "fail" }] as const
  const step = ScriptedProvider.tools(ScriptedProvider.call("none"))

  it.effect(`rule X11: fails a turn of many steps, and counts anew with its retry`, () =>
    limited(limits, [step, step, answer("Done.")], (service) =>
      Effect.gen(function* () {
        const { conversations } = service
        const id = yield* conversations.create({})
        const { end } = yield* conversations.result(yield* conversations.prompt(id, { prompt: "Hi" }))
        assert.deepStrictEqual([end.status, end.error?.code, end.attempts], ["failed", "spend-limit", 2])
        assert.include(end.error?.message, "it allows 30 tokens a turn, and 30 tokens were spent in this one. ")
        assert.include(end.error?.message, "or retry: a retry is a turn of its own.")
        assert.strictEqual((yield* conversations.result(yield* conversations.retry(id, {}))).text, "Done.")
      })
    )
  )

  for (const isShared of [true, false]) {
    it.effect(`rule X11: counts its steps before a restart (several runners: ${isShared})`, () =>
      Effect.gen(function* () {
        const storage = Layer.succeedContext(yield* Layer.build(Layer.fresh(MemoryStore.layer)))
        const spend = { limits, prices: {}, isShared, reading: TurnUse.reading }
        const life = (
          scripts: ReadonlyArray<ScriptedProvider.Script>,
          test: (service: Service) => Effect.Effect<void, unknown, Scope.Scope>
        ) => ConversationSetup.withService({ scripts, storage, spend: { ...spend } }, test)
        let turnId: Ids.TurnId | undefined
        yield* life([step, emits(ScriptedProvider.overloaded)], ({ conversations }) =>
          Effect.gen(function* () {
            const id = yield* conversations.create({})
            const watcher = yield* ConversationSetup.watching(conversations.watch(id, 0))
            turnId = yield* conversations.prompt(id, { prompt: "Hi" })
            yield* watcher.until("provider-retry")
          })
        )
        const waiting = turnId ?? assert.fail("it was accepted")
        yield* life([step, answer("Never asked for.")], ({ conversations }) =>
          Effect.gen(function* () {
            yield* TestClock.adjust("1 minute")
            const { end } = yield* conversations.result(waiting)
            assert.strictEqual(end.error?.code, "spend-limit")
          })
        )
      }).pipe(Effect.scoped)
    )
  }
})

describe("a turn that other runners had before", () => {
  const [conversationId, turnId] = [Ids.ConversationId.make("one"), Ids.TurnId.make("a")]
  const call = { target: "test/m", tokens: { input: 10, output: 5, cachedInput: 0, cacheWrite: 0 }, at: 0 }

  /** Takes the turn up for a step each time, after more calls at another runner. Returns the message of each refusal. */
  const refusals = (limit: SpendLimits.SpendLimit, calls: ReadonlyArray<number>) =>
    Effect.gen(function* () {
      let made = 0
      const row = { turn: { turnId } } as unknown as TurnRow
      const uses = () => ({ uses: Array.from({ length: made }, () => call), wasAsked: false })
      const limits = [limit, { per: "turn", tokens: 1_000, then: "fail" }] as const
      const spending = yield* Spending.make(
        { limits, prices: {}, isShared: true, reading: { needsRecords: () => false, of: uses } },
        {
          lists: {
            turns: (filter) => Effect.succeed({ rows: "conversationId" in filter ? [row] : [], next: undefined }),
            labelsOf: () => Effect.succeed({ tags: ["nightly"] })
          },
          journal: { load: () => Effect.succeed([]) }
        }
      )
      const request = { attempt: 0, target: { provider: "test", model: "m" } } as unknown as Provider.ProviderRequest
      return yield* Effect.forEach(calls, (n) =>
        Effect.gen(function* () {
          made += n
          const provider = spending.checked({ stream: () => Stream.empty }, { conversationId, turnId })
          const [event] = yield* Stream.runCollect(provider.stream(request))
          return event?.type === "error" ? event.failure.message : undefined
        })
      )
    })

  it.effect("rule X11: their calls count for the turn's tags", () =>
    Effect.gen(function* () {
      const [refusal] = yield* refusals({ per: "tag", tokens: 30, then: "fail" }, [2])
      assert.include(refusal, "the tag nightly, and 30 tokens were spent")
    })
  )

  for (const per of ["turn", "conversation"] as const)
    it.effect(`rule X11: a limit of a ${per} counts the calls at each of them, also after the turn has been here`, () =>
      Effect.gen(function* () {
        const [first, second, third] = yield* refusals({ per, tokens: 45, then: "fail" }, [1, 1, 1])
        assert.deepStrictEqual([first, second], [undefined, undefined])
        assert.include(third, "45 tokens were spent in this one")
      })
    )
})

describe("rule X11: a limit of the day that asks", () => {
  const limits = [{ per: "day", tokens: 15, then: "ask", answerWithin: Duration.hours(2) }] as const

  const asked = (service: Service) =>
    Effect.gen(function* () {
      const { conversations } = service
      yield* turn(service)
      const id = yield* conversations.create({})
      const watcher = yield* ConversationSetup.watching(conversations.watch(id, 0))
      const turnId = yield* conversations.prompt(id, { prompt: "Hi" })
      yield* watcher.until("provider-retry")
      yield* TestClock.adjust("1 millis")
      yield* watcher.until("provider-retry", 2)
      const event = watcher.seen.findLast(({ event }) => event.type === "provider-retry")?.event
      assert.isTrue(event?.type === "provider-retry" && event.asks?.because === "spend")
      assert.strictEqual(service.provider.requests.length, 1)
      return { id, turnId }
    })

  it.effect("rule X11: waits for a person without a call, and goes on when the answer is retry-now", () =>
    limited(
      limits,
      [answer("one"), ScriptedProvider.tools(ScriptedProvider.call("none")), answer("three")],
      (service) =>
        Effect.gen(function* () {
          const { id, turnId } = yield* asked(service)
          assert.isTrue(yield* service.conversations.steer({ type: "retry-now", conversationId: id }, "test"))
          const { end, text } = yield* service.conversations.result(turnId)
          // An answer holds for the rest of the turn: its second step asks nothing.
          assert.deepStrictEqual([end.status, text, end.attempts], ["completed", "three", 2])
          const [first] = History.of(yield* service.journal.load(turnId)).attempts
          assert.isTrue(first?.outcome?._tag === "Failed" && first.outcome.failure.code === "spend-limit")
        })
    )
  )

  it.effect("rule X11: a question is kept over a restart, and its answer holds for the rest of the turn", () =>
    Effect.gen(function* () {
      const storage = Layer.succeedContext(yield* Layer.build(Layer.fresh(MemoryStore.layer)))
      let waiting: { readonly id: Ids.ConversationId; readonly turnId: Ids.TurnId } | undefined
      yield* limited(limits, [answer("one")], (service) => Effect.map(asked(service), (ids) => void (waiting = ids)), {
        storage
      })
      const again = [ScriptedProvider.tools(ScriptedProvider.call("none")), answer("three")]
      yield* limited(
        limits,
        again,
        ({ conversations }) =>
          Effect.gen(function* () {
            if (waiting === undefined) return assert.fail("no turn has asked")
            const { id, turnId } = waiting
            assert.isTrue(yield* conversations.steer({ type: "retry-now", conversationId: id }, "test"))
            assert.strictEqual((yield* conversations.result(turnId)).text, "three")
          }),
        { storage }
      )
    })
  )

  it.effect("rule X11: fails the turn when nobody answers in time, with the limit in its error", () =>
    limited(limits, [answer("one")], (service) =>
      Effect.gen(function* () {
        const { turnId } = yield* asked(service)
        yield* TestClock.adjust("2 hours")
        const { end } = yield* service.conversations.result(turnId)
        assert.strictEqual(end.status, "failed")
        assert.include(end.error?.message, "The limit spend[0] of the configuration is reached")
        assert.include(end.error?.message, "Nobody answered within 2 h")
      })
    )
  )
})
