/**
 * Tests turns that are driven without a fiber, over a provider whose calls need none.
 *
 * The orders of events are in the nights of `simulate`.
 */
import { assert, describe, it } from "@effect/vitest"
import { type JournalConflict, StorageError, Timer } from "@holdfast/journal"
import { Observer } from "@holdfast/kernel"
import { ProviderCall } from "@holdfast/kernel/host"
import { Standing } from "@holdfast/policy"
import { type Failure, Ids } from "@holdfast/wire"
import { Deferred, Duration, Effect, Exit, Fiber, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Condition from "../../../src/base/system/Condition.ts"
import { Conversations } from "../../../src/engine/conversation/Conversations.ts"
import { Defaults } from "../../../src/engine/conversation/Defaults.ts"
import * as Gates from "../../../src/engine/gate/Gates.ts"
import { HeldTurns } from "../../../src/engine/orchestrator/HeldTurns.ts"
import * as Orchestrator from "../../../src/engine/orchestrator/Orchestrator.ts"
import { Providers } from "../../../src/engine/conversation/Providers.ts"
import * as Tools from "../../../src/engine/conversation/Tools.ts"
import { Standings } from "../../../src/storage/Standings.ts"
import { type Append, TurnLog } from "../../../src/storage/TurnLog.ts"
import * as MemoryStore from "../../storage/MemoryStore.ts"
import * as NumberedData from "../../storage/NumberedData.ts"
import { Store } from "../../../src/storage/Store.ts"
import type { Conversation } from "../../../src/storage/Stored.ts"

const OVERLOADED: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 }
const HELLO: ProviderCall.Events = [
  { type: "text-delta", delta: "Hello" },
  { type: "finish", finishReason: "stop" }
]

type Call = (listener: ProviderCall.Listener) => ProviderCall.Running

const UNDER_WAY: ProviderCall.Running = { more: () => {}, cancel: () => {} }

const answers: Call = (listener) => (listener.events(HELLO) ? ProviderCall.end(listener, Exit.void) : UNDER_WAY)

const refuses: Call = (listener) => ProviderCall.refuse(listener, { type: "error", failure: OVERLOADED })

/** Never comes to anything. */
const silent: Call = () => UNDER_WAY

/** The outcomes of calls, one after the other; the last one repeats. */
type Script = ReadonlyArray<Call>

interface Service {
  readonly conversations: Conversations["Service"]
  readonly store: Store["Service"]
  readonly log: TurnLog["Service"]
  /** The numbers of calls made and cancelled. */
  readonly calls: { made: number; cancelled: number }
  /** The groups of appends that were handed in. */
  readonly groups: ReadonlyArray<ReadonlyArray<Append>>
  /** The observations that observers get. */
  readonly observed: ReadonlyArray<string>
  readonly condition: Condition.Condition["Service"]
  readonly held: HeldTurns["Service"]
}

const withService = <E>(
  script: Script,
  test: (service: Service) => Effect.Effect<void, E, Scope.Scope>,
  appended: (appends: ReadonlyArray<Append>) => Effect.Effect<StorageError | JournalConflict | undefined> = () =>
    Effect.undefined,
  accepts = true,
  /** What is known of targets, for turns that have a choice. */
  standings?: Standings["Service"]
) =>
  Effect.gen(function* () {
    const calls = { made: 0, cancelled: 0 }
    const groups: Array<ReadonlyArray<Append>> = []
    const observed: Array<string> = []
    const condition = Condition.make()
    const observe = (kind: string) => () => void observed.push(kind)
    const store = yield* Store
    const log = yield* TurnLog
    const provider = ProviderCall.provider((_request, _world, listener) => {
      const running = (script[Math.min(calls.made++, script.length - 1)] ?? silent)(listener)
      return running === UNDER_WAY ? { ...running, cancel: () => void calls.cancelled++ } : running
    })
    const context = yield* Layer.build(
      Orchestrator.layer.pipe(
        Layer.provide([
          Layer.succeed(TurnLog, {
            ...log,
            accept: (turn, options) =>
              accepts ? log.accept(turn, options) : Effect.fail(new StorageError({ message: "The disk is full." })),
            append: (appends) =>
              Effect.gen(function* () {
                groups.push(appends)
                const error = yield* appended(appends)
                if (error === undefined) return yield* log.append(appends)
                return appends.map(() => Exit.fail(error))
              })
          }),
          Layer.succeed(Store, store),
          Layer.succeed(Observer.Observer, {
            attempt: observe("attempt"),
            decision: observe("decision"),
            event: observe("event"),
            wait: observe("wait")
          }),
          Layer.succeed(Providers, {
            get: () => provider,
            names: ["test"],
            unusable: () => undefined,
            credentials: standings === undefined ? {} : { test: ["first", "second"] }
          }),
          Layer.succeed(Defaults, {
            model: { provider: "test", model: "m" },
            retry: { schedule: { type: "steps", delays: [Duration.minutes(1)], tail: Duration.minutes(1) } },
            models: {}
          }),
          standings === undefined ? Layer.empty : Layer.succeed(Standings, standings),
          Gates.layerNoop,
          Tools.layerNoop,
          Timer.layer,
          Layer.succeed(Condition.Condition, condition)
        ])
      )
    )
    const conversations = yield* Effect.provide(Conversations, context)
    yield* settled
    const held = yield* Effect.provide(HeldTurns, context)
    yield* test({ conversations, store, log, calls, groups, observed, condition, held })
  }).pipe(Effect.scoped, Effect.provide(MemoryStore.layer))

/** Lets all work run that is possible without the clock. */
const settled = Effect.promise(async () => {
  for (let n = 0; n < 40; n++) await new Promise((resolve) => setImmediate(resolve))
})

describe("rule X2: a process that is to end", () => {
  /** A call whose content comes when the test wants it. */
  const later = () => {
    const open: { listener?: ProviderCall.Listener } = {}
    const call: Call = (listener) => {
      open.listener = listener
      return UNDER_WAY
    }
    return {
      call,
      answer: Effect.andThen(
        Effect.sync(() => open.listener?.events([HELLO[0]])),
        settled
      )
    }
  }

  const begun = ({ conversations }: Service) =>
    Effect.gen(function* () {
      const turnId = yield* conversations.prompt(yield* conversations.create({}), { prompt: "Hi" })
      yield* settled
      return turnId
    })

  it.effect("rule X2: lets no answer leave whose content comes from then on, so that nothing of it is void", () => {
    const { answer, call } = later()
    return withService([call], (service) =>
      Effect.gen(function* () {
        const turnId = yield* begun(service)
        assert.isTrue(service.condition.settle())
        yield* answer
        assert.isTrue(service.condition.settle())
        assert.deepStrictEqual(yield* service.log.load(turnId), [])
      })
    )
  })

  it.effect("rule X2: waits for an answer whose mark is being written, and then for its end", () => {
    const { answer, call } = later()
    const door = Deferred.makeUnsafe<void>()
    return withService(
      [call],
      (service) =>
        Effect.gen(function* () {
          yield* begun(service)
          yield* answer
          assert.isFalse(service.condition.settle())
          yield* Deferred.succeed(door, undefined)
          yield* settled
          assert.isFalse(service.condition.settle())
          const [{ conversationId } = assert.fail()] = yield* service.log.tail()
          yield* service.conversations.abort(conversationId)
          assert.isTrue(service.condition.settle())
        }),
      () => Effect.as(Deferred.await(door), undefined)
    )
  })
})

describe("turns that are driven in groups", () => {
  it.effect("rule C10: a provider that throws has failed, as a defect", () =>
    withService(
      [
        () => {
          throw new TypeError("no such thing")
        }
      ],
      ({ conversations, log }) =>
        Effect.gen(function* () {
          const turnId = yield* conversations.prompt(yield* conversations.create({}), { prompt: "Hi" })
          yield* settled
          const [attempt] = yield* log.load(turnId)
          assert.include(attempt?.value, '"defect":true')
          assert.include(attempt?.value, "TypeError: no such thing")
        })
    )
  )
})

describe("a draft", () => {
  /** Runs a draft, and keeps how it was sealed as one. */
  const drafted = ({ held }: Service, wait: Partial<Conversation> = {}) =>
    Effect.gen(function* () {
      const conversationId = Ids.ConversationId.make("draft")
      const conversation = { ...NumberedData.conversation(1), ...wait, conversationId, model: "test/m" }
      const turnId = Ids.TurnId.make("t")
      const seals: Array<string> = []
      const turn = { turnId, conversationId, prompt: "Hi", acceptedAt: 0, end: undefined }
      const begun = held.begin(conversation, turn, ({ end }) => void seals.push(end.status))
      const running = yield* Effect.forkChild(begun, { startImmediately: true })
      yield* settled
      return { conversation, running, seals, turnId }
    })

  it.effect("rule X13: that is answered at once leaves nothing on disk, and reports nothing", () =>
    withService([answers], (service) =>
      Effect.gen(function* () {
        const { running, seals } = yield* drafted(service)
        const left = yield* Fiber.join(running)
        assert.deepStrictEqual([left._tag, seals], ["Sealed", ["completed"]])
        assert.deepStrictEqual([service.groups, service.observed], [[], []])
      })
    )
  )

  const breaks: Call = (listener) => {
    listener.events([HELLO[0]])
    return { more: () => listener.end(Exit.void), cancel: () => {} }
  }

  const final: Call = (listener) =>
    ProviderCall.refuse(listener, { type: "error", failure: { ...OVERLOADED, retryable: false } })

  for (const [how, call] of [
    ["breaks off after content", breaks],
    ["is refused for good", final]
  ] as const) {
    it.effect(`rule X13: that ${how} fails, and leaves nothing on disk`, () =>
      withService([call], (service) =>
        Effect.gen(function* () {
          const { running, seals } = yield* drafted(service)
          assert.strictEqual((yield* Fiber.join(running))._tag, "Sealed")
          assert.deepStrictEqual([seals, service.groups, service.observed], [["failed"], [], []])
        })
      )
    )
  }

  it.effect("rules X13, P8: that began at another target goes on there, and its first target is left alone", () => {
    const pause = { until: 28_800_000, reason: "rate-limited", retryable: true } as const
    const paused = Standing.paused(Standing.target({ provider: "test", model: "m" }), pause)
    return withService(
      [refuses, answers],
      (service) =>
        Effect.gen(function* () {
          const { held, log, store } = service
          const routing = { type: "fallback-chain", chains: { default: ["test/n"] } }
          const { conversation, running, turnId } = yield* drafted(service, { retry: { routing } })
          const left = yield* Fiber.join(running)
          if (left._tag !== "Failed") return assert.fail()
          const conversationId = Ids.ConversationId.make("accepted")
          yield* held.accept({ ...conversation, conversationId }, left)
          yield* settled
          yield* TestClock.adjust(Duration.minutes(1))
          yield* settled
          const { end } = yield* service.conversations.result(turnId, conversationId)
          assert.deepStrictEqual([end.status, end.attempts], ["completed", 2])
          const events = yield* store.turnEvents(turnId)
          assert.deepStrictEqual(
            events.flatMap(({ event }) => (event.type === "model-change" ? [[event.from, event.to]] : [])),
            [["test/m", "test/n"]]
          )
          assert.deepStrictEqual(
            (yield* log.load(turnId)).slice(0, 3).map(({ name }) => name),
            ["step/0/route", "step/0/attempt/0", "step/0/decision/0"]
          )
        }),
      undefined,
      true,
      { load: () => Effect.succeed(paused), note: () => Effect.void }
    )
  })

  it.effect("rule X13: that has a choice of keys is answered although the database is away", () => {
    const away = Effect.fail(new StorageError({ message: "The database is away." }))
    return withService(
      [answers],
      (service) =>
        Effect.gen(function* () {
          const { running, seals } = yield* drafted(service)
          assert.strictEqual((yield* Fiber.join(running))._tag, "Sealed")
          assert.deepStrictEqual([seals, service.calls.made], [["completed"], 1])
        }),
      undefined,
      true,
      { load: () => away, note: () => away }
    )
  })

  it.effect("rule X13: is accepted, and ends, while the turns of the last process cannot be taken up", () =>
    withService([refuses, answers], (service) =>
      Effect.gen(function* () {
        const { condition, held } = service
        yield* condition.setStarting("The disk is full.")
        const { conversation, running, turnId } = yield* drafted(service)
        const left = yield* Fiber.join(running)
        if (left._tag !== "Failed") return assert.fail()
        const conversationId = Ids.ConversationId.make("accepted")
        yield* held.accept({ ...conversation, conversationId }, left)
        yield* settled
        yield* TestClock.adjust(Duration.minutes(1))
        yield* settled
        const { end } = yield* held.conversations.result(turnId, conversationId)
        assert.deepStrictEqual([end.status, end.attempts], ["completed", 2])
      })
    )
  )

  it.effect("rule X13: whose first wait would exceed a limit is accepted, and is sealed by that decision", () =>
    withService([refuses], (service) =>
      Effect.gen(function* () {
        const { conversation, running, turnId } = yield* drafted(service, { retry: { budget: "1 second" } })
        const left = yield* Fiber.join(running)
        if (left._tag !== "Failed") return assert.fail()
        const conversationId = Ids.ConversationId.make("accepted")
        yield* service.held.accept({ ...conversation, conversationId }, left)
        yield* settled
        const { end } = yield* service.conversations.result(turnId, conversationId)
        assert.deepStrictEqual([end.status, end.attempts, service.calls.made], ["failed", 1, 1])
        const last = yield* service.held.lastAttempt(turnId)
        assert.deepInclude(last?.decision, { _tag: "GiveUp", because: "exhausted" })
      })
    )
  )
})
