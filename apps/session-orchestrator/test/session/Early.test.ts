/** Tests turns that begin while they are being accepted. */
import { assert, describe, it } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import { Observer } from "@holdfast/kernel"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import { Deferred, Effect, Fiber, Logger, Option } from "effect"
import * as Quarantine from "../../src/pacing/Quarantine.ts"
import type { Store } from "../../src/storage/Store.ts"
import { asking, type Options, waits, watching, withService } from "../conversation/ConversationSetup.ts"
import * as NumberedData from "../storage/NumberedData.ts"

const { answer, emits, hangs, overloaded } = ScriptedProvider

type Accept = Store["Service"]["acceptTurn"]

/** A store that begins turns at once; it writes acceptances when `door` succeeds, and none if `door` fails. */
const behind =
  (door: Deferred.Deferred<void, StorageError>): NonNullable<Options["store"]> =>
  (real) => ({
    acceptTurn: (...[turn, { ahead, isOpened } = {}]: Parameters<Accept>) =>
      Effect.suspend(() => {
        ahead?.()
        return Effect.andThen(Deferred.await(door), real.acceptTurn(turn, { isOpened }))
      })
  })

const settled = Effect.repeat(Effect.yieldNow, { times: 200 })

describe("a turn that begins before it is accepted", () => {
  it.effect("X1, X2: is invisible to clients and commands until its acceptance is on disk", () => {
    const door = Deferred.makeUnsafe<void, StorageError>()
    return withService(
      { scripts: [answer("Hel", "lo")], store: behind(door) },
      Effect.fnUntraced(function* ({ conversations, journal, provider, store }) {
        const c = yield* conversations.create({})
        const watcher = yield* watching(conversations.watch(c, 0))
        const prompt = yield* asking(conversations.prompt(c, { prompt: "Hi" }))
        yield* Effect.repeat(Effect.yieldNow, { until: () => provider.requests.length === 1 })
        yield* settled
        assert.deepStrictEqual(watcher.types(), [])
        assert.strictEqual((yield* conversations.state(c)).status, "idle")
        assert.deepStrictEqual(yield* conversations.counts, { running: 0, retrying: 0, queued: 0 })
        const abort = yield* asking(conversations.abort(c))
        const [{ turnId } = assert.fail("nothing was asked")] = provider.requests
        assert.deepStrictEqual([yield* journal.load(turnId), yield* store.unsealedTurns], [[], []])
        yield* Deferred.succeed(door, undefined)
        assert.strictEqual(yield* Fiber.join(prompt), turnId)
        yield* watcher.until("turn-end")
        assert.isFalse(yield* Fiber.join(abort)) // there was nothing to abort when the command arrived
        assert.deepStrictEqual(watcher.types(), [
          "turn-start",
          "message",
          "step-start",
          "text-delta",
          "text-delta",
          "usage",
          "message",
          "turn-end"
        ])
        assert.strictEqual(provider.requests.length, 1)
      })
    )
  })

  it.effect("Early.E1: has the conversation's history", () =>
    withService(
      { scripts: [answer("one"), answer("two")] },
      Effect.fnUntraced(function* ({ conversations, provider, store }) {
        const c = yield* conversations.create({})
        for (const prompt of ["One?", "Two?"]) yield* conversations.result(yield* conversations.prompt(c, { prompt }))
        const [first, second] = provider.requests
        assert.strictEqual(first?.messages.length, 1)
        assert.deepStrictEqual(second?.messages, (yield* store.messages(c)).slice(0, 3))
      })
    )
  )

  it.effect("Acceptance.A7: has the answer of a turn that the start takes up, though its prompt arrives before", () => {
    const read = Deferred.makeUnsafe<void>()
    const isEnded = (real: Store["Service"]) =>
      Effect.map(real.turn(NumberedData.turnId(1)), (turn) => Option.getOrThrow(turn).end !== undefined)
    return withService(
      {
        scripts: [answer("one"), answer("two")],
        store: (real) => ({
          unsealedTurns: Effect.andThen(Deferred.await(read), real.unsealedTurns),
          // Slow: the turn ends and leaves meanwhile.
          conversationWithHistory: (id) =>
            Effect.tap(real.conversationWithHistory(id), () =>
              Effect.andThen(
                Effect.repeat(Effect.andThen(Effect.yieldNow, isEnded(real)), { until: (isOver) => isOver }),
                settled
              )
            )
        })
      },
      Effect.fnUntraced(function* ({ conversations, provider, store }) {
        const { conversationId } = NumberedData.conversation(1)
        yield* store.createConversation({ ...NumberedData.conversation(1), model: "test/m" })
        yield* store.acceptTurn(NumberedData.turn(1, 1), { isOpened: true })
        const prompt = yield* asking(conversations.prompt(conversationId, { prompt: "Two?" }))
        yield* settled
        yield* Deferred.succeed(read, undefined)
        yield* conversations.result(yield* Fiber.join(prompt))
        assert.strictEqual(provider.requests.length, 2)
        assert.deepStrictEqual(provider.requests[1]?.messages, (yield* store.messages(conversationId)).slice(0, 3))
      })
    )
  })

  it.effect("X1: is cancelled without a trace if it is not accepted; the next turn is run", () => {
    const door = Deferred.makeUnsafe<void, StorageError>()
    const logged: Array<unknown> = []
    const observed: Array<string> = []
    const inside = { count: 0 }
    let accepting = behind(door)
    return withService(
      {
        scripts: [answer("void"), answer("Hello")],
        store: (real) => ({
          acceptTurn: (...accept) => ({ ...real, ...accepting(real) }).acceptTurn(...accept)
        })
      },
      Effect.fnUntraced(function* ({ conversations, journal, provider, store }) {
        const c = yield* conversations.create({})
        const watcher = yield* watching(conversations.watch(c, 0))
        const prompt = yield* asking(conversations.prompt(c, { prompt: "Hi" }))
        // Its mark is refused like its acceptance, so it stops at its first content.
        yield* Effect.repeat(Effect.yieldNow, { until: () => provider.requests.length === 1 })
        yield* settled
        assert.strictEqual(inside.count, 1)
        yield* Deferred.fail(door, new StorageError({ message: "The disk is full." }))
        assert.strictEqual((yield* Effect.flip(Fiber.join(prompt)))._tag, "StorageError")
        const [{ turnId } = assert.fail("nothing was asked")] = provider.requests
        assert.strictEqual(inside.count, 0)
        assert.deepStrictEqual([watcher.types(), logged, observed], [[], [], []])
        assert.deepStrictEqual([yield* journal.load(turnId), yield* store.unsealedTurns], [[], []])
        assert.strictEqual((yield* conversations.state(c)).status, "idle")
        accepting = () => ({})
        const next = yield* conversations.prompt(c, { prompt: "Again" })
        assert.strictEqual((yield* conversations.result(next)).text, "Hello")
        yield* watcher.until("turn-end")
        assert.strictEqual(watcher.types()[0], "turn-start")
        assert.deepStrictEqual(observed, ["attempt", "seal"])
      })
    ).pipe(
      Effect.provideService(Quarantine.Quarantine, {
        request: (_isSuspect, enter) => {
          inside.count++
          enter()
          return { progressed: () => {}, leave: () => void inside.count-- }
        }
      }),
      Effect.provideService(Observer.Observer, {
        attempt: () => observed.push("attempt"),
        seal: () => observed.push("seal")
      }),
      Effect.provide(Logger.layer([Logger.make(({ message }) => logged.push(message))]))
    )
  })

  it.effect("X1: has its call cancelled if it is not accepted", () => {
    const door = Deferred.makeUnsafe<void, StorageError>()
    const cancelled = { count: 0 }
    return withService(
      {
        scripts: [{ reads: [], end: Effect.onInterrupt(Effect.never, () => Effect.sync(() => cancelled.count++)) }],
        store: behind(door)
      },
      Effect.fnUntraced(function* ({ conversations, provider }) {
        const c = yield* conversations.create({})
        const prompt = yield* asking(conversations.prompt(c, { prompt: "Hi" }))
        yield* Effect.repeat(Effect.yieldNow, { until: () => provider.requests.length === 1 })
        yield* settled // the fiber that makes the call has begun it
        yield* Deferred.fail(door, new StorageError({ message: "The disk is full." }))
        yield* Effect.flip(Fiber.join(prompt))
        assert.strictEqual(cancelled.count, 1)
      })
    )
  })

  it.effect("X1: that fails before its acceptance is on disk is parked after it", () => {
    const door = Deferred.makeUnsafe<void, StorageError>()
    return withService(
      {
        scripts: [emits(overloaded)],
        retry: waits(10),
        store: behind(door),
        // What is handed in behind an acceptance is written behind it.
        journal: (real) => ({
          appendAll: (appends) => Effect.andThen(Effect.ignore(Deferred.await(door)), real.appendAll(appends))
        })
      },
      Effect.fnUntraced(function* ({ conversations, journal, provider }) {
        const c = yield* conversations.create({})
        const prompt = yield* asking(conversations.prompt(c, { prompt: "Hi" }))
        yield* Effect.repeat(Effect.yieldNow, { until: () => provider.requests.length === 1 })
        yield* settled
        assert.strictEqual((yield* conversations.counts).retrying, 0)
        yield* Deferred.succeed(door, undefined)
        const turnId = yield* Fiber.join(prompt)
        yield* Effect.repeat(conversations.counts, { until: ({ retrying }) => retrying === 1 })
        assert.deepStrictEqual(
          (yield* journal.load(turnId)).map(({ name }) => name),
          ["step/0/attempt/0", "step/0/decision/0"]
        )
      })
    )
  })

  it.effect("X1: on a service that shuts down meanwhile is left to the next process, if it is accepted", () => {
    const door = Deferred.makeUnsafe<void, StorageError>()
    const reached = Deferred.makeUnsafe<void>()
    return withService(
      { scripts: [hangs(reached)], store: behind(door) },
      Effect.fnUntraced(function* ({ conversations, stop, store }) {
        const c = yield* conversations.create({})
        const prompt = yield* asking(conversations.prompt(c, { prompt: "Hi" }))
        yield* Deferred.await(reached)
        yield* stop
        yield* Deferred.succeed(door, undefined)
        const turnId = yield* Fiber.join(prompt)
        assert.deepStrictEqual(
          (yield* store.unsealedTurns).map((turn) => turn.turnId),
          [turnId]
        )
      })
    )
  })

  it.effect("Acceptance.A6: needs a new id, and no other turn before it", () => {
    const begun: Array<string> = []
    const reached = Deferred.makeUnsafe<void>()
    return withService(
      {
        scripts: [hangs(reached), answer("two"), answer("three")],
        store: (real) => ({
          acceptTurn: (turn, options) => {
            begun.push(`${turn.prompt}: ${options?.ahead === undefined ? "behind" : "ahead"}`)
            return real.acceptTurn(turn, options)
          }
        })
      },
      Effect.fnUntraced(function* ({ conversations }) {
        const c = yield* conversations.create({})
        yield* conversations.prompt(c, { prompt: "one" })
        const second = yield* conversations.prompt(c, { prompt: "two" })
        yield* Deferred.await(reached)
        yield* conversations.abort(c)
        yield* conversations.result(second)
        yield* conversations.result(yield* conversations.prompt(c, { prompt: "three", turnId: Ids.TurnId.make("a") }))
        assert.deepStrictEqual(begun, ["one: ahead", "two: behind", "three: behind"])
      })
    )
  })
})
