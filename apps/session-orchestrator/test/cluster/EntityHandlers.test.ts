import { JournalConflict, Timer } from "@holdfast/journal"
import { expect, it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Effect, Exit, Fiber, Layer, Logger, References, type Scope, Stream } from "effect"
import { type Sharding, TestRunner } from "effect/cluster"
import { TestClock } from "effect/testing"
import * as Alarms from "../../src/cluster/Alarms.ts"
import { ConversationEntity } from "../../src/cluster/ConversationEntity.ts"
import * as EntityHandlers from "../../src/cluster/EntityHandlers.ts"
import { HeldRunner } from "../../src/cluster/HeldRunner.ts"
import { Lease } from "../../src/cluster/Lease.ts"
import { Residents } from "../../src/cluster/Residents.ts"
import { Defaults } from "../../src/conversation/Defaults.ts"
import * as Gates from "../../src/gate/Gates.ts"
import { Providers } from "../../src/conversation/Providers.ts"
import * as Tools from "../../src/conversation/Tools.ts"
import { Journal } from "../../src/storage/EventJournal.ts"
import * as MemoryStore from "../storage/MemoryStore.ts"
import { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "../storage/NumberedData.ts"

const id = NumberedData.conversationId(1)

/** Emits a word, and ends after some seconds; or breaks off then. */
const provider = (breaksOff: boolean): ReturnType<Provider.Provider["Service"]["stream"]> => {
  const begun = Stream.concat(
    Stream.make({ type: "text-delta", delta: "Hello" } as const),
    Stream.fromEffectDrain(Effect.sleep("20 seconds"))
  )
  return breaksOff ? begun : Stream.concat(begun, Stream.make({ type: "finish", finishReason: "stop" } as const))
}

/** A runner alone; which turns it has begun to run, and what it has logged. */
const make = () => {
  const state = {
    runs: [] as Array<string>,
    asked: 0,
    logged: [] as Array<string>,
    hasConflict: false,
    isSure: true,
    breaksOff: false
  }
  const counting = Layer.effect(
    Store,
    Effect.map(Store, (store) => ({
      ...store,
      resumption: (turnId) => {
        state.runs.push(turnId)
        return store.resumption(turnId)
      }
    }))
  )
  const conflicting = Layer.effect(
    Journal,
    Effect.map(Journal, (journal) => ({
      ...journal,
      appendAll: (appends) =>
        state.hasConflict
          ? Effect.succeed(appends.map(({ turnId }) => Exit.fail(new JournalConflict({ turnId }))))
          : journal.appendAll(appends)
    }))
  )
  const counted: Provider.Provider["Service"] = {
    stream: () => {
      state.asked++
      return provider(state.breaksOff)
    }
  }
  const services = Layer.mergeAll(
    Layer.succeed(Providers, { get: () => counted, names: ["scripted"], unusable: () => undefined, credentials: {} }),
    Layer.succeed(Defaults, { model: { provider: "scripted", model: "m" }, models: {}, retry: {} }),
    Layer.succeed(Lease, {
      of: () => ({
        isSure: () => state.isSure,
        sure: Effect.suspend(() => (state.isSure ? Effect.void : Effect.never))
      })
    }),
    Gates.layerNoop,
    Tools.layerNoop,
    Layer.succeed(HeldRunner, { find: () => undefined, locate: () => Effect.undefined })
  )
  const runner = EntityHandlers.layer(new Residents()).pipe(
    Layer.provideMerge(Alarms.layer),
    Layer.provideMerge(TestRunner.layer),
    Layer.provide(services),
    Layer.provideMerge(Layer.provideMerge(Layer.merge(counting, conflicting), MemoryStore.layer)),
    Layer.provide(Timer.layer),
    Layer.provide(Logger.layer([Logger.make(({ message }) => void state.logged.push(String(message)))])),
    Layer.provide(Layer.succeed(References.MinimumLogLevel, "Warn"))
  )
  return { state, runner }
}

/** The records of turn 1 differ from its run (R3), in every life. */
const diverged = Effect.gen(function* () {
  const store = yield* Store
  yield* store.createConversation(NumberedData.conversation(1, { model: "scripted/m" }))
  yield* store.acceptTurn(NumberedData.turn(1, 1))
  yield* store.appendEvents(id, NumberedData.turnId(1), [NumberedData.message(1, 1, 0)], 0)
})

const test = (
  title: string,
  body: (
    state: ReturnType<typeof make>["state"]
  ) => Effect.Effect<void, unknown, Store | Sharding.Sharding | Scope.Scope>
) =>
  it.effect(title, () => {
    const { runner, state } = make()
    return body(state).pipe(Effect.provide(runner))
  })

/** The runner has its shards, and the conversation is in memory. */
const stay = Effect.gen(function* () {
  yield* TestClock.adjust("5 seconds") // the runner gets its shards
  const owner = (yield* ConversationEntity.client)(id)
  yield* owner.Stay(undefined, { discard: true })
  return owner
})

/** What can be done without the clock is done after each of them. */
const seconds = (count: number) =>
  TestClock.adjust("1 second").pipe(Effect.andThen(settled), Effect.repeat({ times: count - 1 }))

const settled = Effect.promise(async () => {
  for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve))
})

test("R2: a turn that another runner writes to comes back at once, and then in growing distances", (state) =>
  Effect.gen(function* () {
    state.hasConflict = true
    const store = yield* Store
    yield* store.createConversation(NumberedData.conversation(1, { model: "scripted/m" }))
    yield* store.acceptTurn(NumberedData.turn(1, 1))
    yield* stay
    yield* seconds(2)
    expect(state.runs.length).toBe(3)
    yield* seconds(600)
    // After 0, 1, 2, 4 ... 256 seconds; one line each.
    expect(state.runs.length).toBe(11)
    expect(state.logged.length).toBe(11)
  }))

test("rule C10: a turn that diverges from its journal is sealed at the third try, and the turn behind it is answered", (state) =>
  Effect.gen(function* () {
    yield* diverged
    const owner = yield* stay
    yield* owner.Prompt({ prompt: "And then?", turnId: NumberedData.turnId(2) })
    const failed = yield* Effect.forkScoped(owner.Result({ turnId: NumberedData.turnId(1) }))
    const answer = yield* Effect.forkScoped(owner.Result({ turnId: NumberedData.turnId(2) }))
    yield* seconds(60)
    expect((yield* Fiber.join(failed)).end).toMatchObject({ status: "failed", error: { defect: true } })
    expect(state.runs.filter((turnId) => turnId === NumberedData.turnId(1)).length).toBe(3)
    const { end, text } = yield* Fiber.join(answer)
    expect([end.status, text]).toEqual(["completed", "Hello"])
    expect(state.asked).toBe(1)
  }))

test("H3: a runner that is not sure of its ownership accepts no turn and no command, and answers that in time", (state) =>
  Effect.gen(function* () {
    yield* (yield* Store).createConversation(NumberedData.conversation(1, { model: "scripted/m" }))
    yield* TestClock.adjust("5 seconds") // the runner gets its shards
    const owner = (yield* ConversationEntity.client)(id)
    yield* owner.State()
    state.isSure = false
    const command = { type: "retry-now", conversationId: id } as const
    const calls: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
      owner.Prompt({ prompt: "Hi", turnId: NumberedData.turnId(1) }),
      owner.Retry({ turnId: NumberedData.turnId(2) }),
      owner.Head(),
      owner.Abort({ turnId: NumberedData.turnId(1) }),
      owner.Steer({ command, origin: "a test" }),
      owner.SetAutoRetry({ enabled: false }),
      owner.SetModel({ model: "test/other" }),
      owner.SetToolAnswers({ toolAnswers: {} })
    ]
    const asked = yield* Effect.forEach(calls, (call) =>
      Effect.forkChild(Effect.exit(call), { startImmediately: true })
    )
    yield* seconds(7)
    expect(asked.map((fiber) => fiber.pollUnsafe())).toEqual(calls.map(() => undefined))
    yield* seconds(2)
    for (const fiber of asked) {
      const exit = yield* Fiber.join(fiber)
      expect(Exit.isFailure(exit) && JSON.stringify(exit.cause)).toContain("PostgreSQL has not confirmed")
    }
    expect(state.asked).toBe(0)
    state.isSure = true
    expect(yield* owner.Head()).toBeNull()
  }))

test("rule X7: content that was passed on to another runner has been received; content that was not is void", (state) =>
  Effect.gen(function* () {
    state.breaksOff = true
    const store = yield* Store
    yield* store.createConversation(NumberedData.conversation(1, { model: "scripted/m" }))
    const owner = yield* stay
    const [seen, unseen] = [NumberedData.turnId(1), NumberedData.turnId(2)]
    const outcomeOf = (turnId: Ids.TurnId) => Effect.forkScoped(owner.Result({ turnId }))
    yield* owner.Prompt({ prompt: "Hi", turnId: seen, isSubmitted: true })
    yield* seconds(1)
    // A subscriber that has left since.
    const [, last] = yield* Stream.runCollect(
      Stream.takeUntil(owner.WatchTurn({ turnId: seen }), (batch) => JSON.stringify(batch).includes("text-delta"))
    ).pipe(Effect.map((batches) => [batches, batches.at(-1)]))
    expect(JSON.stringify(last)).toContain("Hello")
    const first = yield* outcomeOf(seen)
    yield* seconds(30)
    expect((yield* Fiber.join(first)).end.status).toBe("failed")
    yield* owner.Prompt({ prompt: "Hi", turnId: unseen, isSubmitted: true })
    const second = yield* outcomeOf(unseen)
    // The first attempt has broken off, and the next one begins five seconds after it.
    yield* seconds(22)
    state.breaksOff = false
    yield* seconds(60)
    expect((yield* Fiber.join(second)).end).toMatchObject({ status: "completed", attempts: 2 })
  }))

test("rule X15: the streams of a deleted conversation end on the runner that passes them on", () =>
  Effect.gen(function* () {
    yield* (yield* Store).createConversation(NumberedData.conversation(1, { model: "scripted/m" }))
    yield* TestClock.adjust("5 seconds")
    const owner = (yield* ConversationEntity.client)(id)
    const watching = yield* Effect.forkScoped(Effect.flip(Stream.runDrain(owner.Watch({ after: 0 }))))
    yield* seconds(1)
    expect(watching.pollUnsafe()).toBe(undefined)
    yield* owner.EndStreams()
    expect(yield* Fiber.join(watching)).toMatchObject({ _tag: "ConversationNotFound", conversationId: id })
  }))
