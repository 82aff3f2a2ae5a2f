/**
 * Messages to the runner that owns a conversation, about many conversations at once.
 *
 * An entity with a conversation's id is at the runner that owns the conversation. As for `ConversationEntity`, messages are volatile and can
 * be sent twice: a command carries its id.
 */
import { Command, Ids } from "@holdfast/wire"
import { Effect, type Layer, Schema } from "effect"
import { ClusterSchema, Entity, type Sharding } from "effect/cluster"
import { Rpc } from "effect/rpc"
import * as TurnCommands from "../conversation/TurnCommands.ts"
import type * as Alarms from "./Alarms.ts"
import type { WriteClaims } from "./WriteClaims.ts"
import type * as Lease from "./Lease.ts"
import type * as Resident from "./Resident.ts"
import * as StoredCommands from "./StoredCommands.ts"

/** Commands on turns whose conversations are on disk alone; answered with one outcome for each. */
export const CommandAll = Rpc.make("CommandAll", {
  payload: {
    commands: Schema.Array(
      Schema.Struct({
        turnId: Ids.TurnId,
        command: Schema.Union([...Command.Steering.members, Command.Abort, TurnCommands.Retry])
      })
    ),
    origin: Schema.String
  },
  success: Schema.Array(
    Schema.Union([
      Schema.Struct({ outcome: Schema.Literals(["done", "idle"]) }),
      Schema.Struct({ outcome: Schema.Literal("elsewhere") }),
      Schema.Struct({ outcome: Schema.Literal("loaded") }),
      Schema.Struct({ outcome: Schema.Literal("refused"), message: Schema.String })
    ])
  )
})

/** The entity, with all calls of a runner. */
export const RunnerEntity = Entity.make("Runner", [CommandAll]).annotateRpcs(ClusterSchema.InterruptOnTermination, true)

/** The entity, on this runner. */
export const layer = (
  claims: WriteClaims
): Layer.Layer<never, never, Resident.Requirements | Sharding.Sharding | Alarms.Alarms | Lease.Lease> =>
  RunnerEntity.toLayer(
    Effect.map(StoredCommands.make(claims), (carryOut) =>
      RunnerEntity.of({ CommandAll: ({ payload }) => carryOut(payload.commands, payload.origin) })
    ),
    { concurrency: "unbounded", mailboxCapacity: "unbounded", maxIdleTime: "5 seconds" }
  )
