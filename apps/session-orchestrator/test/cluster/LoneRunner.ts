/** One runner with its conversations on disk and in memory, over a store in memory. */
import { JournalConflict, type StorageError, Timer } from "@holdfast/journal"
import { it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import type { Command } from "@holdfast/wire"
import { Duration, Effect, Layer, type Scope, Stream } from "effect"
import { type Sharding, TestRunner } from "effect/cluster"
import { TestClock } from "effect/testing"
import * as Alarms from "../../src/cluster/Alarms.ts"
import { ConversationEntity } from "../../src/cluster/ConversationEntity.ts"
import * as EntityHandlers from "../../src/cluster/EntityHandlers.ts"
import { HeldRunner } from "../../src/cluster/HeldRunner.ts"
import { Lease } from "../../src/cluster/Lease.ts"
import { Residents } from "../../src/cluster/Residents.ts"
import { Neighbours } from "../../src/cluster/Neighbours.ts"
import * as RunnerEntity from "../../src/cluster/RunnerEntity.ts"
import * as TakeOver from "../../src/cluster/TakeOver.ts"
import { Defaults } from "../../src/conversation/Defaults.ts"
import { Providers } from "../../src/conversation/Providers.ts"
import * as Tools from "../../src/conversation/Tools.ts"
import * as Gates from "../../src/gate/Gates.ts"
import { Journal } from "../../src/storage/EventJournal.ts"
import type * as SqlStore from "../../src/storage/sql/SqlStore.ts"
import * as MemoryStore from "../storage/MemoryStore.ts"
import { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "../storage/NumberedData.ts"

const { conversationId, turnId } = NumberedData

/** Of a runner in a test. */
const SHARDS = 300

export const MINUTE = 60_000

type Answers = ReturnType<Provider.Provider["Service"]["stream"]>

/** A runner alone, with a provider that the test switches on, over a database that another runner may have used before. */
export const make = (database: Layer.Layer<SqlStore.Storage, StorageError> = MemoryStore.layer) => {
  const state = {
    loaded: [] as Array<string>,
    calls: 0,
    isUp: false,
    isSure: true,
    /** What the journal fails with, and with an error the store's acceptance of turns. */
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
      },
      acceptTurn: (...turn) =>
        Effect.suspend(() => (typeof state.broken === "object" ? Effect.fail(state.broken) : store.acceptTurn(...turn)))
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
      Stream.suspend((): Answers => {
        state.calls++
        return state.isUp
          ? Stream.make(
              { type: "text-delta", delta: "Hello" } as const,
              { type: "finish", finishReason: "stop" } as const
            )
          : Stream.make({
              type: "error",
              failure: { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 }
            } as const)
      })
  }
  const services = Layer.mergeAll(
    Layer.succeed(Providers, { get: () => provider, names: ["scripted"], unusable: () => undefined, credentials: {} }),
    Layer.succeed(Defaults, {
      model: { provider: "scripted", model: "m" },
      models: {},
      retry: { schedule: { type: "steps", delays: [Duration.minutes(1)] } }
    }),
    Layer.succeed(Lease, {
      of: () => ({
        isSure: () => state.isSure,
        sure: Effect.suspend(() => (state.isSure ? Effect.void : Effect.never))
      })
    }),
    Layer.succeed(HeldRunner, { find: () => undefined, locate: () => Effect.undefined }),
    Gates.layerNoop,
    Tools.layerNoop
  )
  const residents = new Residents()
  const takeOver = Layer.effectDiscard(Effect.forkScoped(TakeOver.run(SHARDS, new Neighbours("here"))))
  const runner = Layer.mergeAll(EntityHandlers.layer(residents), RunnerEntity.layer(residents.claims), takeOver).pipe(
    Layer.provideMerge(Alarms.layer),
    Layer.provideMerge(TestRunner.layer),
    Layer.provide(services),
    Layer.provideMerge(Layer.provideMerge(Layer.merge(counting, breaking), database)),
    Layer.provide(Timer.layer)
  )
  return { state, runner }
}

export type State = ReturnType<typeof make>["state"]

export const test = (
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
export const until = <E, R>(isThere: Effect.Effect<boolean, E, R>) =>
  Effect.repeat(Effect.andThen(loopTurn, isThere), { until: (is) => is })

/** Lets seconds pass until a fact is there. */
export const secondsUntil = <E, R>(isThere: Effect.Effect<boolean, E, R>) =>
  until(Effect.andThen(TestClock.adjust("1 second"), isThere))

/** Turn `n` of conversation `n` waits. */
export const waits = Effect.fnUntraced(function* (n: number) {
  const store = yield* Store
  yield* store.createConversation(NumberedData.conversation(n, { model: "scripted/m" }))
  const owner = (yield* ConversationEntity.client)(conversationId(n))
  yield* owner.Prompt({ prompt: "Hi", turnId: turnId(n) })
  yield* until(Effect.map(owner.State(), ({ status }) => status === "retrying"))
  return owner
})

/** The conversations have left memory. */
export const left = (state: State, ...ns: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const alarms = yield* Alarms.Alarms
    yield* secondsUntil(Effect.sync(() => ns.every((n) => alarms.find(conversationId(n))?.turnId === turnId(n))))
    state.loaded.length = 0
  })

export type Given = Command.Steering | Command.Abort

/** Commands to the runner that owns conversation `ns[0]`. */
export const send = Effect.fnUntraced(function* (commandOf: (n: number) => Given, ...ns: ReadonlyArray<number>) {
  const [first = 0] = ns
  const runner = (yield* RunnerEntity.RunnerEntity.client)(conversationId(first))
  const commands = ns.map((n) => ({ turnId: turnId(n), command: commandOf(n) }))
  return (yield* runner.CommandAll({ commands, origin: "a test" })).map(({ outcome }) => outcome)
})

/** What is on disk of turn `n`, whichever number it has. */
export const onDisk = Effect.fnUntraced(function* (n: number) {
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
export const has = (n: number, word: string) => Effect.map(onDisk(n), (text) => text.includes(word))
