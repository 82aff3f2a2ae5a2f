import { Timer } from "@holdfast/journal"
import { describe, expect, it } from "@effect/vitest"
import { Observer } from "@holdfast/kernel"
import { Ids } from "@holdfast/wire"
import { Duration, Effect, Logger, Metric, PlatformError } from "effect"
import { TestClock } from "effect/testing"
import * as IncidentFile from "../../../src/telemetry/incidents/IncidentFile.ts"
import * as Notifications from "../../../src/telemetry/incidents/Notifications.ts"
import * as Observations from "../Observations.ts"

const { conversationId } = Observations.place

/** Tests the notifications of one runner. */
const make = Effect.fnUntraced(function* (file: IncidentFile.IncidentFile = IncidentFile.none) {
  const told: Array<string> = []
  const listeners = yield* Notifications.make({
    after: Duration.minutes(5),
    receivers: new Map([["webhook", ({ at, type }) => Effect.sync(() => void told.push(`${type} ${at}`))]]),
    file,
    timer: yield* Timer.Timer,
    redact: (text) => text
  })
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
      const told: Array<string> = []
      yield* Effect.scoped(
        Effect.gen(function* () {
          const listeners = yield* Notifications.make({
            after: Duration.minutes(5),
            receivers: new Map([["webhook", ({ type }) => Effect.sync(() => void told.push(type))]]),
            file: IncidentFile.none,
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
          expect(told).toEqual(["incident-began"])
          expect(Array.from(set)).toEqual([6 * MINUTE])
        })
      )
      expect(set.size).toBe(0)
      expect(dues[0]).toBe(5 * MINUTE)
    }).pipe(Effect.provide(Timer.layer))
  )
})

describe("notifications of one of several runners", () => {
  it.effect("X12: an incident whose turns have all moved to other runners is not reported", () =>
    Effect.gen(function* () {
      const { moves, open, told, waits } = yield* make()
      waits(0)
      yield* TestClock.adjust(MINUTE)
      moves(MINUTE)
      yield* TestClock.adjust("1 hour")
      expect(told).toEqual([])
      expect(yield* open).toBe(0)
    }).pipe(Effect.provide(Timer.layer))
  )

  it.effect(
    "X12: a reported incident whose turns have all moved is not open, and its end is reported with the next answer",
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
        expect(told).toEqual([`incident-began ${5 * MINUTE}`, `incident-ended ${9 * MINUTE}`])
        expect(yield* open).toBe(0)
      }).pipe(Effect.provide(Timer.layer))
  )

  it.effect(
    "X12: incidents that cannot be saved are logged once, saved again later, and logged once more if that fails again",
    () => {
      const said: Array<string> = []
      return Effect.gen(function* () {
        const kept: Array<number> = []
        let isFull = true
        const full = PlatformError.systemError({ _tag: "Unknown", module: "FileSystem", method: "writeFile" })
        const { waits } = yield* make({
          read: IncidentFile.none.read,
          write: ({ troubles }) =>
            Effect.suspend(() => {
              kept.push(troubles.length)
              return isFull ? Effect.fail(full) : Effect.void
            })
        })
        const passes = Effect.map(TestClock.adjust(MINUTE), () => [kept.length, said.length])
        expect(yield* passes).toEqual([0, 0])
        waits(0)
        const [tries = 0, ...told] = yield* passes
        expect([tries > 1, ...told]).toEqual([true, 1])
        expect(said[0]).toMatch(/^Incidents are not kept over a restart for now\. /)
        isFull = false
        expect(yield* passes).toEqual([tries + 1, 1])
        expect(kept.at(-1)).toBe(1)
        // A saved state is not written again.
        expect(yield* passes).toEqual([tries + 1, 1])
        isFull = true
        waits(4 * MINUTE, Ids.ConversationId.make("c2"))
        const [more = 0, ...again] = yield* passes
        expect([more > tries + 2, ...again]).toEqual([true, 2])
      }).pipe(
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
