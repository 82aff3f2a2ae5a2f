/** One runner with its shards and its one orchestrator, over a store in memory; the test controls its locks and its provider. */
import { StorageError, Timer } from "@holdfast/journal"
import { assert, it } from "@effect/vitest"
import type { Provider, Toolbox } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Duration, Effect, Exit, Fiber, Latch, Layer, type Scope, Stream } from "effect"
import {
  ClusterError,
  MessageStorage,
  RunnerHealth,
  Runners,
  RunnerStorage,
  Sharding,
  ShardingConfig
} from "effect/cluster"
import { TestClock } from "effect/testing"
import * as Cluster from "../../src/cluster/Cluster.ts"
import * as Owner from "../../src/cluster/Owner.ts"
import * as Frames from "../../src/cluster/Frames.ts"
import { Neighbours } from "../../src/cluster/Neighbours.ts"
import { Remote } from "../../src/cluster/Remote.ts"
import { Shards } from "../../src/cluster/Shards.ts"
import { Conversations } from "../../src/engine/conversation/Conversations.ts"
import { Defaults } from "../../src/engine/conversation/Defaults.ts"
import * as HeldCalls from "../../src/engine/conversation/HeldCalls.ts"
import { Providers } from "../../src/engine/conversation/Providers.ts"
import { Tools } from "../../src/engine/conversation/Tools.ts"
import * as Gates from "../../src/engine/gate/Gates.ts"
import { HeldTurns } from "../../src/engine/orchestrator/HeldTurns.ts"
import { TurnLog } from "../../src/storage/TurnLog.ts"
import * as HeldCallIds from "../../src/storage/HeldCallIds.ts"
import { Store } from "../../src/storage/Store.ts"
import * as Condition from "../../src/base/system/Condition.ts"
import * as MemoryStore from "../storage/MemoryStore.ts"
import * as NumberedData from "../storage/NumberedData.ts"
import * as Logged from "../storage/Logged.ts"

const { conversationId, turnId } = NumberedData
const SHARDS = 60
const id = conversationId(1)

const overloaded = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 } as const

const make = () => {
  const locks: Locks = { gone: new Set(), isAway: false, givenBack: Effect.void }
  const state = {
    /** The shards of this runner, once it has started. */
    at: (): Shards => assert.fail("the runner has not started"),
    locks,
    /** The calls of the provider. */
    asked: 0,
    isUp: true,
    /** The provider's answers wait for it in their middle. */
    more: Latch.makeUnsafe(true),
    callsTool: false,
    ran: 0,
    sure: Latch.makeUnsafe(true),
    /** The lock of this shard is not sure. */
    inDoubt: 0,
    calls: new Map<Ids.ConversationId, HeldCalls.HeldCall>(),
    /** The disk takes no end of a turn. */
    isFull: false,
    /** Comes before each read of a conversation. */
    read: Effect.void,
    /** Is called when a turn is on disk. */
    accepted: () => {}
  }
  const provider: Provider.Provider["Service"] = {
    stream: () =>
      Stream.suspend((): ReturnType<Provider.Provider["Service"]["stream"]> => {
        state.asked++
        if (!state.isUp) return Stream.make({ type: "error", failure: overloaded } as const)
        if (state.callsTool) {
          state.callsTool = false
          return Stream.make(
            { type: "tool-call", toolCallId: "1", toolName: "look", input: {} } as const,
            { type: "finish", finishReason: "tool-calls" } as const
          )
        }
        const begun = Stream.make({ type: "text-delta", delta: "Hello" } as const)
        return begun.pipe(
          Stream.concat(Stream.fromEffectDrain(state.more.await)),
          Stream.concat(Stream.make({ type: "finish", finishReason: "stop" } as const))
        )
      })
  }
  const toolbox: Toolbox.Toolbox["Service"] = {
    definitions: [{ name: "look", inputSchema: { type: "object" } }],
    run: () => Effect.sync(() => ({ output: ++state.ran, isError: false }))
  }
  const accepting = Layer.effect(
    TurnLog,
    Effect.map(TurnLog, (log) => ({
      ...log,
      accept: (...turn) => Effect.tap(log.accept(...turn), () => Effect.sync(() => state.accepted())),
      append: (appends) =>
        state.isFull && appends.some(({ events }) => events.at(-1)?.type === "turn-end")
          ? Effect.succeed(appends.map(() => Exit.fail(new StorageError({ message: "The disk is full." }))))
          : log.append(appends)
    }))
  )
  const reading = Layer.effect(
    Store,
    Effect.map(Store, (store) => ({
      ...store,
      conversation: (id) =>
        Effect.andThen(
          Effect.suspend(() => state.read),
          store.conversation(id)
        )
    }))
  )
  const services = Layer.mergeAll(
    Layer.succeed(Providers, {
      get: () => provider,
      names: ["scripted"],
      unusable: () => undefined,
      credentials: {},
      held: (id) => HeldCalls.find(state.calls, id)
    }),
    Layer.succeed(Defaults, {
      model: { provider: "scripted", model: "m" },
      models: {},
      retry: { schedule: { type: "steps", delays: [Duration.minutes(1)] } }
    }),
    Layer.succeed(Tools, {
      missing: () => [],
      isComplete: Effect.void,
      names: [],
      only: () => assert.fail("no conversation chooses its tools"),
      toolbox: Effect.succeed(toolbox)
    }),
    Gates.layerNoop,
    Layer.succeed(HeldCalls.HeldCalls, state.calls),
    Condition.layer
  )
  const lease = {
    isSure: (shard: number) => shard !== state.inDoubt && state.sure.isOpen(),
    sure: (shard: number) =>
      Effect.repeat(Effect.sleep("100 millis"), { while: () => shard === state.inDoubt }).pipe(
        Effect.andThen(state.sure.await)
      )
  }
  const runner = Layer.unwrap(
    Effect.map(Sharding.Sharding, (sharding) => {
      const shards = new Shards(sharding, lease, SHARDS)
      state.at = () => shards
      return Cluster.runner({ database: "memory", shards, neighbours: new Neighbours("here") })
    })
  ).pipe(
    Layer.provideMerge(Sharding.layer),
    Layer.provide(Runners.layerNoop),
    Layer.provide(MessageStorage.layerNoop),
    Layer.provide([locksOf(locks), RunnerHealth.layerNoop]),
    Layer.provide(
      ShardingConfig.layer({
        shardsPerGroup: SHARDS,
        shardLockRefreshInterval: "100 millis",
        // So often it looks for locks to take.
        entityMessagePollInterval: "500 millis"
      })
    ),
    Layer.provide(services),
    Layer.provideMerge(Layer.provideMerge(Layer.merge(accepting, reading), MemoryStore.withClient)),
    Layer.provide(Timer.layer)
  )
  return { state: Object.assign(state, { provider }), runner }
}

interface Locks {
  /** The shards whose locks another runner has. */
  readonly gone: Set<number>
  /** The database does not answer. */
  isAway: boolean
  /** Is called when a lock is given back, or all are. */
  givenBack: Effect.Effect<void>
}

const locksOf = (locks: Locks): Layer.Layer<RunnerStorage.RunnerStorage> => {
  const owned: RunnerStorage.RunnerStorage["Service"]["refresh"] = (_, shards) =>
    Effect.suspend(() =>
      locks.isAway
        ? Effect.fail(new ClusterError.PersistenceError({ cause: "away" }))
        : Effect.succeed(Array.from(shards).filter(({ id }) => !locks.gone.has(id)))
    )
  const back = () => Effect.suspend(() => locks.givenBack)
  return Layer.effect(
    RunnerStorage.RunnerStorage,
    Effect.map(RunnerStorage.makeMemory, (storage) => ({
      ...storage,
      acquire: owned,
      refresh: owned,
      release: back,
      releaseAll: back
    }))
  )
}

type State = ReturnType<typeof make>["state"] & { readonly held: HeldTurns["Service"] }

const test = (
  title: string,
  body: (
    state: State,
    conversations: Conversations["Service"]
  ) => Effect.Effect<void, unknown, Store | TurnLog | Sharding.Sharding | Scope.Scope>
) =>
  it.effect(title, () => {
    const { runner, state } = make()
    return Effect.gen(function* () {
      yield* (yield* Store).createConversation(NumberedData.conversation(1, { model: "scripted/m" }))
      yield* seconds(10) // the runner gets its shards
      yield* body(Object.assign(state, { held: yield* HeldTurns }), yield* Conversations)
    }).pipe(Effect.provide(runner))
  })

const loopTurns = (count: number) =>
  Effect.promise(async () => {
    for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve))
  })

const settled = loopTurns(20)

/** A conversation in another shard. */
const elsewhere = ({ at }: State) =>
  Effect.gen(function* () {
    const other = [2, 3, 4].find((n) => at().of(conversationId(n)) !== at().of(id)) ?? assert.fail()
    yield* (yield* Store).createConversation(NumberedData.conversation(other, { model: "scripted/m" }))
    return conversationId(other)
  })

/** What can be done without the clock is done after each of them. */
const seconds = (count: number) =>
  TestClock.adjust("1 second").pipe(Effect.andThen(settled), Effect.repeat({ times: count - 1 }))

/** The locks of shards are lost. */
const lose = ({ at, locks: { gone } }: State, ...ids: ReadonlyArray<Ids.ConversationId>) =>
  Effect.sync(() => ids.forEach((id) => gone.add(at().of(id))))

/** They can be had again. */
const regain = ({ locks: { gone } }: State) => Effect.sync(() => gone.clear())

/** A shard goes, and comes back. */
const goes = (state: State, of = id) =>
  lose(state, of).pipe(Effect.andThen(seconds(1)), Effect.andThen(regain(state)), Effect.andThen(seconds(2)))

const prompt = (conversations: Conversations["Service"]) =>
  conversations.prompt(id, { prompt: "Hi", turnId: turnId(1) })

test("rule X6: a turn that waits goes on in its wait when its shard has moved, and its callers with it", (state, conversations) =>
  Effect.gen(function* () {
    state.isUp = false
    yield* prompt(conversations)
    yield* seconds(1)
    const before = yield* conversations.state(id)
    assert.strictEqual(before.status, "retrying")
    const types: Array<string> = []
    const watcher = yield* conversations.watchTurn(turnId(1), id).pipe(
      Stream.runForEach(({ event }) => Effect.sync(() => void types.push(event.type))),
      Effect.forkScoped
    )
    const everything = yield* Effect.forkScoped(
      Stream.runHead(Stream.filter(conversations.watch(id, 0), ({ event }) => event.type === "turn-end"))
    )
    const result = yield* Effect.forkScoped(conversations.result(turnId(1), id))
    yield* seconds(10)
    yield* goes(state)
    assert.strictEqual((yield* conversations.state(id)).retryAt, before.retryAt)
    assert.strictEqual((yield* conversations.counts).retrying, 1)
    state.isUp = true
    yield* seconds(40)
    assert.strictEqual(state.asked, 1)
    yield* seconds(15)
    assert.strictEqual((yield* Fiber.join(result)).text, "Hello")
    yield* Fiber.join(watcher)
    assert.isTrue((yield* Fiber.join(everything))._tag === "Some")
    assert.deepStrictEqual(
      types.filter((type) => type === "turn-start" || type === "turn-end"),
      ["turn-start", "turn-end"]
    )
    assert.strictEqual(state.asked, 2)
  }))

test("rule X6: an answer in progress is stopped before its lock is given back, and begun anew by the next owner", (state, conversations) =>
  Effect.gen(function* () {
    state.more.closeUnsafe()
    yield* prompt(conversations)
    const result = yield* Effect.forkScoped(conversations.result(turnId(1), id))
    yield* seconds(1)
    assert.strictEqual((yield* conversations.counts).running, 1)
    yield* Effect.andThen(lose(state, id), seconds(1))
    assert.deepStrictEqual(yield* conversations.counts, { running: 0, retrying: 0, queued: 0 })
    yield* regain(state)
    state.more.openUnsafe()
    yield* seconds(70)
    const { end, text } = yield* Fiber.join(result)
    assert.deepStrictEqual([end.status, text, state.asked], ["completed", "Hello", 2])
  }))

test("rule X6: a lock is given back when the turns of its shard have stopped, and no other turn has", (state, conversations) =>
  Effect.gen(function* () {
    yield* (yield* Store).createConversation(NumberedData.conversation(2, { model: "scripted/m" }))
    const running: Array<number> = []
    state.locks.givenBack = Effect.map(conversations.counts, (counts) => void running.push(counts.running))
    state.more.closeUnsafe()
    yield* prompt(conversations)
    yield* conversations.prompt(conversationId(2), { prompt: "Hi", turnId: turnId(2) })
    yield* seconds(1)
    yield* Effect.andThen(lose(state, id), seconds(1))
    state.locks.isAway = true
    yield* seconds(1)
    state.locks.isAway = false
    yield* seconds(1)
    assert.deepStrictEqual(running, [1, 0])
  }))

test("rule X3: a stream of a conversation whose shard goes ends here, with or without a turn, so that its watcher goes on at the next owner", (state) =>
  Effect.gen(function* () {
    const owner = (yield* Remote.client)(id)
    const watching = yield* Effect.forkScoped(Stream.runDrain(owner.Watch({ id, after: 0 })))
    yield* seconds(1)
    assert.isUndefined(watching.pollUnsafe())
    yield* goes(state)
    const exit = yield* Fiber.await(watching)
    assert.isTrue(Exit.isFailure(exit) && Owner.isGoing(exit.cause))
  }))

test("rule X6: turns behind another one move with it, and run in their order", (state, conversations) =>
  Effect.gen(function* () {
    state.isUp = false
    yield* prompt(conversations)
    yield* seconds(1)
    yield* conversations.prompt(id, { prompt: "And then?", turnId: turnId(2) })
    yield* goes(state)
    const { queued, turnId: head } = yield* conversations.state(id)
    assert.deepStrictEqual([head, queued], [turnId(1), [turnId(2)]])
    state.isUp = true
    assert.isTrue(yield* conversations.steer({ type: "retry-now", conversationId: id }, "a test"))
    yield* seconds(2)
    assert.strictEqual((yield* conversations.result(turnId(2), id)).end.status, "completed")
    assert.strictEqual(state.asked, 3)
  }))

test("rule X4: a command while the shard moves reaches the turn, once", (state, conversations) =>
  Effect.gen(function* () {
    state.isUp = false
    yield* prompt(conversations)
    yield* seconds(1)
    state.isUp = true
    yield* lose(state, id)
    yield* TestClock.adjust("100 millis")
    const commanded = yield* Effect.forkScoped(conversations.steer({ type: "retry-now", conversationId: id }, "a test"))
    const prompted = yield* Effect.forkScoped(conversations.prompt(id, { prompt: "And then?", turnId: turnId(2) }))
    yield* seconds(1)
    yield* regain(state)
    yield* seconds(3)
    assert.deepStrictEqual([yield* Fiber.join(commanded), yield* Fiber.join(prompted)], [true, turnId(2)])
    assert.strictEqual((yield* conversations.result(turnId(2), id)).end.status, "completed")
    assert.strictEqual(state.asked, 3)
  }))

test("rule X6: asks no provider, runs no tool and records nothing while it is not sure of its lock", (state, conversations) =>
  Effect.gen(function* () {
    state.callsTool = true
    state.isUp = false
    yield* prompt(conversations)
    yield* seconds(1)
    state.isUp = true
    state.sure.closeUnsafe()
    yield* seconds(90)
    assert.deepStrictEqual([state.asked, state.ran], [1, 0])
    state.sure.openUnsafe()
    yield* seconds(60)
    const { end } = yield* conversations.result(turnId(1), id)
    assert.deepStrictEqual([end.status, state.asked, state.ran], ["completed", 3, 1])
  }))

test("rule X6: a turn whose lock is in doubt right after its acceptance is answered, and called, when the lock is sure", (state, conversations) =>
  Effect.gen(function* () {
    state.accepted = () => state.sure.closeUnsafe()
    const prompted = yield* Effect.forkScoped(prompt(conversations))
    yield* seconds(3)
    assert.deepStrictEqual([state.asked, prompted.pollUnsafe()], [0, undefined])
    state.sure.openUnsafe()
    yield* seconds(1)
    yield* Fiber.join(prompted)
    assert.strictEqual((yield* conversations.result(turnId(1), id)).text, "Hello")
    assert.strictEqual(state.asked, 1)
  }))

test("rule X6: the end of a turn that the disk has refused is written again when the lock is sure, and not before", (state, conversations) =>
  Effect.gen(function* () {
    state.isFull = true
    yield* prompt(conversations)
    const result = yield* Effect.forkScoped(conversations.result(turnId(1), id))
    yield* settled
    state.sure.closeUnsafe()
    state.isFull = false
    yield* seconds(10)
    assert.strictEqual((yield* Logged.tail()).length, 1)
    state.sure.openUnsafe()
    yield* seconds(10)
    assert.deepStrictEqual([(yield* Fiber.join(result)).text, state.asked], ["Hello", 1])
    assert.strictEqual((yield* Logged.tail()).length, 0)
  }))

test("rule X6: a late runner whose lock was lost writes nothing, its turn stops, and its callers go on at the next owner", (state, conversations) =>
  Effect.gen(function* () {
    state.more.closeUnsafe()
    yield* prompt(conversations)
    const result = yield* Effect.forkScoped(conversations.result(turnId(1), id))
    yield* seconds(1)
    const before = yield* Logged.load(turnId(1))
    state.sure.closeUnsafe()
    // The end of the answer is to be recorded now.
    state.more.openUnsafe()
    yield* seconds(2)
    yield* Effect.andThen(lose(state, id), seconds(2))
    assert.strictEqual((yield* conversations.counts).running, 0)
    assert.deepStrictEqual(yield* Logged.load(turnId(1)), before)
    yield* regain(state)
    state.sure.openUnsafe()
    yield* seconds(3)
    assert.deepStrictEqual([(yield* Fiber.join(result)).text, state.asked], ["Hello", 2])
  }))

test("rule X6: a turn needs the lock of its own conversation, also after its id was sent to another one", (state, conversations) =>
  Effect.gen(function* () {
    const other = yield* elsewhere(state)
    state.more.closeUnsafe()
    yield* prompt(conversations)
    yield* seconds(1)
    const refused = yield* Effect.flip(conversations.prompt(other, { prompt: "Hi", turnId: turnId(1) }))
    assert.strictEqual(refused._tag, "TurnConflict")
    state.inDoubt = state.at().of(other)
    state.more.openUnsafe()
    yield* seconds(1)
    assert.strictEqual((yield* Logged.tail()).length, 0)
  }))

test("rule X6: a turn whose lock is in doubt is written when that is sure, and delays no other turn", (state, conversations) =>
  Effect.gen(function* () {
    const other = yield* elsewhere(state)
    yield* (yield* Store).createConversation(NumberedData.conversation(9, { model: "scripted/m" }))
    state.isUp = false
    // The first turn that is due is written at once, and those that are due meanwhile together.
    yield* conversations.prompt(conversationId(9), { prompt: "Hi", turnId: turnId(9) })
    yield* prompt(conversations)
    yield* conversations.prompt(other, { prompt: "Hi", turnId: turnId(2) })
    yield* seconds(1)
    const before = yield* Logged.load(turnId(2))
    state.isUp = true
    state.inDoubt = state.at().of(other)
    yield* seconds(62)
    assert.deepStrictEqual(
      (yield* Logged.tail()).map(({ turnId }) => turnId),
      [turnId(2)]
    )
    assert.deepStrictEqual(yield* Logged.load(turnId(2)), before)
    state.inDoubt = 0
    yield* seconds(60)
    assert.strictEqual((yield* Logged.tail()).length, 0)
  }))

test("rule M3: a runner that is not sure of its lock accepts no turn and no command, and answers that in time", (state, conversations) =>
  Effect.gen(function* () {
    state.sure.closeUnsafe()
    const command = { type: "retry-now", conversationId: id } as const
    const calls: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
      prompt(conversations),
      conversations.retry(id, { turnId: turnId(2) }),
      conversations.abort(id, turnId(1)),
      conversations.steer(command, "a test"),
      conversations.change({ type: "set-auto-retry", conversationId: id, enabled: false }),
      conversations.change({ type: "set-model", conversationId: id, model: "scripted/other" }),
      conversations.change({ type: "set-tool-answers", conversationId: id, toolAnswers: {} })
    ]
    const asked = yield* Effect.forEach(calls, (call) => Effect.forkChild(Effect.exit(call)))
    yield* seconds(7)
    assert.deepStrictEqual(
      asked.map((fiber) => fiber.pollUnsafe()),
      calls.map(() => undefined)
    )
    yield* seconds(2)
    for (const fiber of asked) {
      const exit = yield* Fiber.join(fiber)
      assert.include(Exit.isFailure(exit) && JSON.stringify(exit.cause), "PostgreSQL has not confirmed")
    }
    assert.strictEqual(state.asked, 0)
    state.sure.openUnsafe()
    assert.strictEqual((yield* conversations.state(id)).status, "idle")
  }))

test("rule X6: what another runner asks is answered by the same orchestrator", (state, conversations) =>
  Effect.gen(function* () {
    state.isUp = false
    const owner = (yield* Remote.client)(id)
    const turn = { id, turnId: turnId(1) }
    yield* owner.Prompt({ ...turn, prompt: "Hi" })
    yield* seconds(1)
    assert.deepStrictEqual(yield* owner.State({ id }), yield* conversations.state(id))
    assert.strictEqual(yield* owner.Head({ id }), turnId(1))
    const watching = yield* Effect.forkScoped(Stream.runCollect(owner.Watch({ ...turn, after: 0 })))
    const all = yield* Effect.forkScoped(Effect.flip(Stream.runDrain(owner.Watch({ id, after: 0 }))))
    const ending = yield* Effect.forkScoped(Stream.runCollect(owner.Watch({ ...turn, after: 0, isEnd: true })))
    yield* seconds(1)
    assert.isTrue(yield* owner.Abort(turn))
    yield* seconds(1)
    assert.strictEqual((yield* conversations.result(turnId(1))).end.status, "aborted")
    for (const [watched, starts] of [
      [watching, 1],
      [ending, 0]
    ] as const) {
      const frames = (yield* Fiber.join(watched)).flatMap(Frames.fromBatch)
      assert.strictEqual(frames.at(-1)?.event.type, "turn-end")
      assert.strictEqual(frames.filter(({ event }) => event.type === "turn-start").length, starts)
    }
    yield* owner.EndStreams({ id })
    assert.strictEqual((yield* Fiber.join(all))._tag, "ConversationNotFound")
    assert.isFalse(yield* owner.Abort(turn))
  }))

test("rule X13: a held call stays with its client when its shard moves, and without its client takes no command but an abort", (state, conversations) =>
  Effect.gen(function* () {
    const store = yield* Store
    const held = HeldCallIds.make("k".repeat(HeldCallIds.KEY_LENGTH), HeldCallIds.turn(0, "0"), "0")
    const turn = HeldCallIds.turnOf(held)
    yield* store.createConversation({ ...NumberedData.conversation(2, { model: "scripted/m" }), conversationId: held })
    state.calls.set(held, {
      stream: state.provider.stream,
      inputTokens: 0,
      asksAgain: true,
      fits: () => true,
      route: "own chat"
    })
    state.isUp = false
    yield* conversations.prompt(held, { prompt: "Hi", turnId: turn })
    yield* seconds(1)
    assert.strictEqual((yield* conversations.state(held)).status, "retrying")
    yield* goes(state, held)
    assert.strictEqual((yield* conversations.state(held)).status, "retrying")
    const watching = yield* Effect.forkScoped(Stream.runCollect(conversations.watchTurn(turn, held)))
    yield* seconds(1)
    state.calls.delete(held)
    yield* state.held.release(held)
    const owner = (yield* Remote.client)(held)
    const command = { type: "retry-now", conversationId: held } as const
    assert.strictEqual((yield* Effect.flip(owner.Steer({ command, origin: "a test" })))._tag, "Elsewhere")
    assert.isTrue(yield* owner.Abort({ id: held }))
    yield* Fiber.interrupt(watching)
  }))

for (const isRemote of [false, true])
  test(`rule X4: a command at any moment while shards come and go finds the turn that waits; asked ${isRemote ? "by messages" : "in the same process"}`, (state, conversations) =>
    Effect.gen(function* () {
      const store = yield* Store
      if (isRemote) Object.assign(state.at(), { isReady: () => false })
      const ids = Array.from({ length: 12 }, (_, n) => n + 2)
      for (const n of ids) yield* store.createConversation(NumberedData.conversation(n, { model: "scripted/m" }))
      state.isUp = false
      for (const n of ids)
        yield* Effect.forkScoped(conversations.prompt(conversationId(n), { prompt: `Hi ${n}`, turnId: turnId(n) }))
      yield* seconds(1)
      state.read = Effect.sleep("150 millis")
      const commanded: Array<Fiber.Fiber<boolean, unknown>> = []
      for (let round = 0; round < 12; round++) {
        yield* lose(state, ...ids.filter((n) => (n + round) % 3 === 0).map((n) => conversationId(n)))
        yield* Effect.andThen(TestClock.adjust(90 + 5 * round), loopTurns(round % 4))
        for (const n of ids) {
          const command = { type: "extend-budget", conversationId: conversationId(n), byMs: 1 } as const
          commanded.push(yield* Effect.forkScoped(conversations.steer(command, "a test")))
        }
        yield* Effect.andThen(TestClock.adjust(300), settled)
        yield* regain(state)
        if (round % 2 === 0) yield* seconds(1)
      }
      yield* seconds(5)
      assert.strictEqual(state.asked, ids.length)
      assert.deepStrictEqual(
        commanded.filter((fiber) => fiber.pollUnsafe() === undefined),
        []
      )
      assert.deepStrictEqual(new Set(yield* Effect.forEach(commanded, Fiber.join)), new Set([true]))
      assert.deepStrictEqual(yield* conversations.counts, { running: 0, retrying: ids.length, queued: 0 })
    }))

for (const isRemote of [false, true])
  test(`rule X6: D4: each of many turns ends once, for all who wait for it, while shards come and go; asked ${isRemote ? "by messages" : "in the same process"}`, (state, conversations) =>
    Effect.gen(function* () {
      const store = yield* Store
      if (isRemote) Object.assign(state.at(), { isReady: () => false })
      const ids = Array.from({ length: 24 }, (_, n) => n + 2)
      for (const n of ids) yield* store.createConversation(NumberedData.conversation(n, { model: "scripted/m" }))
      state.isUp = false
      const ends = yield* Effect.forEach(ids, (n, i) =>
        Effect.gen(function* () {
          yield* Effect.sleep(i * 100)
          const call = { prompt: `Hi ${n}`, turnId: turnId(n) }
          yield* conversations.prompt(conversationId(n), call)
          const watched = Stream.runCollect(conversations.watchTurn(turnId(n), conversationId(n)))
          const result = conversations.result(turnId(n), conversationId(n))
          const [frames, { end, text }] = yield* Effect.all([watched, result], { concurrency: 2 })
          const types = frames.map(({ event }) => event.type).filter((type) => type.startsWith("turn-"))
          return [n, types.join(), end.status, text] as const
        }).pipe(Effect.forkScoped)
      )
      // Each goes several times, in any state of its turn.
      for (let round = 0; round < 40; round++) {
        if (round === 20) state.isUp = true
        yield* lose(state, ...ids.filter((n) => (n * 7 + round * 3) % 5 === 0).map((n) => conversationId(n)))
        yield* Effect.andThen(TestClock.adjust(130), loopTurns(1 + (round % 4)))
        yield* Effect.andThen(TestClock.adjust(370), settled)
        yield* regain(state)
        if (round % 3 === 0) yield* seconds(1)
      }
      yield* seconds(150)
      assert.deepStrictEqual(
        ends.flatMap((fiber, i) => (fiber.pollUnsafe() === undefined ? [ids[i]] : [])),
        []
      )
      assert.deepStrictEqual(
        yield* Effect.forEach(ends, Fiber.join),
        ids.map((n) => [n, "turn-start,turn-end", "completed", "Hello"] as const)
      )
      assert.deepStrictEqual(yield* conversations.counts, { running: 0, retrying: 0, queued: 0 })
    }))
