import { GivenRecords } from "@holdfast/kernel/testing"
import { Interruption, Spread, StorageError } from "@holdfast/journal"
import { describe, expect, it } from "@effect/vitest"
import type { Ids } from "@holdfast/wire"
import { Effect, Layer, Logger } from "effect"
import { ShardId, Sharding } from "effect/cluster"
import { TestClock } from "effect/testing"
import type { Alarm, AlarmClock } from "../../src/cluster/AlarmClock.ts"
import * as Alarms from "../../src/cluster/Alarms.ts"
import { Neighbours } from "../../src/cluster/Neighbours.ts"
import * as TakeOver from "../../src/cluster/TakeOver.ts"
import { Gatekeeper } from "../../src/gate/Gatekeeper.ts"
import * as Gates from "../../src/gate/Gates.ts"
import { Journal } from "../../src/storage/EventJournal.ts"
import { Store, type Unsealed } from "../../src/storage/Store.ts"
import * as NumberedData from "../storage/NumberedData.ts"

const NOW = 1_795_000_000_000

/** Turns of conversations by number, oldest first, with the end of the wait of each that waits. */
const given = (...turns: ReadonlyArray<readonly [turn: number, of: number, wakeAt?: number]>) =>
  TakeOver.alarmsOf(
    turns.map(([turn, of, wakeAt]) => ({
      turnId: NumberedData.turnId(turn),
      conversationId: NumberedData.conversationId(of),
      wait: wakeAt === undefined ? undefined : { wakeAt, awaited: undefined },
      interruption: undefined
    })),
    NOW
  )

describe("TakeOver", () => {
  it("rule X1: a turn that waits is called at the end of its wait, to the millisecond", () => {
    expect(given([1, 1, NOW + 1]).get(NumberedData.conversationId(1))).toEqual({
      at: NOW + 1,
      isWaiting: true,
      queued: 0,
      turnId: NumberedData.turnId(1)
    })
  })

  it("rule X6: of a dead runner, turns that are due start in a spread, behind those that were in the middle of something", () => {
    const alarms = given([1, 1, NOW - 5], [2, 2, NOW - 50], [3, 3], [4, 4], [5, 5], [6, 6, NOW + 60_000])
    const starts = [3, 4, 5, 2, 1].map((n) => alarms.get(NumberedData.conversationId(n))?.at)
    expect(starts).toEqual([0, 1, 2, 3, 4].map((place) => NOW + place * Spread.STEP_MS))
    expect(alarms.get(NumberedData.conversationId(6))?.at).toBe(NOW + 60_000)
  })

  it("rule X5: a turn that waits for an endpoint stands before its gate until it is called", () => {
    const gatekeeper = new Gatekeeper({ now: () => NOW, at: () => () => {} })
    const turnId = NumberedData.turnId(1)
    const awaited = { gatekeeper, turnId, since: NOW, waitMs: 1, notBefore: NOW, isWanted: false, mayShare: true }
    const turn = {
      turnId,
      conversationId: NumberedData.conversationId(1),
      wait: { wakeAt: NOW + 1, awaited },
      interruption: undefined
    }
    expect(Array.from(TakeOver.alarmsOf([turn], NOW).values())).toEqual([
      { at: NOW + 1, isWaiting: true, queued: 0, turnId: NumberedData.turnId(1), awaited }
    ])
  })

  it("rule X14: a turn that may take the process down starts behind all that are due", () => {
    const turn = (n: number, deaths: number, wakeAt?: number) => ({
      turnId: NumberedData.turnId(n),
      conversationId: NumberedData.conversationId(n),
      wait: wakeAt === undefined ? undefined : { wakeAt, awaited: undefined },
      interruption: { ...Interruption.none("one"), deaths }
    })
    const alarms = TakeOver.alarmsOf([turn(1, 2), turn(2, 1), turn(3, 0, NOW - 1)], NOW)
    expect([2, 3, 1].map((n) => alarms.get(NumberedData.conversationId(n))?.at)).toEqual(
      [0, 1, 2].map((place) => NOW + place * Spread.STEP_MS)
    )
  })

  it("a conversation is called once, for the turn at its head", () => {
    const alarms = given([1, 1, NOW + 60_000], [2, 1, NOW - 1], [3, 1])
    expect(Array.from(alarms.values())).toEqual([
      { at: NOW + 60_000, isWaiting: true, queued: 2, turnId: NumberedData.turnId(1) }
    ])
  })
})

/** A runner of four shards, which has those in `own`; a conversation is in the shard of its number. */
const runner = Effect.fnUntraced(function* (unsealed: () => Effect.Effect<ReadonlyArray<Unsealed>, StorageError>) {
  const own = new Set<number>()
  const covered = new Set<number>()
  const said: Array<string> = []
  const steps: Array<string> = []
  const shardOf = (id: string) => Number(/\d+$/.exec(id)?.[0])
  const neighbours = new Neighbours("me:1")
  const alarms = {
    isCovered: (shard: number) => covered.has(shard),
    cover: (shards: ReadonlySet<number>, found: ReadonlyMap<Ids.ConversationId, Alarm>) => {
      for (const shard of shards) covered.add(shard)
      const waits = Array.from(found, ([id, { at, isWaiting, queued }]) => `${id} ${isWaiting} ${at} ${queued}`)
      steps.push(`covers ${Array.from(shards).join()}: ${waits.join(", ")}`)
    },
    uncover: (shards: ReadonlySet<number>) => {
      for (const shard of shards) covered.delete(shard)
      steps.push(`uncovers ${Array.from(shards).join()}`)
    }
  }
  const logger = Logger.layer([Logger.make(({ message }) => void said.push(String(message)))])
  yield* Effect.forkChild(
    TakeOver.run(4, neighbours).pipe(
      Effect.provide([
        Layer.mock(Store, { unsealedTurns: Effect.suspend(unsealed) }),
        Layer.mock(Journal, {}),
        Layer.mock(Sharding.Sharding, {
          getShardId: (id) => ShardId.make("default", shardOf(id)),
          hasShardId: ({ id }) => own.has(id)
        }),
        Gates.layerNoop,
        Layer.succeed(Alarms.Alarms, alarms as unknown as AlarmClock), // what a take-over uses of it
        logger
      ])
    ),
    { startImmediately: true }
  )
  /** What has happened since it was asked last. */
  const news = Effect.map(TestClock.adjust("500 millis"), () => ({ steps: steps.splice(0), said: said.splice(0) }))
  return { own, neighbours, news }
})

const unsealed = (turn: number, of: number, retryAt?: number): Unsealed => ({
  turnId: NumberedData.turnId(turn),
  conversationId: NumberedData.conversationId(of),
  model: "a/m",
  tail: retryAt === undefined ? undefined : GivenRecords.retry(0, retryAt, retryAt),
  records: 1,
  interruption: undefined
})

describe("a runner", () => {
  it.effect("rule X6: takes over the turns of shards that come, once, and lets go of those that have gone", () =>
    Effect.gen(function* () {
      let reads = 0
      const { neighbours, news, own } = yield* runner(() => {
        reads++
        return Effect.succeed([
          unsealed(1, 1, 90_000),
          unsealed(2, 1, 80_000),
          unsealed(3, 2, 70_000),
          unsealed(4, 3, 60_000)
        ])
      })
      expect([yield* news, reads]).toEqual([{ steps: [], said: [] }, 0])
      for (const shard of [1, 3]) own.add(shard)
      const [one, two, three] = [1, 2, 3].map((n) => NumberedData.conversationId(n))
      expect(yield* news).toEqual({
        steps: [`covers 1,3: ${one} true 90000 1, ${three} true 60000 0`],
        said: ["Took over 3 unfinished turn(s) of 2 conversation(s), in 2 of 4 shards, from earlier runners."]
      })
      expect([yield* news, reads]).toEqual([{ steps: [], said: [] }, 1])
      own.delete(1)
      own.add(2)
      expect(yield* news).toEqual({
        steps: ["uncovers 1", `covers 2: ${two} true 70000 0`],
        said: ["Took over 1 unfinished turn(s) of 1 conversation(s), in 1 of 4 shards, from earlier runners."]
      })
      own.delete(2)
      expect([yield* news, reads]).toEqual([{ steps: ["uncovers 2"], said: [] }, 2])
      // Nothing to take over is worth a line when a runner has gone, and no other time.
      own.add(4)
      expect(yield* news).toEqual({ steps: ["covers 4: "], said: [] })
      neighbours.see(new Set(["you:1"]), 0)
      neighbours.see(new Set(), 1)
      own.add(2)
      own.delete(3)
      own.delete(4)
      yield* news
      own.add(4)
      expect((yield* news).said).toEqual([
        "Took over 0 unfinished turn(s) of 0 conversation(s), in 1 of 4 shards, from runner you:1, which is gone."
      ])
    })
  )

  it.effect("rule X6: tries again when the database fails", () =>
    Effect.gen(function* () {
      let isAway = true
      const { news, own } = yield* runner(() =>
        isAway ? Effect.fail(new StorageError({ message: "It is away." })) : Effect.succeed([unsealed(1, 1, 90_000)])
      )
      own.add(1)
      expect(yield* news).toEqual({ steps: [], said: ["Turns could not be taken over yet. It is away."] })
      isAway = false
      expect((yield* news).steps).toEqual([`covers 1: ${NumberedData.conversationId(1)} true 90000 0`])
    })
  )
})
