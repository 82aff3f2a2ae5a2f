/**
 * What can be asked of the runner that owns a conversation, and its answers: all come from the orchestrator of its process.
 *
 * Remote.E1. Every message is volatile: it is for the owner that there is now, and is sent again when that one is gone. So a turn and a command
 *     carry their ids from the runner that they came in at, and a command names its turn: sent again, it cannot hit the next one.
 * Remote.E2. A runner that is not sure of its ownership accepts no turn, and neither accepts nor refuses a command: the owner would not learn
 *     of it. A caller waits for the ownership no longer than for a disk.
 * Remote.E3. No message holds up an owner that has to go: not a stream or a result, and not what waits for a disk.
 */
import { StorageError } from "@holdfast/journal"
import { TurnStopped } from "@holdfast/kernel"
import { Command, ConversationState, defined, Ids, Labels, Prompt, TurnEvent } from "@holdfast/wire"
import { Effect, Option, Schema, SchemaTransformation, Stream } from "effect"
import { ClusterSchema, Entity } from "effect/cluster"
import { Rpc } from "effect/rpc"
import {
  ConversationNotFound,
  type Conversations,
  InvalidRequest,
  ShuttingDown,
  SubscriberTooSlow,
  TurnConflict
} from "../conversation/Conversations.ts"
import type { HeldCalls } from "../conversation/HeldCalls.ts"
import type { Charge } from "../orchestrator/Orchestrator.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import type { Store } from "../storage/Store.ts"
import * as Frames from "./Frames.ts"
import { Elsewhere, type Shards } from "./Shards.ts"

/** No runner has the client of a held call, and its turn takes no command but an abort. */
export class Unattached extends Schema.TaggedError<Unattached>()("Unattached", {}) {
  override get message(): string {
    return (
      "No runner could be found that has the program of this call, so the command was not carried out: the call waits until its program " +
      "asks again. Send the command again then, or abort the call."
    )
  }
}

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
    error: Schema.Union([...Missing, Stopped, InvalidRequest, Unattached])
  }),
  Rpc.make("SetAutoRetry", { payload: { id, enabled: Schema.Boolean }, error: missing }),
  Rpc.make("SetModel", {
    payload: { id, model: Schema.String, ifOther: Schema.optionalKey(Schema.Boolean) },
    error: Schema.Union([...Missing, InvalidRequest])
  }),
  Rpc.make("SetToolAnswers", { payload: { id, toolAnswers: ConversationState.ToolAnswers }, error: missing }),
  Rpc.make("State", { payload: { id }, success: ConversationState.ConversationState, error: missing }),
  /** The turn that a command would be for. */
  Rpc.make("Head", { payload: { id }, success: Schema.NullOr(turnId), error: missing }),
  Rpc.make("Result", {
    payload: { id, turnId },
    success: Schema.Struct({ turnId, end: TurnEvent.TurnEnd, text: Schema.String }),
    error: Schema.Union([StorageError, Elsewhere, Stopped])
  }),
  /** The events of a turn, up to its end; otherwise of its conversation after an id, without an end. */
  Rpc.make("Watch", {
    payload: { id, after: Schema.Int, turnId: Schema.optionalKey(turnId) },
    success: Frames.Batch,
    error: Unwatchable,
    stream: true
  }),
  Rpc.make("EndStreams", { payload: { id }, error: Schema.Union([StorageError, Elsewhere]) })
]).annotateRpcs(ClusterSchema.InterruptOnTermination, true) // Remote.E3

/** What answers the messages. */
export interface Dependencies {
  readonly own: Conversations["Service"]
  readonly charge: Charge
  readonly shards: Shards
  readonly calls: HeldCalls["Service"]
  readonly store: Pick<Store["Service"], "turn">
}

/** The answers of this runner. */
export const layer = ({ calls, charge, own, shards, store }: Dependencies) => {
  /** Remote.E2; a held call is where its client is. */
  const ready = (id: Ids.ConversationId) => (calls.has(id) ? Effect.void : shards.ready(id))
  const owned = <A, E>(id: Ids.ConversationId, effect: Effect.Effect<A, E>) => Effect.andThen(ready(id), effect)
  /** A command that finds nothing to do, while the conversation leaves, may find it at the next owner. */
  const commanded = <E>(id: Ids.ConversationId, command: Effect.Effect<boolean, E>) =>
    Effect.filterOrFail(
      owned(id, command),
      (isDone) => isDone || calls.has(id) || shards.isReady(id),
      () => new Elsewhere()
    )
  return Remote.toLayer(
    Remote.of({
      Prompt: ({ payload: { id, ...options } }) => owned(id, own.prompt(id, options)),
      Retry: ({ payload: { id, ...options } }) => owned(id, own.retry(id, options)),
      Abort: ({ payload: { id, turnId } }) => commanded(id, own.abort(id, turnId)),
      Steer: ({ payload: { command, origin, turnId } }) => {
        const { conversationId } = command
        const attached: ReturnType<Unattachable> =
          HeldCallIds.isHeld(conversationId) && !calls.has(conversationId)
            ? unattached(store, conversationId, turnId)
            : own.steer(command, origin, turnId)
        return commanded(conversationId, attached)
      },
      SetAutoRetry: ({ payload: { enabled, id } }) => owned(id, own.setAutoRetry(id, enabled)),
      SetModel: ({ payload: { id, model, ...options } }) => owned(id, own.setModel(id, model, options)),
      SetToolAnswers: ({ payload: { id, toolAnswers } }) => owned(id, own.setToolAnswers(id, toolAnswers)),
      State: ({ payload: { id } }) => owned(id, own.state(id)),
      Head: ({ payload: { id } }) =>
        owned(
          id,
          Effect.sync(() => charge.headOf(id) ?? null)
        ),
      Result: ({ payload: { id, turnId } }) => owned(id, own.result(turnId, id)),
      Watch: ({ payload: { after, id, turnId } }) => {
        const frames = turnId === undefined ? own.watch(id, after) : own.watchTurn(turnId, id)
        return Frames.batches(Stream.unwrap(Effect.as(ready(id), frames)))
      },
      EndStreams: ({ payload: { id } }) => owned(id, own.endStreams(id))
    }),
    { concurrency: "unbounded", mailboxCapacity: "unbounded", maxIdleTime: "5 seconds" }
  )
}

/** Whether this runner has a conversation at this moment: the client of its held call, or its shard. */
export const isHere = ({ calls, shards }: Pick<Dependencies, "calls" | "shards">, id: Ids.ConversationId): boolean =>
  HeldCallIds.isHeld(id) ? calls.has(id) : shards.isReady(id)

// --- internal

/** A command for a held call without a client: there is nothing to do for it once its turn has ended. */
const unattached = (
  store: Dependencies["store"],
  conversationId: Ids.ConversationId,
  meant: Ids.TurnId | undefined
): ReturnType<Unattachable> =>
  Effect.gen(function* () {
    const turnId = HeldCallIds.turnOf(conversationId)
    const turn = Option.getOrUndefined(yield* store.turn(turnId))
    if (turn === undefined) return yield* new ConversationNotFound({ conversationId })
    if (turn.end !== undefined || (meant ?? turnId) !== turnId) return false
    return yield* new Unattached()
  })

/** A command for a call that may have no client. */
type Unattachable = (
  ...steer: Parameters<Conversations["Service"]["steer"]>
) => Effect.Effect<boolean, Effect.Error<ReturnType<Conversations["Service"]["steer"]>> | Unattached>
