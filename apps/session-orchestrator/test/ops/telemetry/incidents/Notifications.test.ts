import { Timer } from "@holdfast/journal"
import { describe, expect, it } from "@effect/vitest"
import { Observer } from "@holdfast/kernel"
import { Ids } from "@holdfast/wire"
import { Duration, Effect, Logger, Metric } from "effect"
import { TestClock } from "effect/testing"
import * as Notifications from "../../../../src/ops/telemetry/incidents/Notifications.ts"
import * as Observations from "../Observations.ts"
import { SharedMemory } from "./SharedMemory.ts"

const { conversationId } = Observations.place

/** Tests the notifications of one runner. */
const make = Effect.fnUntraced(function* (memory: SharedMemory = new SharedMemory(), runner = "r1") {
  const { keep, listeners } = yield* Notifications.make({
    after: Duration.minutes(5),
    isKept: true,
    timer: yield* Timer.Timer,
    redact: (text) => text
  })
  yield* keep({ storage: memory.storage, add: () => Effect.void, receivers: { names: ["webhook"] }, runner })
  const told = () => memory.notices().map(({ at, type }) => `${type} ${Date.parse(String(at))}`)
  const open = Effect.map(Metric.value(Notifications.openIncidents), ({ value }) => value)
  /** A turn of a conversation waits for half an hour. */
  const waits = (at: number, id: Ids.ConversationId = conversationId) =>
    listeners.decision?.(
      Observations.decision({
        conversationId: id,
        at,
        directive: { _tag: "Retry", attempt: 0, delayMs: 1_800_000, retryAt: at + 1_800_000 }
      })
    )
  const moves = (at: number, id: Ids.ConversationId = conversationId) =>
    Observer.moved(listeners, { conversationId: id, at })
  return { listeners, moves, open, told, waits }
})

const MINUTE = 60_000

describe("the alarm of notifications", () => {
  it.effect("is one timer for all inputs, set to the next due time, and gone with the scope", () =>
    Effect.gen(function* () {
      const timer = yield* Timer.Timer
      const set = new Set<number>()
      const dues: Array<number> = []
      const watched: Timer.Timer["Service"] = {
        ...timer,
        at: (due, ring) => {
          dues.push(due)
          set.add(due)
          const silence = timer.at(due, (isDue) => {
            set.delete(due)
            ring(isDue)
          })
          return () => {
            set.delete(due)
            silence()
          }
        }
      }
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { listeners } = yield* Notifications.make({
            after: Duration.minutes(5),
            isKept: false,
            timer: watched,
            redact: (text) => text
          })
          for (const at of [0, MINUTE, 2 * MINUTE]) {
            const directive = { _tag: "Retry" as const, attempt: 0, delayMs: 1_800_000, retryAt: at + 1_800_000 }
            const target = { provider: "openai", model: `m${at}` }
            const id = Ids.ConversationId.make(`c${at}`)
            listeners.decision?.(Observations.decision({ conversationId: id, target, at, directive }))
            expect(set.size).toBe(1)
            yield* TestClock.adjust(MINUTE)
          }
          yield* TestClock.adjust(2.5 * MINUTE)
          expect(yield* Effect.map(Metric.value(Notifications.openIncidents), ({ value }) => value)).toBe(1)
          expect(Array.from(set)).toEqual([6 * MINUTE])
        })
      )
      expect(set.size).toBe(0)
      expect(dues[0]).toBe(5 * MINUTE)
    }).pipe(Effect.provide(Timer.layer))
  )
})

describe("notifications of one of several runners", () => {
  it.effect("rule X12: an incident whose turns have all moved to other runners is not reported", () =>
    Effect.gen(function* () {
      const { moves, open, told, waits } = yield* make()
      waits(0)
      yield* TestClock.adjust(MINUTE)
      moves(MINUTE)
      yield* TestClock.adjust("1 hour")
      expect(told()).toEqual([])
      expect(yield* open).toBe(0)
    }).pipe(Effect.provide(Timer.layer))
  )

  it.effect(
    "rule X12: a reported incident whose turns have all moved is not open, and its end is reported with the next answer",
    () =>
      Effect.gen(function* () {
        const { listeners, moves, open, told, waits } = yield* make()
        const other = Ids.ConversationId.make("c2")
        waits(0)
        waits(0, other)
        yield* TestClock.adjust(6 * MINUTE)
        moves(6 * MINUTE, other)
        expect(yield* open).toBe(1)
        moves(6 * MINUTE)
        expect(yield* open).toBe(0)
        // One of them returns and waits here again.
        waits(7 * MINUTE)
        expect(yield* open).toBe(1)
        moves(8 * MINUTE)
        yield* TestClock.adjust(3 * MINUTE)
        listeners.attempt?.(Observations.attempt({ outcome: { ...Observations.completed, endedAt: 9 * MINUTE } }))
        yield* TestClock.adjust(1)
        expect(told()).toEqual([`incident-began ${5 * MINUTE}`, `incident-ended ${9 * MINUTE}`])
        expect(yield* open).toBe(0)
      }).pipe(Effect.provide(Timer.layer))
  )

  it.effect(
    "rule X12: an announced incident whose turn moved to another runner and was aborted there is given up",
    () =>
      Effect.gen(function* () {
        const memory = new SharedMemory()
        const first = yield* make(memory, "r1")
        const second = yield* make(memory, "r2")
        first.waits(0)
        yield* TestClock.adjust(6 * MINUTE)
        first.moves(6 * MINUTE)
        yield* TestClock.adjust(MINUTE)
        second.listeners.seal?.(Observations.seal({ status: "aborted", endedAt: 7 * MINUTE }))
        yield* TestClock.adjust("1 hour")
        expect(first.told()[0]).toBe(`incident-began ${5 * MINUTE}`)
        expect(memory.notices()[1]).toMatchObject({ type: "incident-gave-up", aborted: 1 })
      }).pipe(Effect.scoped, Effect.provide(Timer.layer))
  )

  it.effect("rule X12: a notice of quiet hours is due at their end", () =>
    Effect.gen(function* () {
      const memory = new SharedMemory()
      const begin = new Date(2031, 3, 2, 23, 0).getTime()
      yield* TestClock.setTime(begin)
      const { keep, listeners } = yield* Notifications.make({
        after: Duration.minutes(5),
        isKept: true,
        timer: yield* Timer.Timer,
        redact: String
      })
      const time = (hours: number) => ({ hours, minutes: 0 })
      const quiet = { from: time(22), to: time(7) }
      yield* keep({
        storage: memory.storage,
        add: () => Effect.void,
        receivers: { names: ["webhook"], quiet },
        runner: "service"
      })
      const directive = { _tag: "Retry" as const, attempt: 0, delayMs: 1_800_000, retryAt: begin + 1_800_000 }
      listeners.decision?.(Observations.decision({ at: begin, directive }))
      yield* TestClock.adjust(6 * MINUTE)
      expect(memory.messages.map(({ dueAt }) => dueAt)).toEqual([new Date(2031, 3, 3, 7, 0).getTime()])
    }).pipe(Effect.scoped, Effect.provide(Timer.layer))
  )

  it.effect(
    "rule X12: incidents that cannot be recorded are logged once, recorded later, and logged once more if that fails again",
    () => {
      const said: Array<string> = []
      return Effect.gen(function* () {
        const memory = new SharedMemory()
        const { told, waits } = yield* make(memory)
        memory.isAway = true
        waits(0)
        yield* TestClock.adjust(6 * MINUTE)
        expect([said.length, memory.writes]).toEqual([1, 0])
        expect(said[0]).toMatch(/^Incidents are not recorded for now\. /)
        memory.isAway = false
        yield* TestClock.adjust(MINUTE)
        // The begin is that of its time.
        expect(told()).toEqual([`incident-began ${5 * MINUTE}`])
        memory.isAway = true
        yield* TestClock.adjust(MINUTE)
        expect(said.length).toBe(2)
      }).pipe(
        Effect.scoped,
        Effect.provide(Timer.layer),
        Effect.provide(
          Logger.layer([
            Logger.make(({ logLevel, message }) => {
              if (logLevel === "Error") said.push(String(message))
            })
          ])
        )
      )
    }
  )
})
