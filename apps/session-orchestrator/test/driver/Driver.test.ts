/**
 * Tests turns that are driven without a fiber, over a provider whose calls need none.
 *
 * The orders of events are in `ModelBased.test.ts`.
 */
import { assert, describe, it } from "@effect/vitest"
import { type Journal as Port, JournalConflict, StorageError, Timer } from "@holdfast/journal"
import { Observer } from "@holdfast/kernel"
import { ProviderCall } from "@holdfast/kernel/host"
import { type Failure, Ids, type TurnEvent } from "@holdfast/wire"
import { Duration, Effect, Exit, Layer, type Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Condition from "../../src/system/Condition.ts"
import { Conversations } from "../../src/conversation/Conversations.ts"
import { Defaults } from "../../src/conversation/Defaults.ts"
import * as Gates from "../../src/gate/Gates.ts"
import * as Orchestrator from "../../src/orchestrator/Orchestrator.ts"
import { Providers } from "../../src/conversation/Providers.ts"
import * as Tools from "../../src/conversation/Tools.ts"
import { Journal } from "../../src/storage/EventJournal.ts"
import * as MemoryStore from "../storage/MemoryStore.ts"
import { Store } from "../../src/storage/Store.ts"

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
  readonly journal: Journal["Service"]
  /** The numbers of calls made and cancelled. */
  readonly calls: { made: number; cancelled: number }
  /** The groups of appends that were handed in. */
  readonly groups: ReadonlyArray<ReadonlyArray<Port.AppendWith<unknown>>>
  /** The observations that observers get. */
  readonly observed: ReadonlyArray<string>
}

const withService = <E>(
  script: Script,
  test: (service: Service) => Effect.Effect<void, E, Scope.Scope>,
  appended: (
    appends: ReadonlyArray<Port.AppendWith<unknown>>
  ) => Effect.Effect<StorageError | JournalConflict | undefined> = () => Effect.undefined,
  accepts = true
) =>
  Effect.gen(function* () {
    const calls = { made: 0, cancelled: 0 }
    const groups: Array<ReadonlyArray<Port.AppendWith<unknown>>> = []
    const observed: Array<string> = []
    const observe = (kind: string) => () => void observed.push(kind)
    const store = yield* Store
    const journal = yield* Journal
    const provider = ProviderCall.provider((_request, _world, listener) => {
      const running = (script[Math.min(calls.made++, script.length - 1)] ?? silent)(listener)
      return running === UNDER_WAY ? { ...running, cancel: () => void calls.cancelled++ } : running
    })
    const context = yield* Layer.build(
      Orchestrator.layer.pipe(
        Layer.provide([
          Layer.succeed(Journal, {
            ...journal,
            appendAll: (appends) =>
              Effect.gen(function* () {
                groups.push(appends)
                const error = yield* appended(appends)
                if (error === undefined) return yield* journal.appendAll(appends)
                return appends.map(() => Exit.fail(error))
              })
          }),
          Layer.succeed(Store, {
            ...store,
            acceptTurn: (turn, options) =>
              accepts
                ? store.acceptTurn(turn, options)
                : Effect.fail(new StorageError({ message: "The disk is full." }))
          }),
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
            credentials: {}
          }),
          Layer.succeed(Defaults, {
            model: { provider: "test", model: "m" },
            retry: { schedule: { type: "steps", delays: [Duration.minutes(1)], tail: Duration.minutes(1) } },
            models: {}
          }),
          Gates.layerNoop,
          Tools.layerNoop,
          Timer.layer,
          Condition.layer
        ])
      )
    )
    const conversations = yield* Effect.provide(Conversations, context)
    yield* settled
    yield* test({ conversations, store, journal, calls, groups, observed })
  }).pipe(Effect.scoped, Effect.provide(MemoryStore.layer))

/** Lets all work run that is possible without the clock. */
const settled = Effect.promise(async () => {
  for (let n = 0; n < 40; n++) await new Promise((resolve) => setImmediate(resolve))
})

/** Refuses the first append. */
const once = (error: StorageError | JournalConflict) => {
  let first: typeof error | undefined = error
  return () =>
    Effect.sync(() => {
      const refusal = first
      first = undefined
      return refusal
    })
}

const typesOf = (events: ReadonlyArray<{ readonly event: TurnEvent.TurnEvent }>) =>
  events.map(({ event }) => event.type)

describe("turns that are driven in groups", () => {
  it.effect("rule X1: turns whose calls fail are parked, with fewer appends than turns", () =>
    withService([refuses], ({ calls, conversations, groups, journal }) =>
      Effect.gen(function* () {
        const ids = yield* Effect.forEach(Array.from({ length: 5 }), () => conversations.create({}))
        const turns = yield* Effect.forEach(ids, (id) => conversations.prompt(id, { prompt: "Hi" }), {
          concurrency: "unbounded"
        })
        yield* settled
        assert.deepStrictEqual(yield* conversations.counts, { running: 0, retrying: 5, queued: 0 })
        assert.strictEqual(calls.made, 5)
        assert.lengthOf(groups.flat(), 5)
        assert.isBelow(groups.length, 5)
        for (const turnId of turns) {
          const names = (yield* journal.load(turnId)).map(({ name }) => name)
          assert.deepStrictEqual(names, ["step/0/attempt/0", "step/0/decision/0"])
        }
      })
    )
  )

  it.effect("rule X1: a turn that comes back continues where it was, and gives its answer", () =>
    withService([refuses, answers], ({ conversations, store }) =>
      Effect.gen(function* () {
        const id = yield* conversations.create({})
        const turnId = yield* conversations.prompt(id, { prompt: "Hi" })
        yield* settled
        yield* TestClock.adjust("1 minute")
        const { text } = yield* conversations.result(turnId)
        assert.strictEqual(text, "Hello")
        assert.deepStrictEqual(typesOf(yield* store.turnEvents(turnId)), [
          "turn-start",
          "message",
          "retry-end",
          "message",
          "turn-end"
        ])
      })
    )
  )

  it.effect("rule X3: a client that connects while a returned turn answers gets the step from its beginning", () =>
    withService(
      [
        refuses,
        (listener) => {
          listener.events([HELLO[0]])
          return UNDER_WAY
        }
      ],
      ({ conversations }) =>
        Effect.gen(function* () {
          const id = yield* conversations.create({})
          yield* conversations.prompt(id, { prompt: "Hi" })
          yield* settled
          yield* TestClock.adjust("1 minute")
          yield* settled
          const frames = yield* Stream.runCollect(Stream.take(conversations.watch(id, 0), 4))
          assert.deepStrictEqual(typesOf(frames), ["turn-start", "message", "step-start", "text-delta"])
        })
    )
  )

  it.effect(
    "rule X1: turns that come back together and fail again are parked again, each end of a wait on record",
    () =>
      withService([refuses], ({ calls, conversations, journal }) =>
        Effect.gen(function* () {
          const turns: Array<Ids.TurnId> = []
          for (let n = 0; n < 5; n++) {
            turns.push(yield* conversations.prompt(yield* conversations.create({}), { prompt: "Hi" }))
          }
          yield* settled
          yield* TestClock.adjust("1 minute")
          yield* settled
          assert.deepStrictEqual(yield* conversations.counts, { running: 0, retrying: 5, queued: 0 })
          assert.strictEqual(calls.made, 10)
          for (const turnId of turns) {
            const records = yield* journal.load(turnId)
            assert.deepStrictEqual(
              records.map(({ name }) => name),
              ["step/0/attempt/0", "step/0/decision/0", "step/0/sleep/0", "step/0/attempt/1", "step/0/decision/1"]
            )
            assert.include(records[2]?.value, '"type":"elapsed"')
          }
        })
      )
  )

  it.effect("rule X4: a command reaches a turn that stands by, and so does an abort", () =>
    withService([refuses, refuses, answers], ({ conversations }) =>
      Effect.gen(function* () {
        const [first, second] = [yield* conversations.create({}), yield* conversations.create({})]
        const [now, never] = [
          yield* conversations.prompt(first, { prompt: "Hi" }),
          yield* conversations.prompt(second, { prompt: "Hi" })
        ]
        yield* settled
        yield* TestClock.adjust("58 seconds")
        yield* settled
        assert.isTrue(yield* conversations.steer({ type: "retry-now", conversationId: first }, "a test"))
        assert.isTrue(yield* conversations.abort(second))
        assert.strictEqual((yield* conversations.result(now)).text, "Hello")
        assert.deepInclude((yield* conversations.result(never)).end, { status: "aborted", attempts: 1 })
      })
    )
  )

  it.effect("rule X1: a turn that is not accepted emits nothing, and calls nothing", () =>
    withService(
      [silent, refuses],
      ({ calls, conversations, observed }) =>
        Effect.gen(function* () {
          yield* Effect.flip(conversations.prompt(yield* conversations.create({}), { prompt: "Hi" }))
          yield* settled
          assert.strictEqual(calls.made, 0)
          assert.deepStrictEqual(observed, [])
          assert.deepStrictEqual(yield* conversations.counts, { running: 0, retrying: 0, queued: 0 })
        }),
      () => Effect.succeed(new StorageError({ message: "The disk is full." })),
      false
    )
  )

  it.effect("rule C10: a provider that throws has failed, as a defect", () =>
    withService(
      [
        () => {
          throw new TypeError("no such thing")
        }
      ],
      ({ conversations, journal }) =>
        Effect.gen(function* () {
          const turnId = yield* conversations.prompt(yield* conversations.create({}), { prompt: "Hi" })
          yield* settled
          const [attempt] = yield* journal.load(turnId)
          assert.include(attempt?.value, '"defect":true')
          assert.include(attempt?.value, "TypeError: no such thing")
        })
    )
  )

  it.effect("rule D8: an abort ends a call in progress, and the attempt is counted", () =>
    withService([silent], ({ calls, conversations }) =>
      Effect.gen(function* () {
        const id = yield* conversations.create({})
        const turnId = yield* conversations.prompt(id, { prompt: "Hi" })
        yield* settled
        assert.deepStrictEqual(yield* conversations.counts, { running: 1, retrying: 0, queued: 0 })
        assert.isTrue(yield* conversations.abort(id))
        const { end } = yield* conversations.result(turnId)
        assert.deepInclude(end, { status: "aborted", attempts: 1 })
        assert.deepStrictEqual(calls, { made: 1, cancelled: 1 })
      })
    )
  )

  it.effect("rule D8: an abort that comes while the seal is written is too late", () => {
    let abort: Effect.Effect<unknown> = Effect.void
    return withService(
      [(listener) => ProviderCall.refuse(listener, { type: "error", failure: { ...OVERLOADED, retryable: false } })],
      ({ conversations, groups, store }) =>
        Effect.gen(function* () {
          const id = yield* conversations.create({})
          abort = Effect.ignore(conversations.abort(id))
          const turnId = yield* conversations.prompt(id, { prompt: "Hi", turnId: Ids.TurnId.make("t") })
          const { end } = yield* conversations.result(turnId)
          assert.deepInclude(end, { status: "failed", attempts: 1 })
          assert.deepStrictEqual((yield* store.turnEvents(turnId)).at(-1)?.event, end)
          assert.lengthOf(groups.flat(), 1, "failure, decision and seal are one append")
        }),
      () =>
        Effect.forkDetach(abort, { startImmediately: true }).pipe(
          Effect.andThen(TestClock.adjust("1 second")),
          Effect.as(undefined)
        )
    )
  })

  it.effect("Driver.D1: a disk that refuses a write pauses the turn, which continues when it works again", () =>
    withService(
      [refuses],
      ({ calls, conversations, journal }) =>
        Effect.gen(function* () {
          const turnId = yield* conversations.prompt(yield* conversations.create({}), { prompt: "Hi" })
          yield* settled
          assert.deepStrictEqual(yield* journal.load(turnId), [])
          yield* TestClock.adjust("1 second")
          yield* settled
          assert.lengthOf(yield* journal.load(turnId), 2)
          assert.deepStrictEqual(yield* conversations.counts, { running: 0, retrying: 1, queued: 0 })
          assert.strictEqual(calls.made, 1)
        }),
      once(new StorageError({ message: "The disk is full." }))
    )
  )

  it.effect("rule X6: a turn that another process has written stops, and is read again", () =>
    withService(
      [refuses],
      ({ calls, conversations, journal }) =>
        Effect.gen(function* () {
          const turnId = yield* conversations.prompt(yield* conversations.create({}), { prompt: "Hi" })
          yield* settled
          assert.strictEqual(calls.made, 2)
          assert.lengthOf(yield* journal.load(turnId), 2)
        }),
      once(new JournalConflict({ turnId: "t" }))
    )
  )
})
