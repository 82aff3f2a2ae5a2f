/** Compares retries of turns that have ended on disk with the same retries in memory. */
import { StorageError } from "@holdfast/journal"
import { expect, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { ConversationEntity } from "../../src/cluster/ConversationEntity.ts"
import * as RunnerEntity from "../../src/cluster/RunnerEntity.ts"
import * as Alarms from "../../src/cluster/Alarms.ts"
import * as MemoryStore from "../storage/MemoryStore.ts"
import { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "../storage/NumberedData.ts"
import { has, left, make, onDisk, type State, secondsUntil, test, waits } from "./LoneRunner.ts"

const { conversationId, turnId } = NumberedData

const commandId = Ids.CommandId.make("command")

/** Turn `n` of conversation `n` was given up, and the conversation has left memory. */
const ended = Effect.fnUntraced(function* (state: State, n: number) {
  const owner = yield* waits(n)
  yield* owner.Steer({ command: { type: "abort-retry", conversationId: conversationId(n) }, origin: "a test" })
  yield* secondsUntil(has(n, "turn-end"))
  yield* TestClock.adjust("20 seconds")
  state.loaded.length = 0
  return owner
})

/** Retries of turns `ns` as the turns a hundred above. */
const retry = Effect.fnUntraced(function* (...ns: ReadonlyArray<number>) {
  const runner = (yield* RunnerEntity.RunnerEntity.client)(conversationId(ns[0] ?? 0))
  const commands = ns.map((n) => ({
    turnId: turnId(n),
    command: { type: "retry" as const, conversationId: conversationId(n), turnId: turnId(100 + n) }
  }))
  return (yield* runner.CommandAll({ commands, origin: "a test" })).map(({ outcome }) => outcome)
})

const isThere = (id: Ids.TurnId) => Effect.flatMap(Store, (store) => Effect.map(store.turn(id), ({ _tag }) => _tag))

test("rule M1: a retry of a turn on disk leaves what it leaves of one in memory, and is answered before its conversation is loaded", (state) =>
  Effect.gen(function* () {
    yield* TestClock.adjust("5 seconds") // the runner gets its shards
    const owner = yield* ended(state, 1)
    yield* ended(state, 2)
    state.isUp = true
    yield* owner.Retry({ turnId: turnId(101), isSubmitted: true })
    yield* secondsUntil(has(101, "completed"))
    state.loaded.length = 0
    const { calls } = state
    expect(yield* retry(2)).toEqual(["done"])
    expect([state.loaded, state.calls]).toEqual([[], calls])
    expect(yield* isThere(turnId(102))).toBe("Some")
    yield* secondsUntil(has(102, "completed"))
    const plain = (text: string, n: number) =>
      text.replaceAll(/((?:started|ended|created)At[\\"]+:)\d+/g, "$1").replaceAll(conversationId(n), "C")
    expect(plain(yield* onDisk(102), 2)).toBe(plain(yield* onDisk(101), 1))
  }))

test("rule X15: what is not at rest on disk is returned: a newer turn, a waiting one, one in memory, an unknown one, the same again", (state) =>
  Effect.gen(function* () {
    yield* TestClock.adjust("5 seconds")
    for (const n of [1, 2, 3]) yield* ended(state, n)
    yield* waits(4)
    const runner = (yield* RunnerEntity.RunnerEntity.client)(conversationId(1))
    const older = { type: "retry" as const, conversationId: conversationId(2), turnId: turnId(102) }
    expect(yield* runner.CommandAll({ commands: [{ turnId: turnId(7), command: older }], origin: "a test" })).toEqual([
      { outcome: "loaded" }
    ])
    expect(yield* retry(1, 4, 5)).toEqual(["done", "loaded", "loaded"])
    // Its turn is on disk, and its conversation has not been loaded.
    expect(yield* retry(1)).toEqual(["loaded"])
    yield* (yield* ConversationEntity.client)(conversationId(3)).State()
    expect(yield* retry(3)).toEqual(["loaded"])
    for (const n of [102, 103, 104, 105]) expect(yield* isThere(turnId(n))).toBe("None")
  }))

test("rule X1: a retry that is not on disk has not been accepted, and can be sent again", (state) =>
  Effect.gen(function* () {
    yield* TestClock.adjust("5 seconds")
    yield* ended(state, 1)
    state.broken = new StorageError({ message: "The disk is full." })
    expect(yield* retry(1)).toEqual(["refused"])
    expect(yield* isThere(turnId(101))).toBe("None")
    expect((yield* Alarms.Alarms).find(conversationId(1))).toBeUndefined()
    state.broken = undefined
    state.isUp = true
    expect(yield* retry(1)).toEqual(["done"])
    yield* secondsUntil(has(101, "completed"))
  }))

it.effect("rule X1: a command that is on disk, and whose attempt has not begun, is found by the next life", () =>
  Effect.gen(function* () {
    const database = Layer.succeedContext(yield* Layer.build(MemoryStore.layer))
    const [dying, next] = [make(database), make(database)]
    yield* Effect.gen(function* () {
      yield* TestClock.adjust("5 seconds")
      yield* ended(dying.state, 1)
      for (const n of [2, 3]) yield* waits(n)
      yield* left(dying.state, 2, 3)
      const runner = (yield* RunnerEntity.RunnerEntity.client)(conversationId(1))
      const commands = [
        { turnId: turnId(1), command: { type: "retry", conversationId: conversationId(1), turnId: turnId(101) } },
        { turnId: turnId(2), command: { type: "retry-now", conversationId: conversationId(2), commandId } },
        {
          turnId: turnId(3),
          command: { type: "switch-target", conversationId: conversationId(3), commandId, model: "scripted/other" }
        }
      ] as const
      const { calls } = dying.state
      const outcomes = yield* runner.CommandAll({ commands, origin: "a test" })
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(["done", "done", "done"])
      ;(yield* Alarms.Alarms).silence() // nothing of this runner follows any more, as after kill -9
      expect([dying.state.calls, dying.state.loaded]).toEqual([calls, []])
    }).pipe(Effect.provide(dying.runner), Effect.scoped)
    next.state.isUp = true
    yield* Effect.gen(function* () {
      yield* secondsUntil(
        Effect.map(Effect.all([101, 2, 3].map((n) => has(n, "completed"))), (all) => all.every(Boolean))
      )
      expect(next.state.calls).toBe(3)
    }).pipe(Effect.provide(next.runner), Effect.scoped)
  })
)
