import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { EntityId, Sharding, TestRunner } from "effect/cluster"
import type { Ids } from "@holdfast/wire"
import * as fc from "fast-check"
import * as LocalId from "../../src/cluster/LocalId.ts"
import * as NewId from "../../src/storage/NewId.ts"
import * as It from "../It.ts"
import * as Law from "../Law.ts"

const test = It.within(TestRunner.layer)

const SHARDS = 300

/** The cluster's own placement of ids. */
const placement = Effect.map(
  Sharding.Sharding,
  (sharding) =>
    (id: Ids.ConversationId): number =>
      sharding.getShardId(EntityId.make(id), "default").id
)

describe("the id of a new conversation", () => {
  test("is in a shard of the runner that was asked, whichever shards it has", function* () {
    const shardOf = yield* placement
    // With a tenth of the shards, a draw in vain is rarer than one in 10^13.
    const sets = fc.uniqueArray(fc.integer({ min: 1, max: SHARDS }), { minLength: SHARDS / 10, maxLength: SHARDS })
    Law.holds([sets], (shards) => {
      assert.include(shards, shardOf(LocalId.drawn(NewId.conversation, (id) => shards.includes(shardOf(id)))))
    })
  })

  test("spreads over all shards of its runner, so that a runner that is added takes its share of them", function* () {
    const shardOf = yield* placement
    const shards = new Set(Array.from({ length: SHARDS / 10 }, (_, n) => 10 * n + 1))
    const next = () => shardOf(LocalId.drawn(NewId.conversation, (id) => shards.has(shardOf(id))))
    assert.deepStrictEqual(new Set(Array.from({ length: 2_000 }, next)), shards)
  })

  it("is any id on a runner without shards", () => {
    const ids = Array.from({ length: 20 }, () => LocalId.drawn(NewId.conversation, () => false))
    assert.strictEqual(new Set(ids).size, ids.length)
  })

  it("is the first that is local, or the last after a bounded number of draws", () =>
    Law.holds([fc.integer({ min: 1, max: 600 })], (local) => {
      let draws = 0
      const id = LocalId.drawn(
        () => ++draws,
        (id) => id === local
      )
      assert.strictEqual(id, Math.min(local, 300))
      assert.strictEqual(draws, id)
    }))
})
