/** The alarm clock of this runner, on its timer and its shards. An `Observer` comes with the context, where there is one. */
import { Timer } from "@holdfast/journal"
import { Observer } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Clock, Context, Effect, FiberSet, Layer, Option } from "effect"
import { EntityId, ShardId, Sharding } from "effect/cluster"
import { AlarmClock } from "./AlarmClock.ts"
import { ConversationEntity } from "./ConversationEntity.ts"

/** The alarm clock of this runner. */
export class Alarms extends Context.Service<Alarms, AlarmClock>()("@holdfast/session-orchestrator/cluster/Alarms") {}

/** The alarm clock over this runner's timer and shards. */
export const layer: Layer.Layer<Alarms, never, Timer.Timer | Sharding.Sharding> = Layer.effect(
  Alarms,
  Effect.gen(function* () {
    const timer = yield* Timer.Timer
    const clock = yield* Clock.Clock
    const sharding = yield* Sharding.Sharding
    const client = yield* ConversationEntity.client
    const fork = yield* FiberSet.makeRuntime()
    const observer = Option.getOrUndefined(yield* Effect.serviceOption(Observer.Observer))
    const now = () => clock.currentTimeMillisUnsafe()
    const alarms = new AlarmClock({
      timer,
      now,
      shardOf: (id) => shardOf(sharding, id),
      owns: (shard) => owns(sharding, shard),
      rouse: (id) => void fork(Effect.ignoreCause(client(id).Stay(undefined, { discard: true }))),
      moved: (conversationId) => Observer.moved(observer, { conversationId, at: now() })
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => alarms.silence()))
    return alarms
  })
)

/** The shard that a conversation is in: from 1 to as many as there are. */
export const shardOf = (sharding: Sharding.Sharding["Service"], id: Ids.ConversationId): number =>
  shardIdOf(sharding, id).id

/** The same as the cluster names it. */
export const shardIdOf = (sharding: Sharding.Sharding["Service"], id: Ids.ConversationId): ShardId.ShardId =>
  sharding.getShardId(EntityId.make(id), GROUP)

/** Whether this runner has a shard, as far as it knows. */
export const owns = (sharding: Sharding.Sharding["Service"], shard: number): boolean =>
  sharding.hasShardId(ShardId.make(GROUP, shard))

// --- internal

/** What conversations are dealt out in. */
const GROUP = "default"
