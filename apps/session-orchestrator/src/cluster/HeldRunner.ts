/**
 * Runs the turns of held calls at the runner that has their client (rule X13), whatever runner owns their shard.
 *
 * HeldRunner.R1. Of two runners that have a client of the same turn one has the claim (`Claims`); beyond that, the journal refuses the records of the
 *     second.
 * HeldRunner.R2. A new call gets an id in a shard of this runner, so all that other runners ask about it arrives here while no shard moves. Commands
 *     arrive here in any case (`HeldCommands`).
 */
import type { Conversations } from "../conversation/Conversations.ts"
import type { StorageError } from "@holdfast/journal"
import { StorageFailure } from "@holdfast/journal/sql"
import { Ids } from "@holdfast/wire"
import { Context, Effect, Layer } from "effect"
import { Sharding } from "effect/cluster"
import { SqlClient } from "effect/sql"
import { HeldCalls } from "../conversation/HeldCalls.ts"
import { HeldTurns } from "../orchestrator/HeldTurns.ts"
import * as Orchestrator from "../orchestrator/Orchestrator.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import { Store } from "../storage/Store.ts"
import * as Condition from "../system/Condition.ts"
import * as Alarms from "./Alarms.ts"
import * as Claims from "./Claims.ts"
import * as LocalId from "./LocalId.ts"
import type { Residents } from "./Residents.ts"
import * as SharedWaits from "./SharedWaits.ts"

/** The held calls of this runner, for all that reaches a conversation. */
export class HeldRunner extends Context.Service<
  HeldRunner,
  {
    /** The calls to a conversation whose call has its client here; `undefined` for any other. */
    readonly find: (id: Ids.ConversationId) => Conversations["Service"] | undefined
    /** An id in a shard of the runner that has claimed a call; `undefined`: no such runner is found. */
    readonly locate: (id: Ids.ConversationId) => Effect.Effect<Ids.ConversationId | undefined, StorageError>
  }
>()("@holdfast/session-orchestrator/cluster/HeldRunner") {}

/**
 * The turns of held calls, in an orchestrator of their own.
 *
 * @param database names the database in errors
 */
export const layer = (residents: Residents, database: string) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const store = yield* Store
      const calls = yield* HeldCalls
      const sharding = yield* Sharding.Sharding
      const condition = Condition.make()
      const { conversations, heldTurns } = yield* Effect.updateContext(
        Orchestrator.make({ takesUp: true }),
        (context: Context.Context<Orchestrator.Requirements>) =>
          context.pipe(
            // A start takes up no turn of a held call.
            Context.add(Store, { ...store, unsealedTurns: Effect.succeed([]) }),
            Context.add(Condition.Condition, condition)
          )
      )
      const turns = {
        ...heldTurns,
        unsealed: Effect.map(store.unsealedTurns, (turns) =>
          turns.filter(({ conversationId }) => HeldCallIds.isHeld(conversationId))
        ),
        choose: (make: () => Ids.ConversationId) => LocalId.drawn(make, (id) => LocalId.isLocal(sharding, id))
      }
      yield* residents.add({
        conversations,
        isAnswering: () => Effect.runSync(condition.isAnswering)
      })
      const sql = yield* SqlClient.SqlClient
      const shared = yield* SharedWaits.make({
        sql,
        database,
        turns,
        isHere: (id) => calls.has(id)
      })
      const locate: HeldRunner["Service"]["locate"] = (id) =>
        Claims.shardsOfHolder(sql, id).pipe(
          Effect.mapError((error) => StorageFailure.explain(database, "find the runner of a held call", error)),
          Effect.map((shards) =>
            shards.size === 0 ? undefined : LocalId.drawn(anyId, (id) => shards.has(Alarms.shardOf(sharding, id)))
          )
        )
      return Context.make(HeldTurns, { ...turns, shared }).pipe(
        Context.add(HeldRunner, { find: (id) => (calls.has(id) ? conversations : undefined), locate })
      )
    })
  )

// --- internal

const anyId = () => Ids.ConversationId.make(globalThis.crypto.randomUUID())
