import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Sharding, type ShardId, TestRunner } from "effect/cluster"
import * as fc from "fast-check"
import * as Alarms from "../../src/cluster/Alarms.ts"
import * as LocalId from "../../src/cluster/LocalId.ts"

const SHARDS = 300

/** The cluster's own placement of ids, for a runner with these shards. */
const runnerWith = (shards: ReadonlySet<number>) =>
  Effect.map(Sharding.Sharding, (sharding) => ({
    ...sharding,
    hasShardId: ({ id }: ShardId.ShardId) => shards.has(id)
  }))

describe("the id of a new conversation", () => {
  it.effect("LocalId.L1: is in a shard of the runner that was asked, whichever shards it has", () =>
    Effect.gen(function* () {
      const base = yield* runnerWith(new Set())
      // With a tenth of the shards, a draw in vain is rarer than one in 10^13.
      const sets = fc.uniqueArray(fc.integer({ min: 1, max: SHARDS }), { minLength: SHARDS / 10, maxLength: SHARDS })
      fc.assert(
        fc.property(sets, (shards) => {
          const sharding = { ...base, hasShardId: ({ id }: ShardId.ShardId) => shards.includes(id) }
          assert.include(shards, Alarms.shardOf(sharding, LocalId.next(sharding)))
        })
      )
    }).pipe(Effect.provide(TestRunner.layer))
  )

  it.effect(
    "LocalId.L1: spreads over all shards of its runner, so that a runner that is added takes its share of them",
    () =>
      Effect.gen(function* () {
        const shards = new Set(Array.from({ length: SHARDS / 10 }, (_, n) => 10 * n + 1))
        const sharding = yield* runnerWith(shards)
        const found = new Set(Array.from({ length: 2_000 }, () => Alarms.shardOf(sharding, LocalId.next(sharding))))
        assert.deepStrictEqual(found, shards)
      }).pipe(Effect.provide(TestRunner.layer))
  )

  it.effect("LocalId.L2: is any id on a runner without shards", () =>
    Effect.gen(function* () {
      const sharding = yield* runnerWith(new Set())
      const ids = Array.from({ length: 20 }, () => LocalId.next(sharding))
      assert.strictEqual(new Set(ids).size, ids.length)
    }).pipe(Effect.provide(TestRunner.layer))
  )

  it("LocalId.L2: is the first that is local, or the last after a bounded number of draws", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 * LocalId.MOST_DRAWS }), (local) => {
        let draws = 0
        const id = LocalId.drawn(
          () => ++draws,
          (id) => id === local
        )
        assert.strictEqual(id, Math.min(local, LocalId.MOST_DRAWS))
        assert.strictEqual(draws, id)
      })
    )
  })
})
