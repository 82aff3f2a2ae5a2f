import { Timer } from "@holdfast/journal"
import { describe, expect, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { AGAIN_MS, type Alarm, AlarmClock, AT_ONCE, PASS_MS } from "../../src/cluster/AlarmClock.ts"
import { answers as answered, full } from "../gate/GateStates.ts"
import { Gatekeeper } from "../../src/gate/Gatekeeper.ts"
import * as NumberedData from "../storage/NumberedData.ts"

const [one, two, three] = [
  NumberedData.conversationId(1),
  NumberedData.conversationId(2),
  NumberedData.conversationId(3)
]

/** One and two are in shard 1, three is in shard 2. */
const shardOf = (id: Ids.ConversationId): number => (id === three ? 2 : 1)

const waiting = (at: number): Alarm => ({ at, isWaiting: true, queued: 0 })

const make = Effect.gen(function* () {
  const owned = new Set([1, 2])
  const roused: Array<Ids.ConversationId> = []
  const moved: Array<Ids.ConversationId> = []
  const clock = yield* Clock.Clock
  const timer = yield* Timer.Timer
  const now = () => clock.currentTimeMillisUnsafe()
  const alarms = new AlarmClock({
    timer,
    now,
    shardOf,
    owns: (shard) => owned.has(shard),
    rouse: (id) => void roused.push(id),
    moved: (id) => void moved.push(id)
  })
  alarms.cover([1, 2], [])
  /** A conversation comes, and leaves again. */
  const leaves = (id: Ids.ConversationId, alarm: Alarm): void => {
    const resident = {}
    alarms.arrive(id, resident)
    alarms.leave(id, resident, alarm)
  }
  const gatekeeper = new Gatekeeper({ now, at: timer.at })
  /** It waits for an hour, or until its endpoint answers. */
  const gated: Alarm = {
    ...waiting(HOUR),
    awaited: {
      gatekeeper,
      turnId: Ids.TurnId.make("gated"),
      since: 0,
      waitMs: HOUR,
      notBefore: 0,
      isWanted: false,
      mayShare: true
    }
  }
  /** The endpoint has room for one turn, and answers another: when that ends, there is room for one. */
  const [other] = full(gatekeeper, 1)
  const answers = () => other?.ended()
  return { alarms, answers, gated, gatekeeper, leaves, moved, owned, roused }
})

const HOUR = 3_600_000

describe("AlarmClock", () => {
  it.effect("rule X1: a conversation is roused at the end of its wait, not a millisecond before", () =>
    Effect.gen(function* () {
      const { leaves, roused } = yield* make
      leaves(one, waiting(60_000))
      yield* TestClock.adjust(59_999)
      expect(roused).toEqual([])
      yield* TestClock.adjust(1)
      expect(roused).toEqual([one])
    }).pipe(Effect.provide(Timer.layer))
  )

  it.effect("A1: what a conversation wanted when it left counts, not what was read of it before", () =>
    Effect.gen(function* () {
      const { alarms, leaves } = yield* make
      leaves(one, waiting(60_000))
      alarms.cover([1], [[one, waiting(5)]])
      expect(alarms.find(one)).toEqual(expect.objectContaining(waiting(60_000)))
    }).pipe(Effect.provide(Timer.layer))
  )

  it.effect("it rings until the conversation is there", () =>
    Effect.gen(function* () {
      const { alarms, leaves, roused } = yield* make
      leaves(one, waiting(0))
      yield* TestClock.adjust(3 * AGAIN_MS)
      expect(roused).toEqual([one, one, one])
      alarms.arrive(one, {})
      yield* TestClock.adjust(3 * AGAIN_MS)
      expect(roused).toEqual([one, one, one])
    }).pipe(Effect.provide(Timer.layer))
  )

  it.effect("what has gone to another runner does not ring, and counts as not looked at", () =>
    Effect.gen(function* () {
      const { alarms, leaves, owned, roused } = yield* make
      leaves(one, waiting(1_000))
      leaves(two, waiting(60_000))
      leaves(three, waiting(1_000))
      owned.delete(1)
      yield* TestClock.adjust(1_000)
      expect(roused).toEqual([three])
      expect([alarms.isCovered(1), alarms.isCovered(2)]).toEqual([false, true])
      expect(alarms.find(two)).toBeUndefined()
    }).pipe(Effect.provide(Timer.layer))
  )

  it.effect("a conversation that leaves memory with its shard is roused where it is now", () =>
    Effect.gen(function* () {
      const { alarms, leaves, owned, roused } = yield* make
      owned.delete(2)
      leaves(three, waiting(60_000))
      expect(roused).toEqual([three])
      expect(alarms.find(three)).toBeUndefined()
      expect(alarms.isCovered(2)).toBe(false)
    }).pipe(Effect.provide(Timer.layer))
  )

  it.effect(
    "`moved` is called once for a conversation that goes to another runner, from memory or from here, and not when this runner shuts down",
    () =>
      Effect.gen(function* () {
        const { alarms, leaves, moved, owned } = yield* make
        leaves(one, waiting(60_000))
        const resident = {}
        alarms.arrive(two, resident)
        leaves(three, waiting(60_000))
        owned.delete(1)
        alarms.uncover(new Set([1]))
        expect(moved).toEqual([one])
        // Nothing of it is left to run, as far as it knows.
        alarms.leave(two, resident, undefined)
        expect(moved).toEqual([one, two])
        alarms.silence()
        owned.delete(2)
        leaves(three, waiting(60_000))
        expect(moved).toEqual([one, two])
      }).pipe(Effect.provide(Timer.layer))
  )

  it.effect("the alarm of a conversation that left memory is not replaced by an earlier read", () =>
    Effect.gen(function* () {
      const { alarms, leaves } = yield* make
      leaves(one, waiting(60_000))
      alarms.cover(
        [1],
        [
          [one, waiting(5)],
          [two, waiting(5)]
        ]
      )
      expect([alarms.find(one)?.at, alarms.find(two)?.at]).toEqual([60_000, 5])
    }).pipe(Effect.provide(Timer.layer))
  )

  it.effect("what is in memory is not called for, also when its turns are found meanwhile", () =>
    Effect.gen(function* () {
      const { alarms, roused } = yield* make
      const [former, present] = [{}, {}]
      alarms.arrive(one, former)
      alarms.cover([1], [[one, waiting(0)]])
      alarms.arrive(one, present)
      alarms.leave(one, former, waiting(0))
      yield* TestClock.adjust(AGAIN_MS)
      expect(roused).toEqual([])
      alarms.leave(one, present, undefined)
      yield* TestClock.adjust(AGAIN_MS)
      expect(roused).toEqual([])
      expect(alarms.counts).toEqual({ running: 0, retrying: 0, queued: 0 })
    }).pipe(Effect.provide(Timer.layer))
  )

  it.effect("rule X5: it is roused before its time when its endpoint answers, and its turn gets the ticket", () =>
    Effect.gen(function* () {
      const { alarms, answers, gated, gatekeeper, leaves, roused } = yield* make
      leaves(one, gated)
      leaves(two, gated)
      yield* TestClock.adjust(1_000)
      expect(roused).toEqual([])
      answers()
      expect(roused).toEqual([one])
      const ticket = alarms.handOver(one)
      expect(ticket).toMatchObject({ isEarly: true, isProbe: false })
      expect(alarms.handOver(one)).toBeUndefined()
      alarms.arrive(one, {})
      yield* TestClock.adjust(AGAIN_MS)
      expect(roused).toEqual([one])
      // There is room for the next when it has been used.
      ticket?.spend()
      const call = gatekeeper.begin(undefined, ticket)
      call.answered()
      expect(roused).toEqual([one])
      call.ended()
      expect(roused).toEqual([one, two])
    }).pipe(Effect.provide(Timer.layer))
  )

  it.effect("rule X5: that was roused before its time is called for at the same pace from then on", () =>
    Effect.gen(function* () {
      const { answers, gated, leaves, roused } = yield* make
      leaves(one, gated)
      yield* TestClock.adjust(1_000)
      answers()
      // Its wait would have ended meanwhile.
      yield* TestClock.adjust(2 * HOUR)
      expect(roused).toHaveLength(1 + (2 * HOUR) / AGAIN_MS)
    }).pipe(Effect.provide(Timer.layer))
  )

  it.effect("K3: an unused ticket is returned, and its conversation is woken without it", () =>
    Effect.gen(function* () {
      const { alarms, answers, gated, gatekeeper, leaves, roused } = yield* make
      leaves(one, gated)
      answers()
      yield* TestClock.adjust(PASS_MS - 1)
      expect(gatekeeper.isIdle).toBe(false)
      const rung = roused.length
      yield* TestClock.adjust(1)
      expect(gatekeeper.isIdle).toBe(true)
      answered(gatekeeper)
      yield* TestClock.adjust(AGAIN_MS)
      expect(roused.length).toBe(rung + 2)
      expect(alarms.handOver(one)).toBeUndefined()
    }).pipe(Effect.provide(Timer.layer))
  )

  it.effect("K3: a ticket goes back with the shard, and when a conversation comes that has no use for it", () =>
    Effect.gen(function* () {
      const { alarms, answers, gated, gatekeeper, leaves, owned, roused } = yield* make
      for (const id of [one, two, three]) leaves(id, gated)
      answers()
      owned.delete(1)
      alarms.uncover(new Set([1]))
      // What had been let in is gone, and so is the next: there is room for the last.
      expect(roused).toEqual([one, three])
      alarms.arrive(three, {})
      expect(gatekeeper.isIdle).toBe(true)
    }).pipe(Effect.provide(Timer.layer))
  )

  it.effect(
    "rule X5: an entry whose time has come asks its gate from memory, and a silenced clock wakes no conversation",
    () =>
      Effect.gen(function* () {
        const { alarms, answers, gated, gatekeeper, leaves, roused } = yield* make
        leaves(one, { ...gated, at: 1_000 })
        yield* TestClock.adjust(1_000)
        expect(roused).toEqual([one])
        answers()
        expect(alarms.handOver(one)).toBeUndefined()
        leaves(two, gated)
        leaves(three, gated)
        roused.length = 0
        alarms.silence()
        expect(gatekeeper.isIdle).toBe(true)
        answered(gatekeeper)
        expect(roused).toEqual([])
      }).pipe(Effect.provide(Timer.layer))
  )

  it.effect("counts the turns that it stands for, and rings no more once it is silent", () =>
    Effect.gen(function* () {
      const { alarms, leaves, roused } = yield* make
      leaves(one, { at: 10, isWaiting: true, queued: 2 })
      leaves(two, { at: 10, isWaiting: false, queued: 0 })
      expect(alarms.counts).toEqual({ running: 1, retrying: 1, queued: 2 })
      alarms.silence()
      leaves(three, waiting(10))
      yield* TestClock.adjust(AGAIN_MS)
      expect(roused).toEqual([])
      expect(alarms.counts).toEqual({ running: 0, retrying: 0, queued: 0 })
    }).pipe(Effect.provide(Timer.layer))
  )

  it.effect(
    "AlarmClock.A6: conversations that are due together come a few at a time, in the order of their times",
    () =>
      Effect.gen(function* () {
        const { alarms, leaves, roused } = yield* make
        const ids = Array.from({ length: 3 * AT_ONCE }, (_, n) => NumberedData.conversationId(10 + n))
        for (const [n, id] of ids.entries()) leaves(id, waiting(1_000 + n))
        yield* TestClock.adjust(1_000 + ids.length)
        expect(roused).toEqual(ids.slice(0, AT_ONCE))
        // Each that comes, or has nothing to do any more, makes room for the next.
        alarms.arrive(NumberedData.conversationId(10), {})
        alarms.change(NumberedData.conversationId(11), undefined)
        expect(roused).toEqual(ids.slice(0, AT_ONCE + 2))
        // A conversation that has come meanwhile takes no room.
        alarms.arrive(NumberedData.conversationId(10 + AT_ONCE + 2), {})
        alarms.arrive(NumberedData.conversationId(12), {})
        expect(roused.at(-1)).toBe(NumberedData.conversationId(10 + AT_ONCE + 3))
        expect(roused).toHaveLength(AT_ONCE + 3)
      }).pipe(Effect.provide(Timer.layer))
  )

  it.effect("AlarmClock.A6: a conversation that does not come holds up the others until its second ring", () =>
    Effect.gen(function* () {
      const { leaves, roused } = yield* make
      const ids = Array.from({ length: 2 * AT_ONCE }, (_, n) => NumberedData.conversationId(10 + n))
      for (const id of ids) leaves(id, waiting(1_000))
      yield* TestClock.adjust(1_000)
      expect(roused).toHaveLength(AT_ONCE)
      yield* TestClock.adjust(AGAIN_MS)
      expect(new Set(roused)).toEqual(new Set(ids))
      expect(roused).toHaveLength(3 * AT_ONCE)
    }).pipe(Effect.provide(Timer.layer))
  )

  it.effect("rule X5: a conversation that its gate admits does not wait for those that are due", () =>
    Effect.gen(function* () {
      const { answers, gated, leaves, roused } = yield* make
      const ids = Array.from({ length: 2 * AT_ONCE }, (_, n) => NumberedData.conversationId(10 + n))
      for (const id of ids) leaves(id, waiting(1_000))
      leaves(one, gated)
      yield* TestClock.adjust(1_000)
      answers()
      expect(roused).toEqual([...ids.slice(0, AT_ONCE), one])
    }).pipe(Effect.provide(Timer.layer))
  )
})
