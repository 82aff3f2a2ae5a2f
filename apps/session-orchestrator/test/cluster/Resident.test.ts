import { GivenRecords } from "@holdfast/kernel/testing"
import { Timer } from "@holdfast/journal"
import { describe, expect, it } from "@effect/vitest"
import type { Provider, Toolbox } from "@holdfast/kernel"
import { Gate } from "@holdfast/policy"
import { Clock, Duration, Effect, Exit, Fiber, Latch, Layer, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { type Alarm, AlarmClock } from "../../src/cluster/AlarmClock.ts"
import * as Resident from "../../src/cluster/Resident.ts"
import { Residents } from "../../src/cluster/Residents.ts"
import { Defaults } from "../../src/conversation/Defaults.ts"
import * as Gates from "../../src/gate/Gates.ts"
import { Providers } from "../../src/conversation/Providers.ts"
import { answers, full } from "../gate/GateStates.ts"
import { Tools } from "../../src/conversation/Tools.ts"
import { Journal } from "../../src/storage/EventJournal.ts"
import type * as SqlStore from "../../src/storage/sql/SqlStore.ts"
import * as MemoryStore from "../storage/MemoryStore.ts"
import { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "../storage/NumberedData.ts"

const id = NumberedData.conversationId(1)
const turnId = NumberedData.turnId(1)

const MINUTE = 60_000

/** A runner with one conversation; the test controls its provider's answers and the certainty of its lock. */
const make = Effect.gen(function* () {
  const store = yield* Store
  const journal = yield* Journal
  yield* store.createConversation(NumberedData.conversation(1, { model: "scripted/m" }))
  const sure = Latch.makeUnsafe(true)
  const slice = Latch.makeUnsafe(true)
  const state = {
    asked: 0,
    isUp: true,
    busy: 0,
    callsTool: false,
    hasTools: true,
    ran: 0,
    roused: 0,
    approvals: 0,
    confirms: false
  }
  const clock = yield* Clock.Clock
  const alarms = new AlarmClock({
    timer: yield* Timer.Timer,
    now: () => clock.currentTimeMillisUnsafe(),
    shardOf: () => 1,
    owns: () => true,
    rouse: () => void state.roused++,
    moved: () => {}
  })
  const overloaded = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 } as const
  const provider: Provider.Provider["Service"] = {
    stream: () =>
      Stream.suspend((): ReturnType<Provider.Provider["Service"]["stream"]> => {
        state.asked++
        if (state.callsTool) {
          state.callsTool = false
          return Stream.make(
            { type: "tool-call", toolCallId: "1", toolName: "look", input: {} } as const,
            { type: "finish", finishReason: "tool-calls" } as const
          )
        }
        return state.isUp
          ? Stream.make(
              { type: "text-delta", delta: "Hello" } as const,
              { type: "finish", finishReason: "stop" } as const
            )
          : Stream.make({ type: "error", failure: overloaded } as const)
      })
  }
  const toolbox: Toolbox.Toolbox["Service"] = {
    get definitions() {
      const look = { name: "look", inputSchema: { type: "object" } }
      return [state.confirms ? { ...look, confirmWithinMs: 60_000 } : look]
    },
    run: (_call, isApproved) =>
      Effect.sync(() => {
        if (isApproved === true) state.approvals++
        return { output: ++state.ran, isError: false }
      })
  }
  const resident = Resident.make({
    id,
    alarms,
    ownership: { isSure: () => sure.isOpen(), sure: sure.await },
    busy: () => void state.busy++,
    slice: slice.await
  }).pipe(
    Effect.provideService(Providers, {
      get: () => provider,
      names: ["scripted"],
      unusable: () => undefined,
      credentials: {}
    }),
    Effect.provideService(Tools, {
      missing: () => [],
      isComplete: Effect.void,
      names: [],
      only: () => {
        throw new Error("no conversation chooses its tools")
      },
      toolbox: Effect.suspend(() => (state.hasTools ? Effect.succeed(toolbox) : Effect.never))
    }),
    Effect.provideService(Defaults, {
      model: { provider: "scripted", model: "m" },
      models: {},
      retry: { schedule: { type: "steps", delays: [Duration.minutes(1)] } }
    })
  )
  const gatekeeper = (yield* Gates.Gates).of({ target: { provider: "scripted", model: "m" } })
  if (gatekeeper === undefined) throw new Error("there is no gate")
  /** Its turn has failed, and waits; the conversation is in no memory any more. */
  const left = Effect.gen(function* () {
    state.isUp = false
    const { conversations, untilQuiet } = yield* resident
    yield* conversations.prompt(id, { prompt: "Hello?", turnId })
    yield* untilQuiet
  }).pipe(Effect.scoped)
  return { alarms, gatekeeper, journal, left, resident, slice, state, store, sure }
})

const test = (
  title: string,
  body: Effect.Effect<void, unknown, SqlStore.Storage | Gates.Gates | Timer.Timer | Scope.Scope>
) => it.effect(title, () => body.pipe(Effect.provide(services)))

const services = Layer.mergeAll(
  MemoryStore.layer,
  Layer.provideMerge(
    Gates.layer(() => ({ baseUrl: "http://scripted", credential: undefined })),
    Timer.layer
  )
)

/** Lets everything happen that can at this time. */
const settle = TestClock.adjust(0).pipe(Effect.repeat({ times: 100 }))

describe("Resident", () => {
  test(
    "R3: `untilQuiet` reads the database once while a turn runs that has waited here before",
    Effect.gen(function* () {
      const store = yield* Store
      let asked = 0
      const counting = Store.of({
        ...store,
        unsealedTurnsOf: (id) => Effect.suspend(() => (asked++, store.unsealedTurnsOf(id)))
      })
      const { left, resident, state, sure } = yield* make
      yield* left
      const { conversations, untilQuiet } = yield* resident.pipe(Effect.provideService(Store, counting))
      yield* settle
      yield* sure.close
      state.isUp = true
      yield* Effect.forkScoped(conversations.steer({ type: "retry-now", conversationId: id }, "a test"))
      yield* settle
      asked = 0
      const quiet = yield* Effect.forkScoped(untilQuiet)
      yield* settle
      expect([asked, quiet.pollUnsafe()]).toEqual([1, undefined])
      yield* sure.open
      yield* Fiber.join(quiet)
      expect(asked).toBe(2)
      expect(state.asked).toBe(2)
    })
  )

  test(
    "the turns of a runner are those in memory and those that its alarm clock looks after, each counted once",
    Effect.gen(function* () {
      const { alarms, resident, state } = yield* make
      state.isUp = false
      const residents = new Residents()
      const counts = residents.counts(alarms)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const here = yield* resident
          yield* residents.add(here)
          yield* here.conversations.prompt(id, { prompt: "Hello?", turnId })
          yield* here.conversations.prompt(id, { prompt: "And?", turnId: NumberedData.turnId(2) })
          yield* settle
          alarms.cover([1], [[NumberedData.conversationId(2), { at: MINUTE, isWaiting: false, queued: 3 }]])
          expect(yield* counts).toEqual({ running: 1, retrying: 1, queued: 4 })
        })
      )
      // It has left memory, and is looked after by the alarm clock.
      expect(yield* counts).toEqual({ running: 1, retrying: 1, queued: 4 })
    })
  )

  test(
    "R6: a conversation whose turn runs stops it at once when it leaves memory",
    Effect.gen(function* () {
      const { alarms, resident, slice, sure } = yield* make
      yield* slice.close
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { conversations } = yield* resident
          yield* sure.close
          yield* conversations.prompt(id, { prompt: "Hello?", turnId })
          yield* settle
        })
      )
      expect(alarms.counts.running).toBe(1)
    })
  )

  test(
    "R2: the end of a wait is not recorded while this runner is not sure that it is the owner",
    Effect.gen(function* () {
      const { alarms, journal, left, resident, sure } = yield* make
      yield* left
      yield* TestClock.adjust(MINUTE)
      expect(alarms.counts.retrying).toBe(1)
      const before = (yield* journal.load(turnId)).length
      yield* sure.close
      yield* resident
      yield* TestClock.adjust("1 second")
      yield* settle
      expect((yield* journal.load(turnId)).length).toBe(before)
      yield* sure.open
      yield* TestClock.adjust("1 second")
      yield* settle
      expect((yield* journal.load(turnId)).length).toBeGreaterThan(before)
    })
  )

  test(
    "R6: a conversation that leaves memory waits for its slice, and its turn is looked after from the beginning",
    Effect.gen(function* () {
      const { alarms, left, slice, state } = yield* make
      yield* slice.close
      const leaving = yield* Effect.forkScoped(left)
      yield* settle
      expect([alarms.counts.retrying, leaving.pollUnsafe()]).toEqual([1, undefined])
      yield* TestClock.adjust(MINUTE)
      // Its turn is due, and is called back here alone: the resident has let go of it.
      expect([state.roused, state.asked]).toEqual([1, 1])
      yield* slice.open
      yield* Fiber.join(leaving)
    })
  )

  test(
    "rule X6: asks no provider while it is not sure that this runner is the owner",
    Effect.gen(function* () {
      const { resident, state, sure } = yield* make
      const { conversations } = yield* resident
      yield* sure.close
      yield* conversations.prompt(id, { prompt: "Hello?", turnId })
      const ended = yield* Effect.forkScoped(conversations.result(turnId))
      yield* settle
      expect(state.asked).toBe(0)
      yield* sure.open
      expect((yield* Fiber.join(ended)).end.status).toBe("completed")
      expect(state.asked).toBe(1)
    })
  )

  test(
    "rule X6: records nothing, and shows nothing, of an answer while it is not sure",
    Effect.gen(function* () {
      const { journal, resident, state, sure, store } = yield* make
      const { conversations } = yield* resident
      const shown: Array<string> = []
      yield* conversations.watch(id, 0).pipe(
        Stream.runForEach(({ event }) => Effect.sync(() => shown.push(event.type))),
        Effect.forkScoped
      )
      // It is stopped between its look at the lock and what comes of its request.
      state.isUp = false
      yield* sure.close
      yield* conversations.prompt(id, { prompt: "Hello?", turnId })
      yield* settle
      yield* sure.open
      yield* sure.close
      yield* settle
      expect(yield* journal.load(turnId)).toEqual([])
      expect(shown).not.toContain("provider-retry")
      expect((yield* store.unsealedTurns).length).toBe(1)
    })
  )

  test(
    "rule X8: runs no tool while its ownership is not sure: the next owner may have recorded already that the outcome is unknown",
    Effect.gen(function* () {
      const { journal, resident, state, sure } = yield* make
      state.callsTool = true
      // It is stopped when it is on record that the call begins.
      const appendAll: Journal["Service"]["appendAll"] = (appends) =>
        Effect.tap(journal.appendAll(appends), () =>
          appends.some(({ records }) => records.some(({ name }) => name.endsWith("/begun"))) ? sure.close : Effect.void
        )
      const { conversations } = yield* Effect.provideService(resident, Journal, { ...journal, appendAll })
      yield* conversations.prompt(id, { prompt: "Hello?", turnId })
      yield* settle
      expect((yield* journal.load(turnId)).at(-1)?.name).toBe("step/0/tool/0/begun")
      expect(state.ran).toBe(0)
      yield* sure.open
      expect((yield* conversations.result(turnId)).text).toBe("Hello")
      expect(state.ran).toBe(1)
    })
  )

  test(
    "a call that a person has approved reaches its tool as an approved one",
    Effect.gen(function* () {
      const { resident, state } = yield* make
      state.callsTool = true
      state.confirms = true
      const { conversations } = yield* resident
      yield* conversations.prompt(id, { prompt: "Hello?", turnId })
      yield* settle
      const command = { type: "answer-tool", conversationId: id, toolCallId: "1", approve: true } as const
      expect(yield* conversations.steer(command, "a test")).toBe(true)
      expect((yield* conversations.result(turnId)).text).toBe("Hello")
      expect(state.approvals).toBe(1)
    })
  )

  test(
    "R3: when its turn waits on disk it may go, and leaves the alarm clock to call it back at that time",
    Effect.gen(function* () {
      const { alarms, resident, state } = yield* make
      state.isUp = false
      const scope = yield* Scope.make()
      const { conversations, untilQuiet } = yield* Scope.provide(resident, scope)
      yield* conversations.prompt(id, { prompt: "Hello?", turnId })
      yield* conversations.prompt(id, { prompt: "And then?", turnId: NumberedData.turnId(2) })
      yield* untilQuiet
      yield* Scope.close(scope, Exit.void)
      const expected: Alarm = { at: MINUTE, isWaiting: true, queued: 1 }
      expect(alarms.find(id)).toMatchObject(expected)

      state.isUp = true
      yield* TestClock.adjust(MINUTE)
      const next = yield* resident
      expect(alarms.find(id)).toBeUndefined()
      yield* TestClock.adjust(1)
      yield* next.conversations.result(NumberedData.turnId(2))
      expect((yield* next.conversations.messages(id)).map(NumberedData.textOf)).toEqual([
        "Hello?",
        "Hello",
        "And then?",
        "Hello"
      ])
      expect(state.asked).toBe(3)
    })
  )

  test(
    "R3: a turn that is cut off in an attempt is called back at once; a conversation that is done is not",
    Effect.gen(function* () {
      const { alarms, resident, sure } = yield* make
      const scope = yield* Scope.make()
      const { conversations } = yield* Scope.provide(resident, scope)
      yield* sure.close
      yield* conversations.prompt(id, { prompt: "Hello?", turnId })
      yield* settle
      yield* Scope.close(scope, Exit.void)
      expect(alarms.find(id)).toMatchObject({ at: 0, isWaiting: false, queued: 0 })

      yield* sure.open
      const last = yield* Scope.make()
      const next = yield* Scope.provide(resident, last)
      yield* next.untilQuiet
      yield* Scope.close(last, Exit.void)
      expect(alarms.find(id)).toBeUndefined()
    })
  )

  test(
    "R4: a request for a turn with a delayed start does not start it",
    Effect.gen(function* () {
      const { alarms, journal, resident, state, store } = yield* make
      yield* store.acceptTurn(NumberedData.turn(1, 1))
      yield* journal.append(turnId, 0, GivenRecords.failed(0, 0))
      yield* journal.append(turnId, 1, GivenRecords.retry(0, MINUTE, MINUTE))
      yield* TestClock.adjust(2 * MINUTE)
      alarms.cover([1], [[id, { at: 2 * MINUTE + 700, isWaiting: true, queued: 0 }]])
      const { conversations } = yield* resident
      expect((yield* conversations.state(id)).status).toBe("retrying")
      yield* TestClock.adjust(699)
      yield* settle
      expect(state.asked).toBe(0)
      yield* TestClock.adjust(1)
      yield* conversations.result(turnId)
      expect(state.asked).toBe(1)
      expect(state.busy).toBeGreaterThan(0)
    })
  )

  test(
    "rule X5: a turn that is not in memory is roused when its endpoint answers, and calls at once",
    Effect.gen(function* () {
      const { alarms, gatekeeper, left, resident, state } = yield* make
      yield* left
      state.isUp = true
      answers(gatekeeper)
      expect(state.roused).toBe(1)
      const { conversations } = yield* resident
      const { end } = yield* conversations.result(turnId)
      expect(end).toMatchObject({ status: "completed", endedAt: 0 })
      expect(state.asked).toBe(2)
      expect(alarms.find(id)).toBeUndefined()
      expect(gatekeeper.isIdle).toBe(true)
    })
  )

  test(
    "K3: what was let in and leaves memory before it calls gives its ticket back",
    Effect.gen(function* () {
      const { alarms, gatekeeper, left, resident, state } = yield* make
      yield* left
      state.hasTools = false
      answers(gatekeeper)
      yield* Effect.scoped(Effect.andThen(resident, settle))
      expect(alarms.find(id)).toMatchObject({ at: 0 })
      expect(gatekeeper.isIdle).toBe(true)
      expect(state.asked).toBe(1)
    })
  )

  test(
    "K2: a turn that its gate holds stays in memory, and is held no longer than that",
    Effect.gen(function* () {
      const { gatekeeper, resident, state } = yield* make
      state.isUp = false
      full(gatekeeper, 1) // an answer that does not end
      const { conversations, untilQuiet } = yield* resident
      yield* conversations.prompt(id, { prompt: "Hello?", turnId })
      yield* untilQuiet
      const { busy } = state
      yield* TestClock.adjust(MINUTE)
      yield* settle
      expect(state.busy).toBe(busy + 1)
      const quiet = yield* Effect.forkScoped(untilQuiet)
      yield* TestClock.adjust(Gate.HOLD_LIMIT_MS - 1)
      yield* settle
      expect(quiet.pollUnsafe()).toBeUndefined()
      expect(state.asked).toBe(1)
      yield* TestClock.adjust(1)
      yield* settle
      expect(state.asked).toBe(2)
    })
  )
})
