/**
 * Brings the unsealed turns of a runner's shards into memory, whoever had them before: at start, and when a shard comes over
 * from a runner that died or went.
 *
 * V1. Whenever a shard comes, its conversations with unsealed turns are woken. A wake that comes too late, because the shard has
 *     gone on, reaches its next owner, and changes nothing there.
 * V2. Nothing is asked of the database while no shard moves.
 */
import type { Ids } from "@holdfast/wire"
import { Effect, Schedule } from "effect"
import { EntityId, ShardId, Sharding } from "effect/cluster"
import { Store } from "../storage/Store.ts"
import { ConversationEntity } from "./ConversationEntity.ts"

/** Runs for as long as the runner does. */
export const run = Effect.fnUntraced(function* (
  shards: number
): Effect.fn.Return<never, never, Store | Sharding.Sharding> {
  const store = yield* Store
  const sharding = yield* Sharding.Sharding
  const client = yield* ConversationEntity.client
  const known = new Set<number>()

  const wake = (id: Ids.ConversationId) => Effect.ignore(client(id).Stay(undefined, { discard: true }))

  const look = Effect.gen(function* () {
    const come = new Set<number>()
    for (let shard = 1; shard <= shards; shard++) {
      if (!sharding.hasShardId(ShardId.make(GROUP, shard))) known.delete(shard)
      else if (!known.has(shard)) come.add(shard)
    }
    if (come.size === 0) return // V2
    const ids = (yield* store.unsealedConversations).filter((id) =>
      come.has(sharding.getShardId(EntityId.make(id), GROUP).id)
    )
    for (const shard of come) known.add(shard)
    if (ids.length === 0) return
    yield* Effect.logInfo(`Taking up the turns of ${ids.length} conversation(s).`)
    yield* Effect.forEach(ids, wake, { concurrency: AT_ONCE, discard: true })
  })

  return yield* look.pipe(
    Effect.catch(({ message }) => Effect.logError(`Turns could not be taken over yet. ${message}`)),
    Effect.repeat(Schedule.spaced(INTERVAL)),
    Effect.andThen(Effect.never)
  )
})

// --- internal

/** What conversations are dealt out in. */
const GROUP = "default"

/** A look at some hundred flags in memory. */
const INTERVAL = "500 millis"

/** Each reads its turn and its records; more would hold up those who ask something of the database. */
const AT_ONCE = 16
