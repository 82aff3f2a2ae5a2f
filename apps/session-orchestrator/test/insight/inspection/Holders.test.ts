import { expect, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Effect, Layer } from "effect"
import * as Cluster from "effect/cluster"
import * as fc from "fast-check"
import * as Holders from "../../../src/insight/inspection/Holders.ts"
import * as Law from "../../Law.ts"

const sharding = (shardsPerGroup: number) =>
  Cluster.Sharding.layer.pipe(
    Layer.provide([Cluster.Runners.layerNoop, Cluster.RunnerStorage.layerMemory, Cluster.RunnerHealth.layerNoop]),
    Layer.provide(Cluster.MessageStorage.layerNoop),
    Layer.provide(Cluster.ShardingConfig.layer({ shardsPerGroup }))
  )

it.effect.each([1, 60, 300, 10_000])("a conversation is in the shard that the cluster puts it in, of %i", (shards) =>
  Effect.gen(function* () {
    const { getShardId } = yield* Cluster.Sharding.Sharding
    Law.holds(
      [fc.oneof(fc.uuid(), fc.stringMatching(Ids.ID_PATTERN))],
      (id) =>
        void expect(Holders.shardOf(Ids.ConversationId.make(id), shards)).toBe(
          getShardId(Cluster.EntityId.make(id), "default").id
        )
    )
  }).pipe(Effect.provide(sharding(shards)))
)
