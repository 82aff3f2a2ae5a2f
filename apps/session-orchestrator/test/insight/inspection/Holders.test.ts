import { expect, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Effect, Layer } from "effect"
import {
  EntityId,
  MessageStorage,
  RunnerHealth,
  Runners,
  RunnerStorage,
  Sharding,
  ShardingConfig
} from "effect/cluster"
import * as fc from "fast-check"
import * as Holders from "../../../src/insight/inspection/Holders.ts"

const sharding = (shardsPerGroup: number) =>
  Sharding.layer.pipe(
    Layer.provide([Runners.layerNoop, RunnerStorage.layerMemory, RunnerHealth.layerNoop]),
    Layer.provide(MessageStorage.layerNoop),
    Layer.provide(ShardingConfig.layer({ shardsPerGroup }))
  )

it.effect.each([1, 60, 300, 10_000])("a conversation is in the shard that the cluster puts it in, of %i", (shards) =>
  Effect.gen(function* () {
    const { getShardId } = yield* Sharding.Sharding
    fc.assert(
      fc.property(fc.oneof(fc.uuid(), fc.stringMatching(Ids.ID_PATTERN)), (id) => {
        expect(Holders.shardOf(Ids.ConversationId.make(id), shards)).toBe(getShardId(EntityId.make(id), "default").id)
      })
    )
  }).pipe(Effect.provide(sharding(shards)))
)
