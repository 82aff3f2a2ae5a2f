/** Compares commands on turns that wait on disk with the same commands on turns in memory. */
import { StorageError } from "@holdfast/journal"
import { expect } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Alarms from "../../src/cluster/Alarms.ts"
import { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "../storage/NumberedData.ts"
import { type Given, has, left, MINUTE, onDisk, secondsUntil, send, test, until, waits } from "./LoneRunner.ts"

const { conversationId, turnId } = NumberedData

const commandId = Ids.CommandId.make("command")
const giveUp = (n: number): Given => ({ type: "abort-retry", conversationId: conversationId(n), commandId })

const COMMANDS: ReadonlyArray<(n: number) => Given> = [
  giveUp,
  (n) => ({ type: "abort", conversationId: conversationId(n) }),
  (n) => ({ type: "wait-until", conversationId: conversationId(n), commandId, until: 2 * MINUTE }),
  (n) => ({ type: "extend-budget", conversationId: conversationId(n), commandId, byMs: MINUTE }),
  (n) => ({ type: "switch-target", conversationId: conversationId(n), commandId, model: "scripted/other" }),
  (n) => ({ type: "retry-now", conversationId: conversationId(n), commandId })
]

/** Their attempt is due at once. */
const CALLING = new Set(["switch-target", "retry-now"])

for (const commandOf of COMMANDS) {
  test(`rule X4: ${commandOf(1).type} of a turn on disk leaves what it leaves of one in memory, and does not load the conversation`, (state) =>
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
      if (!CALLING.has(command.type)) expect(state.loaded).toEqual([])
      if (command.type === "abort" || command.type === "abort-retry") yield* until(has(1, "turn-end"))
      if (!CALLING.has(command.type)) return expect(yield* onDisk(2)).toBe(yield* onDisk(1))
      // It is called back into memory for its attempt, which takes a moment.
      yield* secondsUntil(Effect.zipWith(has(1, "completed"), has(2, "completed"), (a, b) => a && b))
      const untimed = (text: string) => text.replaceAll(/((?:ended|created)At[\\"]+:)\d+/g, "$1")
      expect(untimed(yield* onDisk(2))).toBe(untimed(yield* onDisk(1)))
    }))
}

test("rule X4: the same command again does nothing, and is answered as before", (state) =>
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

test("rule X15: of many turns each has an outcome of its own; what is not waiting on disk is returned", (state) =>
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

test("rule X1: a turn whose command is not on disk is as it was, and waits on", (state) =>
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

test("rule X6: a runner that is not sure of its ownership writes nothing", (state) =>
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

test("rule X14: an attempt that was ordered on disk counts no death of a process", (state) =>
  Effect.gen(function* () {
    yield* TestClock.adjust("5 seconds")
    yield* waits(1)
    yield* left(state, 1)
    const { calls } = state
    const now = (n: number): Given => ({ type: "retry-now", conversationId: conversationId(n), commandId })
    expect(yield* send(now, 1)).toEqual(["done"])
    yield* secondsUntil(Effect.sync(() => state.calls > calls))
    yield* left(state, 1)
    const [turn] = yield* (yield* Store).unsealedTurnsOf(conversationId(1))
    expect(turn).toMatchObject({ turnId: turnId(1), interruption: undefined })
  }))
