/** Conversations as a whole: what goes wrong between their parts. */
import { assert, describe, it } from "@effect/vitest"
import { Turn } from "@holdfast/kernel"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Ids, type TurnEvent } from "@holdfast/wire"
import { Cause, Deferred, Duration, Effect, Exit, Fiber, type Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { Conversations } from "../../src/conversation/Conversations.ts"
import { type Journal, JournalConflict } from "../../src/storage/Journal.ts"
import { StorageError } from "../../src/storage/Store.ts"
import { asking, waits, watching, withService } from "./Given.ts"

const { answer, emits, hangs, overloaded, text, throws, unauthorized } = ScriptedProvider

const id = Ids.TurnId.make

describe("a turn that stops without a seal", () => {
  it.effect("Q4: leaves the way free for those behind it, and those who wait for it are told", () => {
    const isAwaited = Deferred.makeUnsafe<void>()
    const elsewhere = (real: Journal["Service"]): Partial<Journal["Service"]> => ({
      append: (turnId, ...rest) =>
        turnId === id("a")
          ? Effect.andThen(Deferred.await(isAwaited), Effect.fail(new JournalConflict({ turnId })))
          : real.append(turnId, ...rest)
    })
    return withService(
      { scripts: [answer("one"), answer("two")], journal: elsewhere },
      Effect.fnUntraced(function* ({ conversations, store }) {
        const c = yield* conversations.create({})
        for (const turnId of [id("a"), id("b")]) yield* conversations.prompt(c, { prompt: "Hi", turnId })
        const told = yield* watching(conversations.watchTurn(id("a")))
        const waited = yield* asking(Effect.flip(conversations.result(id("a"))))
        yield* told.until("step-start")
        yield* Deferred.succeed(isAwaited, undefined)
        assert.include((yield* Fiber.join(waited)).message, "elsewhere")
        assert.isTrue(Exit.isFailure(yield* Fiber.await(told.fiber)))
        assert.strictEqual((yield* conversations.result(id("b"))).text, "two")
        // Whoever comes later is told as well.
        assert.strictEqual((yield* Effect.flip(conversations.result(id("a"))))._tag, "TurnStopped")
        assert.isTrue(Exit.isFailure(yield* Effect.exit(Stream.runDrain(conversations.watchTurn(id("a"))))))
        assert.deepStrictEqual(
          (yield* store.unsealedTurns).map(({ turnId }) => turnId),
          ["a"]
        )
        const { isRetrying, status, queued } = yield* conversations.state(c)
        assert.deepStrictEqual({ isRetrying, status, queued }, { isRetrying: false, status: "idle", queued: [] })
      })
    )
  })

  it.effect("Q4: so does one that a bug of the service's own stops", () =>
    withService(
      {
        scripts: [answer("zero"), answer("two")],
        store: (real) => {
          let calls = 0
          return { resumption: (id) => (calls++ === 0 ? Effect.die(new Error("boom")) : real.resumption(id)) }
        }
      },
      Effect.fnUntraced(function* ({ conversations }) {
        const c = yield* conversations.create({})
        yield* conversations.prompt(c, { prompt: "Hi", turnId: id("first") })
        yield* conversations.result(id("first"))
        for (const turnId of [id("a"), id("b")]) yield* conversations.prompt(c, { prompt: "Hi", turnId })
        assert.include((yield* Effect.flip(conversations.result(id("a")))).message, "stopped")
        assert.strictEqual((yield* conversations.result(id("b"))).text, "two")
        assert.strictEqual((yield* conversations.state(c)).status, "idle")
      })
    )
  )

  it.effect("R3: is one that says something else than it has on disk; nobody is told of a seal that is not there", () =>
    withService(
      {
        scripts: [answer("one")],
        store: (real) => ({
          // As if another version of Holdfast had run this turn further.
          acceptTurn: (turn) =>
            Effect.tap(real.acceptTurn(turn), () => {
              const { acceptedAt: startedAt, conversationId, prompt = "", turnId } = turn
              const opening = Turn.opening({ conversationId, turnId, startedAt, prompt })
              const event: TurnEvent.PersistedEvent = {
                type: "step-discarded",
                conversationId,
                turnId,
                step: 0,
                message: ""
              }
              return real.appendEvents(conversationId, turnId, [...opening, event], 0)
            })
        })
      },
      Effect.fnUntraced(function* ({ conversations, store }) {
        const c = yield* conversations.create({})
        const told = yield* watching(conversations.watch(c, 0))
        yield* conversations.prompt(c, { prompt: "Hi", turnId: id("a") })
        const error = yield* Effect.flip(conversations.result(id("a")))
        assert.strictEqual(error._tag, "TurnStopped")
        yield* Fiber.await(told.fiber)
        assert.notInclude(told.types(), "turn-end")
        assert.strictEqual((yield* store.unsealedTurns).length, 1)
      })
    )
  )

  it.effect("is one that the service goes down with, whatever its disk does", () =>
    withService(
      {
        scripts: [],
        store: () => ({ appendEvents: () => Effect.fail(new StorageError({ message: "The disk is full." })) })
      },
      Effect.fnUntraced(function* ({ conversations, stop, store }) {
        const c = yield* conversations.create({})
        yield* conversations.prompt(c, { prompt: "Hi", turnId: id("a") })
        const waiting = yield* Effect.forkChild(Effect.flip(conversations.result(id("a"))), { startImmediately: true })
        // Nobody moves the clock: a turn that asked its disk once more would ask for ever.
        yield* stop
        assert.strictEqual((yield* Fiber.join(waiting))._tag, "TurnStopped")
        assert.strictEqual((yield* store.unsealedTurns).length, 1)
      })
    )
  )
})

describe("a turn that waits on disk", () => {
  it.effect("X3: and comes back tells its watchers nothing that they have heard", () =>
    withService(
      {
        scripts: [emits(overloaded), throws(overloaded), emits(overloaded), answer("At ", "last")],
        retry: waits(10, 20, 30)
      },
      Effect.fnUntraced(function* ({ conversations }) {
        const c = yield* conversations.create({})
        const all = yield* watching(conversations.watch(c, 0))
        yield* conversations.prompt(c, { prompt: "Hi", turnId: id("a") })
        const one = yield* watching(conversations.watchTurn(id("a")))
        for (const [n, seconds] of [10, 20, 30].entries()) {
          yield* one.until("provider-retry", n + 1)
          yield* TestClock.adjust(Duration.seconds(seconds))
        }
        yield* Fiber.join(one.fiber)
        yield* all.until("turn-end")
        const types = [
          "turn-start",
          "message",
          "step-start",
          "provider-retry",
          "provider-retry",
          "provider-retry",
          "text-delta",
          "text-delta",
          "retry-end",
          "usage",
          "message",
          "turn-end"
        ]
        assert.deepStrictEqual(one.types(), types)
        assert.deepStrictEqual(all.types(), types)
      })
    )
  )

  /** A turn that is parked, and wanted again, while its row is being read. */
  const comingBack = (
    test: (given: {
      readonly conversations: Conversations["Service"]
      readonly c: Ids.ConversationId
      readonly provider: ReturnType<typeof ScriptedProvider.make>
    }) => Effect.Effect<void, unknown, Scope.Scope>
  ) => {
    const isOpen = Deferred.makeUnsafe<void>()
    let isHeld = false
    const held = <A, E>(effect: Effect.Effect<A, E>) =>
      isHeld ? Effect.andThen(Deferred.await(isOpen), effect) : effect
    return withService(
      {
        scripts: [emits(overloaded), answer("late")],
        retry: waits(3_600),
        store: (real) => ({ resumption: (turnId) => held(real.resumption(turnId)) })
      },
      Effect.fnUntraced(function* ({ conversations, provider }) {
        const c = yield* conversations.create({})
        yield* conversations.prompt(c, { prompt: "Hi", turnId: id("a") })
        const told = yield* watching(conversations.watchTurn(id("a")))
        yield* told.until("provider-retry")
        isHeld = true
        yield* TestClock.adjust("1 hour")
        yield* test({ conversations, c, provider })
        yield* Deferred.succeed(isOpen, undefined)
        yield* Fiber.await(told.fiber)
        const end = yield* conversations.result(id("a"))
        assert.strictEqual(end.end.status, "aborted")
        assert.strictEqual(provider.requests.length, 1)
      })
    )
  }

  it.effect("Q5, D8: an abort that comes while it comes back is heard, and no attempt is made", () =>
    comingBack(({ conversations, c }) => Effect.asVoid(asking(conversations.abort(c))))
  )

  it.effect("X4: an abort is answered when the seal is on disk, and so is the same abort again", () => {
    const answers: Array<Effect.Success<ReturnType<typeof asking>>> = []
    return Effect.andThen(
      comingBack(({ conversations, c }) =>
        Effect.gen(function* () {
          for (let n = 0; n < 2; n++) answers.push(yield* asking(conversations.abort(c)))
          yield* TestClock.adjust("1 second")
          for (const answer of answers) assert.isUndefined(answer.pollUnsafe())
        })
      ),
      Effect.sync(() => {
        for (const answer of answers) assert.deepStrictEqual(answer.pollUnsafe(), Exit.succeed(true))
      })
    )
  })

  it.effect("Q5: and is told of in the conversation's state meanwhile", () =>
    comingBack(({ conversations, c }) =>
      Effect.gen(function* () {
        const { turnId, status } = yield* conversations.state(c)
        assert.strictEqual(turnId, "a")
        assert.notStrictEqual(status, "idle")
        yield* asking(conversations.abort(c))
      })
    )
  )

  it.effect("W3: is cancelled by whoever cancels it before its time has been heard", () => {
    const isOpen = Deferred.makeUnsafe<void>()
    let isHeld = false
    return withService(
      {
        scripts: [emits(overloaded), answer("late")],
        retry: waits(3_600),
        store: (real) => ({
          resumption: (id) =>
            isHeld ? Effect.andThen(Deferred.await(isOpen), real.resumption(id)) : real.resumption(id)
        })
      },
      Effect.fnUntraced(function* ({ conversations, provider }) {
        const c = yield* conversations.create({})
        yield* conversations.prompt(c, { prompt: "Hi", turnId: id("a") })
        const told = yield* watching(conversations.watchTurn(id("a")))
        yield* told.until("provider-retry")
        isHeld = true
        yield* TestClock.adjust("1 hour")
        const answer = yield* asking(conversations.steer({ type: "abort-retry", conversationId: c }, "a test"))
        yield* Deferred.succeed(isOpen, undefined)
        yield* Fiber.join(told.fiber)
        assert.isTrue(yield* Fiber.join(answer))
        const end = told.seen.find(({ event }) => event.type === "retry-end")?.event
        assert.isTrue(end?.type === "retry-end" && end.finalError === "Retry cancelled")
        assert.strictEqual(provider.requests.length, 1)
      })
    )
  })
})

describe("a conversation", () => {
  it.effect(
    "A4: runs a turn that is on disk though its acceptance was never heard of, when it is handed in again",
    () => {
      let isLost = true
      return withService(
        {
          scripts: [answer("one")],
          store: (real) => ({
            // As where the database goes away between the commit and the answer.
            acceptTurn: (turn, opening) =>
              Effect.flatMap(real.acceptTurn(turn, opening), (acceptance) => {
                if (!isLost) return Effect.succeed(acceptance)
                isLost = false
                return Effect.fail(new StorageError({ message: "The connection was lost." }))
              })
          })
        },
        Effect.fnUntraced(function* ({ conversations, provider }) {
          const c = yield* conversations.create({})
          const turn = { prompt: "Hi", turnId: id("a") }
          assert.strictEqual((yield* Effect.flip(conversations.prompt(c, turn)))._tag, "StorageError")
          for (let n = 0; n < 2; n++) yield* conversations.prompt(c, turn)
          assert.strictEqual((yield* conversations.result(id("a"))).text, "one")
          yield* conversations.prompt(c, turn)
          assert.strictEqual(provider.requests.length, 1)
          assert.deepStrictEqual(
            (yield* conversations.messages(c)).map(({ role }) => role),
            ["user", "assistant"]
          )
        })
      )
    }
  )

  it.effect(
    "A2: begins its first turn with what was accepted, and reads the disk for those that have a history",
    () => {
      const read: Array<string> = []
      return withService(
        {
          scripts: [answer("one"), answer("two")],
          store: (real) => ({
            resumption: (turnId) =>
              Effect.andThen(
                Effect.sync(() => read.push(turnId)),
                real.resumption(turnId)
              )
          })
        },
        Effect.fnUntraced(function* ({ conversations, provider }) {
          const c = yield* conversations.create({})
          for (const turnId of [id("a"), id("b")]) {
            yield* conversations.prompt(c, { prompt: `This is ${turnId}`, turnId })
            yield* conversations.result(turnId)
          }
          assert.deepStrictEqual(read, ["b"])
          assert.deepStrictEqual(
            provider.requests.map(({ messages }) => messages.length),
            [1, 3]
          )
        })
      )
    }
  )

  it.effect(
    "A2: is written with what a turn says first where that can run at once, and not before others have ended",
    () => {
      const opened: Array<string> = []
      const begun: Array<string> = []
      const reached = Deferred.makeUnsafe<void>()
      return withService(
        {
          scripts: [hangs(reached), answer("two"), answer("three")],
          store: (real) => ({
            acceptTurn: (turn, opening) => {
              if (opening !== undefined) opened.push(turn.turnId)
              return real.acceptTurn(turn, opening)
            },
            appendEvents: (conversationId, turnId, events, position) => {
              if (position === 0) begun.push(turnId)
              return real.appendEvents(conversationId, turnId, events, position)
            }
          })
        },
        Effect.fnUntraced(function* ({ conversations, store }) {
          const c = yield* conversations.create({})
          const told = yield* watching(conversations.watch(c, 0))
          yield* conversations.prompt(c, { prompt: "One", turnId: id("a") })
          yield* Deferred.await(reached)
          yield* conversations.prompt(c, { prompt: "Two", turnId: id("b") })
          yield* conversations.abort(c)
          yield* conversations.result(id("b"))
          yield* conversations.prompt(c, { prompt: "Three", turnId: id("c") })
          yield* conversations.result(id("c"))
          yield* told.until("turn-end", 3)
          assert.deepStrictEqual([opened, begun], [["a", "c"], ["b"]])
          const persisted = told.seen.filter((frame) => frame.id !== undefined)
          assert.deepStrictEqual(
            persisted.map((frame) => frame.id),
            persisted.map((_, i) => i + 1)
          )
          const turns = persisted.map(({ event }) => event.turnId)
          assert.deepStrictEqual(turns, turns.toSorted())
          const stored = yield* Stream.runCollect(store.events(c, 0))
          assert.deepStrictEqual(
            persisted.map(({ json }) => json),
            stored.map(({ json }) => json)
          )
        })
      )
    }
  )

  it.effect("P15: switched off while a prompt is on its way is switched off for that prompt", () => {
    const read = Deferred.makeUnsafe<void>()
    const isSwitched = Deferred.makeUnsafe<void>()
    let isFirst = true
    return withService(
      {
        scripts: [emits(overloaded)],
        store: (real) => ({
          conversation: (c) =>
            Effect.tap(real.conversation(c), () => {
              if (!isFirst) return Effect.void
              isFirst = false
              return Effect.andThen(Deferred.succeed(read, undefined), Deferred.await(isSwitched))
            })
        })
      },
      Effect.fnUntraced(function* ({ conversations }) {
        const c = yield* conversations.create({})
        const prompt = yield* Effect.forkChild(conversations.prompt(c, { prompt: "Hi", turnId: id("a") }))
        yield* Deferred.await(read)
        yield* conversations.setAutoRetry(c, false)
        yield* Deferred.succeed(isSwitched, undefined)
        yield* Fiber.join(prompt)
        assert.isFalse((yield* conversations.state(c)).autoRetryEnabled)
        const { end } = yield* conversations.result(id("a"))
        assert.strictEqual(end.status, "failed")
        assert.strictEqual(end.attempts, 1)
      })
    )
  })

  it.effect("P15: switched on and off in a turn, each failure goes by what holds then", () =>
    withService(
      { scripts: [emits(overloaded), emits(overloaded), answer("never")], retry: waits(1, 1, 1) },
      Effect.fnUntraced(function* ({ conversations }) {
        const c = yield* conversations.create({})
        yield* conversations.prompt(c, { prompt: "Hi", turnId: id("a") })
        const told = yield* watching(conversations.watchTurn(id("a")))
        yield* told.until("provider-retry")
        yield* conversations.setAutoRetry(c, false)
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(told.fiber)
        assert.strictEqual(told.types().filter((type) => type === "provider-retry").length, 1)
        assert.strictEqual((yield* conversations.result(id("a"))).end.attempts, 2)
      })
    )
  )

  it.effect("M1: the same manual retry again is the same turn, whatever has happened since", () =>
    withService(
      { scripts: [emits(unauthorized), answer("whole"), answer("next")] },
      Effect.fnUntraced(function* ({ conversations, provider }) {
        const c = yield* conversations.create({})
        yield* conversations.prompt(c, { prompt: "Hi", turnId: id("a") })
        yield* conversations.result(id("a"))
        yield* conversations.retry(c, { turnId: id("r") })
        yield* conversations.prompt(c, { prompt: "And?", turnId: id("b") })
        yield* conversations.result(id("b"))
        assert.strictEqual(yield* conversations.retry(c, { turnId: id("r") }), id("r"))
        assert.strictEqual((yield* conversations.result(id("r"))).text, "whole")
        assert.strictEqual(provider.requests.length, 3)
        assert.strictEqual((yield* Effect.flip(conversations.retry(c, {})))._tag, "TurnConflict")
      })
    )
  )

  it.effect("P15: is not retrying any more once the attempt has begun", () =>
    withService(
      { scripts: [emits(overloaded), hangs(Deferred.makeUnsafe(), text(""))], retry: waits(2) },
      Effect.fnUntraced(function* ({ conversations, provider }) {
        const c = yield* conversations.create({})
        yield* conversations.prompt(c, { prompt: "Hi", turnId: id("a") })
        const told = yield* watching(conversations.watchTurn(id("a")))
        yield* told.until("provider-retry")
        assert.strictEqual((yield* conversations.state(c)).status, "retrying")
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(provider.requests.length, 2)
        const state = yield* conversations.state(c)
        assert.deepStrictEqual([state.status, state.isRetrying, state.retryAt], ["running", false, undefined])
      })
    )
  )
})

describe("a conversation with settings of its own", () => {
  it.effect("P3: is refused where they will not do, with what was found and what was expected, all of it at once", () =>
    withService(
      { scripts: [] },
      Effect.fnUntraced(function* ({ conversations }) {
        const retry = { profil: "overnight", budget: "8h", schedule: { type: "steps", delays: ["5 seconds", 7] } }
        const { message } = yield* Effect.flip(conversations.create({ retry }))
        assert.match(message, /^retry\.profil: unknown key\. Did you mean "profile"\? Known here: profile, enabled, /)
        for (const part of [
          'retry.schedule.delays[1]: found 7; expected a string such as "30 minutes" or "100 millis".',
          'retry.budget: found "8h"; expected a duration such as "30 minutes", "8 hours" or "100 millis". Did you mean "8 hours"?'
        ]) {
          assert.include(message, part)
        }
      })
    )
  )

  it.effect("P3: is told of the first that is wrong, and how much more, where there is more than anybody reads", () =>
    withService(
      { scripts: [] },
      Effect.fnUntraced(function* ({ conversations }) {
        const delays = Array.from({ length: 1_000 }, () => "soon")
        const { message } = yield* Effect.flip(conversations.create({ retry: { schedule: { type: "steps", delays } } }))
        assert.match(message, /^retry\.schedule\.delays\[0\]: found "soon"; /)
        assert.match(message, /retry\.schedule\.delays\[19\]: [^[]* And 980 more\.$/)
      })
    )
  )

  it.effect("P3: is refused unread where they are longer than settings are", () =>
    withService(
      { scripts: [] },
      Effect.fnUntraced(function* ({ conversations }) {
        const delays = Array.from({ length: 50_000 }, () => "5 seconds")
        const { message } = yield* Effect.flip(conversations.create({ retry: { schedule: { type: "steps", delays } } }))
        assert.strictEqual(message, "retry: it has 600040 characters as JSON; expected 65536 at most.")
      })
    )
  )

  it.effect(
    "a start that cannot read what was left unfinished refuses calls with the reason, and takes them once it can",
    () => {
      const damaged = new StorageError({ message: "Could not read the turns: the file is damaged." })
      let isDamaged = true
      return withService(
        {
          scripts: [],
          store: (real) => ({
            unsealedTurns: Effect.suspend(() => (isDamaged ? Effect.fail(damaged) : real.unsealedTurns))
          })
        },
        Effect.fnUntraced(function* ({ conversations }) {
          const id = yield* conversations.create({})
          for (const call of [
            conversations.prompt(id, { prompt: "Hi" }),
            conversations.state(id),
            conversations.messages(id),
            conversations.abort(id)
          ]) {
            const asked = yield* Effect.forkChild(Effect.exit(Effect.asVoid<unknown, unknown, never>(call)), {
              startImmediately: true
            })
            yield* TestClock.adjust("7999 millis")
            assert.isUndefined(asked.pollUnsafe())
            yield* TestClock.adjust("1 milli")
            const exit = yield* Fiber.join(asked)
            assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "it was taken", damaged.message)
          }
          isDamaged = false
          yield* TestClock.adjust("5 seconds")
          assert.strictEqual((yield* conversations.state(id)).status, "idle")
        })
      )
    }
  )
})
