/**
 * Defines the messages to the runner that owns a conversation, and answers them by the orchestrator of that runner.
 *
 * Remote.E1. Every message is volatile: it is for the owner that there is now, and is sent again when that one is gone. So a turn and a command
 *     carry their ids from the runner that they came in at, and a command names its turn: sent again, it cannot hit the next one.
 * Remote.E2. A runner that is not sure of its ownership accepts no turn, and neither accepts nor refuses a command: the owner would not learn
 *     of it. A caller waits for the ownership no longer than for a disk.
 * Remote.E3. No message holds up an owner that has to go: not a stream or a result, and not what waits for a disk.
 */
import { StorageError } from "@holdfast/journal"
import { TurnStopped } from "@holdfast/kernel"
import { Command, ConversationState, defined, Ids, Labels, Prompt } from "@holdfast/wire"
import { Effect, Schema, SchemaTransformation, Stream } from "effect"
import { ClusterSchema, Entity } from "effect/cluster"
import { Rpc } from "effect/rpc"
import {
  ConversationNotFound,
  type Conversations,
  InvalidRequest,
  ShuttingDown,
  SubscriberTooSlow,
  TurnConflict
} from "../engine/conversation/Conversations.ts"
import type { HeldCalls } from "../engine/conversation/HeldCalls.ts"
import type { Charge } from "../engine/orchestrator/Orchestrator.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import * as Frames from "./Frames.ts"
import { Elsewhere, type Shards } from "./Shards.ts"

/** The stop of a turn, as it travels between runners. */
const Stopped = Schema.TaggedStruct("TurnStopped", {
  message: Schema.String,
  defect: Schema.optionalKey(Schema.Literal(true))
}).pipe(
  Schema.decodeTo(
    Schema.instanceOf(TurnStopped.TurnStopped),
    SchemaTransformation.transform({
      decode: ({ defect, message }) => new TurnStopped.TurnStopped({ message, ...defined({ defect }) }),
      encode: ({ defect, message }) => ({ _tag: "TurnStopped" as const, message, ...defined({ defect }) })
    })
  )
)

const id = Ids.ConversationId
const turnId = Ids.TurnId
const isSubmitted = Schema.optionalKey(Schema.Boolean)
const Missing = [ConversationNotFound, StorageError, Elsewhere] as const
const Refused = Schema.Union([...Missing, TurnConflict, ShuttingDown])
const Unwatchable = Schema.Union([...Missing, SubscriberTooSlow, Stopped])
const missing = Schema.Union(Missing)

/** The runners: an entity for each shard, which is at the shard's owner and holds nothing. */
export const Remote = Entity.make("Runner", [
  Rpc.make("Prompt", {
    payload: {
      id,
      prompt: Prompt.Prompt,
      turnId,
      labels: Schema.optionalKey(Labels.Labels),
      isSubmitted,
      webhook: Schema.optionalKey(Schema.String)
    },
    success: turnId,
    error: Refused
  }),
  Rpc.make("Retry", { payload: { id, turnId, isSubmitted }, success: turnId, error: Refused }),
  Rpc.make("Abort", {
    payload: { id, turnId: Schema.optionalKey(turnId) },
    success: Schema.Boolean,
    error: Schema.Union([...Missing, Stopped])
  }),
  Rpc.make("Steer", {
    payload: { command: Command.Steering, origin: Schema.String, turnId: Schema.optionalKey(turnId) },
    success: Schema.Boolean,
    error: Schema.Union([...Missing, Stopped, InvalidRequest])
  }),
  Rpc.make("Change", {
    payload: { command: Command.SettingCommand, ifOther: Schema.optionalKey(Schema.Boolean) },
    error: Schema.Union([...Missing, InvalidRequest])
  }),
  Rpc.make("State", { payload: { id }, success: ConversationState.ConversationState, error: missing }),
  /** The turn that a command would be for. */
  Rpc.make("Head", { payload: { id }, success: Schema.NullOr(turnId), error: missing }),
  /** The events of a turn, up to its end, or that end alone; otherwise of its conversation after an id, without an end. */
  Rpc.make("Watch", {
    payload: { id, after: Schema.Int, turnId: Schema.optionalKey(turnId), isEnd: Schema.optionalKey(Schema.Boolean) },
    success: Frames.Batch,
    error: Unwatchable,
    stream: true
  }),
  Rpc.make("EndStreams", { payload: { id }, error: Schema.Union([StorageError, Elsewhere]) })
]).annotateRpcs(ClusterSchema.InterruptOnTermination, true) // Remote.E3

type Calls = typeof Remote extends Entity.Entity<infer _, infer Rpcs> ? Rpcs : never
type Call<Tag extends string> = Rpc.ExtractTag<Calls, Tag>

/** What can be asked of an owner beside streams, in this process or by messages, which may not reach it. */
export type Answers<Unreached = never> = {
  readonly [Tag in Exclude<Calls["_tag"], "Watch">]: (
    payload: Rpc.Payload<Call<Tag>>
  ) => Effect.Effect<Rpc.Success<Call<Tag>>, Rpc.Error<Call<Tag>> | Unreached>
}

/** What answers the messages. */
export interface Dependencies {
  readonly own: Conversations["Service"]
  readonly charge: Charge
  readonly shards: Shards
  readonly calls: HeldCalls["Service"]
}

/** The answers of this runner. */
export const answersOf = ({ calls, charge, own, shards }: Dependencies): Answers => {
  const owned = <A, E>(id: Ids.ConversationId, effect: Effect.Effect<A, E>) =>
    Effect.andThen(ready({ calls, shards }, id), effect)
  /** A command that finds nothing to do, while the conversation leaves, may find it at the next owner. */
  const commanded = <E>(id: Ids.ConversationId, command: Effect.Effect<boolean, E>) =>
    Effect.filterOrFail(
      owned(id, command),
      (isDone) => isDone || calls.has(id) || shards.isReady(id),
      () => new Elsewhere()
    )
  return {
    Prompt: ({ id, ...options }) => owned(id, own.prompt(id, options)),
    Retry: ({ id, ...options }) => owned(id, own.retry(id, options)),
    Abort: ({ id, turnId }) => commanded(id, own.abort(id, turnId)),
    Steer: ({ command, origin, turnId }) => {
      const id = command.conversationId
      // Its client has left this runner, or has not come yet.
      if (HeldCallIds.isHeld(id) && !calls.has(id)) return new Elsewhere()
      return commanded(id, own.steer(command, origin, turnId))
    },
    Change: ({ command, ...options }) => owned(command.conversationId, own.change(command, options)),
    State: ({ id }) => owned(id, own.state(id)),
    Head: ({ id }) =>
      owned(
        id,
        Effect.sync(() => charge.headOf(id) ?? null)
      ),
    EndStreams: ({ id }) => owned(id, own.endStreams(id))
  }
}

/** Has this runner answer the messages of others. */
export const layer = (dependencies: Dependencies) => {
  const answers = answersOf(dependencies)
  const { own } = dependencies
  return Remote.toLayer(
    Remote.of({
      Prompt: ({ payload }) => answers.Prompt(payload),
      Retry: ({ payload }) => answers.Retry(payload),
      Abort: ({ payload }) => answers.Abort(payload),
      Steer: ({ payload }) => answers.Steer(payload),
      Change: ({ payload }) => answers.Change(payload),
      State: ({ payload }) => answers.State(payload),
      Head: ({ payload }) => answers.Head(payload),
      EndStreams: ({ payload }) => answers.EndStreams(payload),
      Watch: ({ payload: { after, id, isEnd = false, turnId } }) => {
        const frames = turnId === undefined ? own.watch(id, after) : own.watchTurn(turnId, id)
        const wanted = isEnd ? Stream.filter(frames, Frames.isEnd) : frames
        return Frames.batches(Stream.unwrap(Effect.as(ready(dependencies, id), wanted)))
      }
    }),
    { concurrency: "unbounded", mailboxCapacity: "unbounded", maxIdleTime: "5 seconds" }
  )
}

// --- internal

/** Remote.E2; a held call is where its client is. */
const ready = ({ calls, shards }: Pick<Dependencies, "calls" | "shards">, id: Ids.ConversationId) =>
  calls.has(id) ? Effect.void : shards.ready(id)
