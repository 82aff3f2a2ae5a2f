/** Compares commands on turns that wait on disk with the same commands on turns in memory. */
import { JournalConflict, StorageError, Timer } from "@holdfast/journal"
import { expect, it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import { type Command, Ids } from "@holdfast/wire"
import { Duration, Effect, Fiber, Layer, type Scope, Stream } from "effect"
import { type Sharding, TestRunner } from "effect/cluster"
import { TestClock } from "effect/testing"
import * as Alarms from "../../src/cluster/Alarms.ts"
import { ConversationEntity } from "../../src/cluster/ConversationEntity.ts"
import * as EntityHandlers from "../../src/cluster/EntityHandlers.ts"
import { HeldRunner } from "../../src/cluster/HeldRunner.ts"
import { Lease } from "../../src/cluster/Lease.ts"
import { Residents } from "../../src/cluster/Residents.ts"
import * as RunnerEntity from "../../src/cluster/RunnerEntity.ts"
import { Defaults } from "../../src/conversation/Defaults.ts"
import { Providers } from "../../src/conversation/Providers.ts"
import * as Tools from "../../src/conversation/Tools.ts"
import * as Gates from "../../src/gate/Gates.ts"
import { Journal } from "../../src/storage/EventJournal.ts"
import * as SqlStore from "../../src/storage/sql/SqlStore.ts"
import { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "../storage/NumberedData.ts"

const { conversationId, turnId } = NumberedData

const MINUTE = 60_000

type Answers = ReturnType<Provider.Provider["Service"]["stream"]>

/** A runner alone, with a provider that the test switches on. */
const make = () => {
  const state = {
    loaded: [] as Array<string>,
    isUp: false,
    isSure: true,
    /** What the journal fails with. */
    broken: undefined as StorageError | "conflict" | undefined
  }
  const failing = (id: string) => (state.broken === "conflict" ? new JournalConflict({ turnId: id }) : state.broken)
  const counting = Layer.effect(
    Store,
    Effect.map(Store, (store) => ({
      ...store,
      resumption: (id) => {
        state.loaded.push(id)
        return store.resumption(id)
      }
    }))
  )
  const breaking = Layer.effect(
    Journal,
    Effect.map(Journal, (journal) => ({
      ...journal,
      append: (id, ...rest) =>
        Effect.suspend(() => {
          const error = failing(id)
          return error === undefined ? journal.append(id, ...rest) : Effect.fail(error)
        }),
      appendWith: (id, ...rest) =>
        Effect.suspend(() => {
          const error = failing(id)
          return error === undefined ? journal.appendWith(id, ...rest) : Effect.fail(error)
        })
    }))
  )
  const provider: Provider.Provider["Service"] = {
    stream: () =>
      Stream.suspend((): Answers =>
        state.isUp
          ? Stream.make(
              { type: "text-delta", delta: "Hello" } as const,
              { type: "finish", finishReason: "stop" } as const
            )
          : Stream.make({
              type: "error",
              failure: { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 }
            } as const)
      )
  }
  const services = Layer.mergeAll(
    Layer.succeed(Providers, { get: () => provider, names: ["scripted"], unusable: () => undefined, credentials: {} }),
    Layer.succeed(Defaults, {
      model: { provider: "scripted", model: "m" },
      models: {},
      retry: { schedule: { type: "steps", delays: [Duration.minutes(1)] } }
    }),
    Layer.succeed(Lease, { sure: () => Effect.suspend(() => (state.isSure ? Effect.void : Effect.never)) }),
    Layer.succeed(HeldRunner, { find: () => undefined }),
    Gates.layerNoop,
    Tools.layerNoop
  )
  const residents = new Residents()
  const runner = Layer.merge(EntityHandlers.layer(residents), RunnerEntity.layer(residents.claims)).pipe(
    Layer.provideMerge(Alarms.layer),
    Layer.provideMerge(TestRunner.layer),
    Layer.provide(services),
    Layer.provideMerge(Layer.provideMerge(Layer.merge(counting, breaking), SqlStore.layerMemory)),
    Layer.provide(Timer.layer)
  )
  return { state, runner }
}

type State = ReturnType<typeof make>["state"]

const test = (
  title: string,
  body: (
    state: State
  ) => Effect.Effect<void, unknown, Store | Journal | Alarms.Alarms | Sharding.Sharding | Scope.Scope>
) =>
  it.effect(title, () => {
    const { runner, state } = make()
    return body(state).pipe(Effect.provide(runner))
  })

const loopTurn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** Waits for a fact, while no time passes. */
const until = <E, R>(isThere: Effect.Effect<boolean, E, R>) =>
  Effect.repeat(Effect.andThen(loopTurn, isThere), { until: (is) => is })

/** Lets seconds pass until a fact is there. */
const secondsUntil = <E, R>(isThere: Effect.Effect<boolean, E, R>) =>
  until(Effect.andThen(TestClock.adjust("1 second"), isThere))

/** Turn `n` of conversation `n` waits. */
const waits = Effect.fnUntraced(function* (n: number) {
  const store = yield* Store
  yield* store.createConversation(NumberedData.conversation(n, { model: "scripted/m" }))
  const owner = (yield* ConversationEntity.client)(conversationId(n))
  yield* owner.Prompt({ prompt: "Hi", turnId: turnId(n) })
  yield* until(Effect.map(owner.State(), ({ status }) => status === "retrying"))
  return owner
})

/** The conversations have left memory. */
const left = (state: State, ...ns: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const alarms = yield* Alarms.Alarms
    yield* secondsUntil(Effect.sync(() => ns.every((n) => alarms.find(conversationId(n))?.turnId === turnId(n))))
    state.loaded.length = 0
  })

type Given = Command.Steering | Command.Abort

/** Commands to the runner that owns conversation `ns[0]`. */
const send = Effect.fnUntraced(function* (commandOf: (n: number) => Given, ...ns: ReadonlyArray<number>) {
  const [first = 0] = ns
  const runner = (yield* RunnerEntity.RunnerEntity.client)(conversationId(first))
  const commands = ns.map((n) => ({ turnId: turnId(n), command: commandOf(n) }))
  return (yield* runner.CommandAll({ commands, origin: "a test" })).map(({ outcome }) => outcome)
})

const commandId = Ids.CommandId.make("command")
const giveUp = (n: number): Given => ({ type: "abort-retry", conversationId: conversationId(n), commandId })

/** What is on disk of turn `n`, whichever number it has. */
const onDisk = Effect.fnUntraced(function* (n: number) {
  const records = yield* (yield* Journal).load(turnId(n))
  const events = yield* (yield* Store).turnEvents(turnId(n))
  const text = JSON.stringify([records, events.map(({ json }) => json)])
  // A draw differs from turn to turn.
  return text
    .replaceAll(turnId(n), "T")
    .replaceAll(conversationId(n), "C")
    .replaceAll(/(spread[\\"]+:)[\d.e-]+/g, "$1")
})

/** Whether what is on disk of turn `n` has a word. */
const has = (n: number, word: string) => Effect.map(onDisk(n), (text) => text.includes(word))

const COMMANDS: ReadonlyArray<(n: number) => Given> = [
  giveUp,
  (n) => ({ type: "abort", conversationId: conversationId(n) }),
  (n) => ({ type: "wait-until", conversationId: conversationId(n), commandId, until: 2 * MINUTE }),
  (n) => ({ type: "extend-budget", conversationId: conversationId(n), commandId, byMs: MINUTE }),
  (n) => ({ type: "switch-target", conversationId: conversationId(n), commandId, model: "scripted/other" })
]

for (const commandOf of COMMANDS) {
  test(`X4: ${commandOf(1).type} of a turn on disk leaves what it leaves of one in memory, and does not load the conversation`, (state) =>
    Effect.gen(function* () {
      yield* TestClock.adjust("5 seconds") // the runner gets its shards
      const owner = yield* waits(1)
      yield* waits(2)
      yield* left(state, 1, 2)
      const command = commandOf(1)
      state.isUp = true
      // Loads the first one: a command needs its conversation there.
      yield* owner.State()
      const steered =
        command.type === "abort"
          ? owner.Abort({ turnId: turnId(1) })
          : owner.Steer({ command, origin: "a test", turnId: turnId(1) })
      expect(yield* steered).toBe(true)
      state.loaded.length = 0
      expect(yield* send(commandOf, 2)).toEqual(["done"])
      const next = (yield* Alarms.Alarms).find(conversationId(2))
      if (command.type === "wait-until") expect(next?.at).toBe(command.until)
      if (command.type === "extend-budget") expect(next?.at).toBe(5_000 + MINUTE)
      if (command.type !== "switch-target") expect(state.loaded).toEqual([])
      if (command.type === "abort" || command.type === "abort-retry") yield* until(has(1, "turn-end"))
      if (command.type !== "switch-target") return expect(yield* onDisk(2)).toBe(yield* onDisk(1))
      // It is called back into memory for its attempt, which takes a moment.
      yield* secondsUntil(Effect.zipWith(has(1, "completed"), has(2, "completed"), (a, b) => a && b))
      const untimed = (text: string) => text.replaceAll(/((?:ended|created)At[\\"]+:)\d+/g, "$1")
      expect(untimed(yield* onDisk(2))).toBe(untimed(yield* onDisk(1)))
    }))
}

test("X4: the same command again does nothing, and is answered as before", (state) =>
  Effect.gen(function* () {
    yield* TestClock.adjust("5 seconds")
    yield* waits(1)
    yield* left(state, 1)
    const later = (n: number): Given => ({
      type: "wait-until",
      conversationId: conversationId(n),
      commandId,
      until: 2 * MINUTE
    })
    expect(yield* send(later, 1)).toEqual(["done"])
    const before = yield* onDisk(1)
    expect((yield* Alarms.Alarms).find(conversationId(1))?.at).toBe(2 * MINUTE)
    expect(yield* send(later, 1)).toEqual(["done"])
    expect(yield* onDisk(1)).toBe(before)
  }))

test("X15: of many turns each has an outcome of its own; what is not waiting on disk is returned", (state) =>
  Effect.gen(function* () {
    yield* TestClock.adjust("5 seconds")
    for (const n of [1, 2, 3]) yield* waits(n)
    yield* left(state, 1, 2, 3)
    yield* waits(4)
    expect(yield* send(giveUp, 1, 2, 3, 4, 5)).toEqual(["done", "done", "done", "loaded", "loaded"])
    expect(yield* send(giveUp, 1)).toEqual(["loaded"])
    expect(state.loaded).toEqual([])
    const alarms = yield* Alarms.Alarms
    expect([1, 2, 3].map((n) => alarms.find(conversationId(n)))).toEqual([undefined, undefined, undefined])
  }))

test("X1: a turn whose command is not on disk is as it was, and waits on", (state) =>
  Effect.gen(function* () {
    yield* TestClock.adjust("5 seconds")
    yield* waits(1)
    yield* left(state, 1)
    const before = yield* onDisk(1)
    state.broken = new StorageError({ message: "The disk is full." })
    expect(yield* send(giveUp, 1)).toEqual(["refused"])
    expect(yield* onDisk(1)).toBe(before)
    state.broken = "conflict"
    expect(yield* send(giveUp, 1)).toEqual(["loaded"])
    expect(yield* onDisk(1)).toBe(before)
    state.broken = undefined
    expect((yield* Alarms.Alarms).find(conversationId(1))?.turnId).toBe(turnId(1))
    state.isUp = true
    yield* TestClock.adjust(MINUTE)
    yield* secondsUntil(has(1, "completed"))
  }))

test("X6: a runner that is not sure of its ownership writes nothing", (state) =>
  Effect.gen(function* () {
    yield* TestClock.adjust("5 seconds")
    yield* waits(1)
    yield* left(state, 1)
    const before = yield* onDisk(1)
    state.isSure = false
    const sent = yield* Effect.forkChild(send(giveUp, 1), { startImmediately: true })
    yield* secondsUntil(Effect.sync(() => sent.pollUnsafe() !== undefined))
    expect(yield* Fiber.join(sent)).toEqual(["refused"])
    expect(yield* onDisk(1)).toBe(before)
  }))

test("C1: the turn behind one that was given up runs", (state) =>
  Effect.gen(function* () {
    yield* TestClock.adjust("5 seconds")
    const owner = yield* waits(1)
    yield* owner.Prompt({ prompt: "And then?", turnId: turnId(2) })
    yield* left(state, 1)
    state.isUp = true
    expect(yield* send(giveUp, 1)).toEqual(["done"])
    yield* secondsUntil(has(2, "completed"))
  }))
