/**
 * Messages to a runner, about many conversations at once, or about a held call in a shard of another runner.
 *
 * An entity with a conversation's id is at the runner that owns the conversation. As for `ConversationEntity`, messages are volatile and can
 * be sent twice: a command carries its id.
 */
import { Command, Ids } from "@holdfast/wire"
import { Effect, type Layer, Schema, Stream } from "effect"
import { ClusterSchema, Entity, type Sharding } from "effect/cluster"
import { Rpc } from "effect/rpc"
import * as TurnCommands from "../conversation/TurnCommands.ts"
import type * as Alarms from "./Alarms.ts"
import * as Batches from "./Batches.ts"
import * as ConversationEntity from "./ConversationEntity.ts"
import * as HeldCommands from "./HeldCommands.ts"
import * as HeldReads from "./HeldReads.ts"
import * as HeldRunner from "./HeldRunner.ts"
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

/** A command for a held call; `elsewhere`: this runner does not have its client. */
export const HeldCommand = Rpc.make("HeldCommand", {
  payload: {
    command: Schema.Union([...Command.Steering.members, Command.Abort]),
    origin: Schema.String
  },
  success: Schema.Literals(["done", "idle", "elsewhere"]),
  error: ConversationEntity.Unsteered
})

/** The state of a held call. */
export const HeldState = Rpc.make("HeldState", {
  payload: { id: Ids.ConversationId },
  success: ConversationEntity.State.successSchema,
  error: Schema.Union([...ConversationEntity.Missing.members, HeldReads.Elsewhere])
})

/** Waits for the end of a held call. */
export const HeldResult = Rpc.make("HeldResult", {
  payload: { id: Ids.ConversationId, turnId: Ids.TurnId },
  success: ConversationEntity.Result.successSchema,
  error: Schema.Union([...ConversationEntity.Result.errorSchema.members, HeldReads.Elsewhere])
})

/** The events of a held call: of its turn up to the end, otherwise of its conversation after an id. */
export const HeldWatch = Rpc.make("HeldWatch", {
  payload: { id: Ids.ConversationId, after: Schema.Int, turnId: Schema.optionalKey(Ids.TurnId) },
  success: ConversationEntity.Batch,
  error: Schema.Union([...ConversationEntity.Unwatchable.members, HeldReads.Elsewhere]),
  stream: true
})

/** The entity, with all calls of a runner. */
export const RunnerEntity = Entity.make("Runner", [
  CommandAll,
  HeldCommand,
  HeldState,
  HeldResult,
  HeldWatch
]).annotateRpcs(ClusterSchema.InterruptOnTermination, true)

/** The entity, on this runner. */
export const layer = (
  claims: WriteClaims
): Layer.Layer<
  never,
  never,
  Resident.Requirements | Sharding.Sharding | Alarms.Alarms | Lease.Lease | HeldRunner.HeldRunner
> =>
  RunnerEntity.toLayer(
    Effect.gen(function* () {
      const carryOut = yield* StoredCommands.make(claims)
      const { find } = yield* HeldRunner.HeldRunner
      return RunnerEntity.of({
        CommandAll: ({ payload }) => carryOut(payload.commands, payload.origin),
        HeldCommand: ({ payload }) => HeldCommands.carryOut(find, payload.command, payload.origin),
        HeldState: ({ payload: { id } }) => find(id)?.state(id) ?? ELSEWHERE,
        HeldResult: ({ payload: { id, turnId } }) => find(id)?.result(turnId, id) ?? ELSEWHERE,
        HeldWatch: ({ payload: { after, id, turnId } }) => {
          const held = find(id)
          if (held === undefined) return Stream.fromEffect(ELSEWHERE)
          const frames = turnId === undefined ? held.watch(id, after) : held.watchTurn(turnId, id)
          return Batches.of(HeldReads.whileHere(() => find(id) !== undefined, frames))
        }
      })
    }),
    { concurrency: "unbounded", mailboxCapacity: "unbounded", maxIdleTime: "5 seconds" }
  )

// --- internal

const ELSEWHERE = Effect.fail(new HeldReads.Elsewhere())
