import { describe, expect, it } from "@effect/vitest"
import { Observer } from "@holdfast/kernel"
import { type Failure, Ids, type TurnEvent } from "@holdfast/wire"
import { Clock, Duration, Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import type { EndpointQuestion } from "../../../../src/ops/telemetry/incidents/EndpointLog.ts"
import * as Notifications from "../../../../src/ops/telemetry/incidents/Notifications.ts"
import * as Observations from "../Observations.ts"
import { SharedMemory, started } from "./SharedMemory.ts"
import * as It from "../../../It.ts"

const MINUTE = 60_000
const spare = { provider: "xai", model: "grok-4" }

/** Tests the notifications of one runner. */
const make = Effect.fnUntraced(function* (
  memory: SharedMemory = new SharedMemory(),
  settings: Parameters<typeof started>[1] = {}
) {
  const observed = yield* started(memory, settings)
  const told = () => memory.notices().map(({ at, type, waiting }) => [type, Date.parse(at) / MINUTE, waiting])
  const open = Effect.map(Metric.value(Notifications.openIncidents), ({ value }) => value)
  const idOf = (id: string) => Ids.ConversationId.make(id)
  /** A turn of a conversation waits, for half an hour as a rule. */
  const waits = (at: number, id = "c1", { forMs = 30 * MINUTE, target = Observations.place.target } = {}) =>
    observed.decision?.(Observations.retry(at, forMs, { conversationId: idOf(id), target }))
  const answers = (at: number, id = "c1", target = Observations.place.target) =>
    observed.attempt?.(
      Observations.attempt({ conversationId: idOf(id), target, outcome: { ...Observations.completed, endedAt: at } })
    )
  const ends = (
    at: number,
    id: string,
    status: TurnEvent.TurnStatus = "failed",
    { reason = "overloaded" as Failure.Reason, target = Observations.place.target } = {}
  ) =>
    observed.seal?.({
      ...Observations.seal({
        status,
        endedAt: at,
        ...(status === "failed" ? { error: { reason, message: "No", retryable: true } } : {})
      }),
      conversationId: idOf(id),
      target
    })
  const switches = (at: number, id = "c1") =>
    observed.wait?.(
      Observations.wait({
        conversationId: idOf(id),
        at,
        wake: { type: "switched", target: spare, by: { commandId: Ids.CommandId.make("k"), origin: "a test" } }
      })
    )
  const moves = (at: number, id = "c1") => Observer.moved(observed, { conversationId: idOf(id), at })
  return { answers, ends, memory, moves, observed, open, switches, told, waits }
})

/** Time passes once what has been reported is written. */
const later = (time: Duration.Input) => Effect.andThen(TestClock.adjust(0), TestClock.adjust(time))

/** A process whose turns wait, until it ends. */
const earlier = (memory: SharedMemory, time: Duration.Input, ids: ReadonlyArray<string>, settings = {}) =>
  Effect.flatMap(make(memory, settings), ({ waits }) => (ids.forEach((id) => waits(0, id)), later(time))).pipe(
    Effect.scoped
  )

describe("an incident", () => {
  It.effect("rule X12: has one notice at its beginning and one at its end, however many turns wait", function* () {
    const { answers, told, waits } = yield* make()
    const all = Array.from({ length: 50 }, (_, n) => `t${n}`)
    for (const id of all) waits(0, id)
    yield* later("31 minutes")
    for (const id of all) waits(31 * MINUTE, id)
    yield* later("30 minutes")
    answers(61 * MINUTE, "t7")
    answers(61 * MINUTE, "t8")
    waits(62 * MINUTE, "t7")
    yield* later("1 hour")
    answers(122 * MINUTE, "t7")
    yield* later(1)
    const again = ["incident-began,67,49", "incident-ended,122,49"]
    expect(told().map(String)).toEqual(["incident-began,5,50", "incident-ended,61,50", ...again])
  })

  It.effect("of one endpoint more than a thousand is not watched", function* () {
    const { answers, memory, waits } = yield* make()
    const all = Array.from({ length: 1_001 }, (_, n) => ({ provider: "a", model: `m${n}` }))
    for (const target of all) {
      waits(0, target.model, { target })
      answers(5 * MINUTE, target.model, target)
    }
    yield* later(0)
    // A beginning and an end, at once.
    expect(memory.messages.length).toBe(2_000)
    for (const target of all) waits(5 * MINUTE, target.model, { target })
    yield* later("5 seconds")
    waits(5 * MINUTE)
    yield* later("5 seconds")
    expect(memory.rows.size).toBe(1_000)
  })

  It.effect("of less than five seconds is reported a tenth of a second after the last decision", function* () {
    const { memory, told, waits } = yield* make(new SharedMemory(), { after: Duration.millis(6) })
    yield* later(0)
    waits(0)
    yield* later(99)
    expect(memory.writes).toBe(0)
    yield* later(1)
    expect(told()).toEqual([["incident-began", 0.0001, 1]])
  })

  It.effect("is not reported when an answer or the end of its turns came before its time", function* () {
    const { answers, ends, memory, told, waits } = yield* make()
    waits(0)
    yield* later("2 minutes")
    answers(2 * MINUTE)
    waits(3 * MINUTE, "c2")
    yield* later("3 minutes")
    ends(5 * MINUTE, "c2", "aborted")
    waits(6 * MINUTE, "c3")
    waits(6 * MINUTE, "c3", { target: spare, forMs: 0 })
    yield* later("1 hour")
    expect(told()).toEqual([])
    expect(memory.rows.size).toBe(0)
  })

  It.effect("lasts until an answer while its turns are at another endpoint", function* () {
    const { answers, switches, told, waits } = yield* make()
    waits(0)
    yield* later("6 minutes")
    switches(6 * MINUTE)
    yield* later("2 hours")
    expect(told()).toEqual([["incident-began", 5, 1]])
    answers(126 * MINUTE, "c2")
    yield* later(1)
    expect(told().slice(1)).toEqual([["incident-ended", 126, 0]])
  })

  It.effect("that is given up has lasted until it was reported at least, though its turns were deleted", function* () {
    const { ends, memory, told, waits } = yield* make()
    waits(0)
    yield* later("6 minutes")
    ends(6 * MINUTE, "c1", "aborted")
    memory.turns.clear()
    yield* later("1 minute")
    expect(told().slice(1)).toEqual([["incident-gave-up", 5 + 1 / 6, 0]])
  })

  /** A process, and at which second it has asked the log, which takes a while to answer. */
  const asking = Effect.fnUntraced(function* (delay: Duration.Input) {
    const memory = new SharedMemory()
    const { standingsOf } = memory
    const asked: Array<number> = []
    const read: typeof standingsOf = (questions) => Effect.delay(standingsOf(questions), delay)
    const noting: typeof standingsOf = (questions) =>
      Effect.flatMap(Clock.currentTimeMillis, (at) => (asked.push(at / 1_000), read(questions)))
    return { ...(yield* make(Object.assign(memory, { standingsOf: noting }))), asked }
  })

  It.effect("asks the log every few seconds at most while its failed turns settle", function* () {
    const { asked, ends, told, waits } = yield* asking(0)
    waits(0, "t1")
    waits(0, "t2")
    yield* later("6 minutes")
    ends(6 * MINUTE, "t1")
    yield* later("9 seconds")
    ends(6 * MINUTE + 9_000, "t2")
    yield* later("1 minute")
    expect(told().map(([type]) => type)).toEqual(["incident-began", "incident-gave-up"])
    expect(asked).toEqual([300, 369, 370, 375, 380])
  })

  It.effect("asks a slow log seldom, however many other turns end", function* () {
    const { asked, ends, switches, told, waits } = yield* asking("5 seconds")
    waits(0)
    yield* later("6 minutes")
    switches(6 * MINUTE)
    for (let s = 0; s < 300; s++) {
      ends(6 * MINUTE + s * 1_000, `other-${s}`, "aborted", { target: spare })
      yield* later("1 second")
    }
    yield* later("2 minutes")
    expect(told().map(([type]) => type)).toEqual(["incident-began"])
    expect(asked).toEqual([300, 365, 415, 465, 515, 565, 615, 665, 725])
  })

  It.effect("begins though the process stops while it writes", function* () {
    const memory = new SharedMemory()
    const { change } = memory.storage
    let isSlow = true
    const slow: typeof change = (...facts) => (isSlow ? Effect.never : change(...facts))
    Object.assign(memory, { storage: { ...memory.storage, change: slow } })
    yield* Effect.scoped(
      Effect.gen(function* () {
        const { waits } = yield* make(memory)
        waits(0)
        yield* later("6 seconds")
        waits(6_000, "c2", { target: spare })
        isSlow = false
      })
    )
    const { told } = yield* make(memory)
    yield* later("6 minutes")
    expect(told().map(String)).toEqual(["incident-began,5,1", "incident-began,5.1,1"])
  })

  It.effect("begins and ends after a restart, with the turns that waited before", function* () {
    const memory = new SharedMemory()
    yield* earlier(memory, "1 minute", ["c1"], { isAlone: true })
    const { answers, open, told } = yield* make(memory, { isAlone: true })
    yield* later("5 minutes")
    expect(told()).toEqual([["incident-began", 5, 1]])
    expect(yield* open).toBe(1)
    answers(6 * MINUTE)
    yield* later(1)
    expect(yield* open).toBe(0)
    expect(told().at(-1)?.slice(0, 2)).toEqual(["incident-ended", 6])
  })
})

It.effect("rule X12: an answer while the incidents are read ends the one of an earlier process", function* () {
  const memory = new SharedMemory()
  yield* earlier(memory, "6 minutes", ["c1", "c2"])
  const { keep, listeners } = yield* Notifications.make({ after: Duration.minutes(5), redact: String })
  const { storage, uncounted } = memory
  const observed = memory.observed(listeners)
  const conversationId = Ids.ConversationId.make("c1")
  const outcome = { ...Observations.completed, endedAt: 6 * MINUTE }
  const answered = Effect.sync(() => {
    observed.attempt?.(Observations.attempt({ conversationId, outcome }))
    observed.seal?.({ ...Observations.seal({ status: "completed", endedAt: 6 * MINUTE }), conversationId })
  })
  const standingsOf = (questions: ReadonlyMap<string, EndpointQuestion>) =>
    Effect.tap(memory.standingsOf(questions), () => answered)
  const receivers = { names: ["webhook"] }
  yield* keep({ storage, standingsOf, uncounted, add: () => Effect.void, receivers, isAlone: true })
  yield* later("6 seconds")
  expect(memory.notices().map(({ type }) => type)).toEqual(["incident-began", "incident-ended"])
})

It.effect("an incident without receivers is counted here, and the log is not asked", function* () {
  const memory = Object.assign(new SharedMemory(), { standingsOf: () => Effect.die("The log was asked.") })
  const { observed, open, switches, waits } = yield* make(memory, { isAlone: true, receivers: { names: [] } })
  waits(0, "c1", { forMs: 1 })
  waits(0, "c2", { target: spare })
  yield* later("6 minutes")
  expect(yield* open).toBe(2)
  switches(6 * MINUTE, "c2")
  for (const [n, more] of [{}, { whole: true as const }].entries()) {
    observed.attempt?.(Observations.attempt({ outcome: { ...Observations.failed, ...more, endedAt: 6 * MINUTE } }))
    yield* later("1 minute")
    expect(yield* open).toBe(1 - n)
  }
})

describe("failed turns", () => {
  It.effect("rule X12: are reported once per endpoint and cause, however many there are", function* () {
    const { ends, memory } = yield* make()
    for (let n = 0; n < 20; n++) ends(n * 100, `t${n}`, "failed", { reason: "auth" })
    ends(0, "a", "failed", { reason: "refused" })
    ends(-7.5 * 24 * 60 * MINUTE, "earlier", "failed", { reason: "auth" })
    ends(0, "b", "failed", { reason: "auth", target: spare })
    yield* later("1 hour")
    ends(60 * MINUTE, "t99", "failed", { reason: "auth" })
    yield* later("1 hour")
    const said = memory.notices().map(({ failed, model, reason }) => `${model} ${reason} ${failed}`)
    expect(said.toSorted()).toEqual(["gpt-5 auth 20", "gpt-5 refused 1", "grok-4 auth 1"])
  })
})

describe("notifications of one of several runners", () => {
  It.effect("rule X12: an incident whose turns have moved is not open here; the next answer ends it", function* () {
    const { answers, moves, open, told, waits } = yield* make()
    waits(0)
    waits(0, "c2")
    yield* later("6 minutes")
    moves(6 * MINUTE, "c2")
    expect(yield* open).toBe(1)
    moves(6 * MINUTE)
    expect(yield* open).toBe(0)
    // One of them returns and waits here again.
    waits(7 * MINUTE)
    expect(yield* open).toBe(1)
    moves(8 * MINUTE)
    yield* later("3 minutes")
    answers(9 * MINUTE)
    yield* later(1)
    const begunAndEnded = told().map((facts) => facts.slice(0, 2).join(" "))
    expect(begunAndEnded).toEqual(["incident-began 5", "incident-ended 9"])
    expect(yield* open).toBe(0)
  })

  It.effect("rule X12: an answer of a runner that knew of no trouble yet is no end of what came after", function* () {
    const memory = new SharedMemory()
    const first = yield* make(memory)
    const second = yield* make(memory)
    first.waits(0)
    yield* later("1 second")
    second.answers(1_000, "c2")
    second.ends(1_000, "c2", "completed")
    yield* later("20 minutes")
    expect(first.told()).toEqual([["incident-began", 5 + 1 / 60, 1]])
    expect(memory.notices()[0]).toMatchObject({ since: new Date(1_000).toISOString() })
    second.answers(21 * MINUTE, "c3")
    yield* later(1)
    expect(first.told().slice(1)).toEqual([["incident-ended", 21, 1]])
  })

  It.effect("rule X12: a notice of quiet hours is due at their end", function* () {
    const begin = new Date(2031, 3, 2, 23, 0).getTime()
    yield* TestClock.setTime(begin)
    const quiet = { from: "22:00", to: "07:00" }
    const { memory, waits } = yield* make(new SharedMemory(), { receivers: { names: ["webhook"], quiet } })
    waits(begin)
    yield* later("6 minutes")
    expect(memory.messages.map(({ dueAt }) => dueAt)).toEqual([new Date(2031, 3, 3, 7, 0).getTime()])
  })

  it.effect("rule X12: incidents that cannot be recorded are logged once, recorded later, and logged anew", () => {
    const { layer, lines } = It.logged()
    const said = () => lines.filter((line) => line.startsWith("Error "))
    return Effect.gen(function* () {
      const memory = Object.assign(new SharedMemory(), { isAway: true })
      const { told, waits } = yield* make(memory)
      expect(said().length).toBe(1)
      waits(0)
      yield* later("6 minutes")
      expect([said().length, memory.writes]).toEqual([1, 0])
      expect(said()[0]).toMatch(/^Error Incidents are not recorded for now\. /)
      memory.isAway = false
      yield* later("1 minute")
      // The begin is that of its time.
      expect(told()).toEqual([["incident-began", 5, 1]])
      expect(lines.filter((line) => line.startsWith("Info "))).toHaveLength(1)
      memory.isAway = true
      yield* later("1 minute")
      expect(said().length).toBe(2)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })
})
