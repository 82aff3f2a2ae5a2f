/**
 * A conversation as the cluster knows it: what can be asked of its owner, whichever runner that is.
 *
 * ConversationEntity.E1. Every message is volatile: it is for the owner that there is now, and is sent again when that one is gone. So all of them
 *     can be sent twice: a turn and a command carry their ids from the runner that they came in at.
 * ConversationEntity.E2. Frames travel as batches, one message each, however many deltas they hold.
 * ConversationEntity.E3. No message holds up an owner that has to go: not a stream or a result, and not what waits for a disk, or to be sure of the owner.
 * ConversationEntity.E4. A command names the turn that it was meant for: sent again, it cannot hit the next one.
 */
import { StorageError } from "@holdfast/journal"
import { TurnStopped } from "@holdfast/kernel"
import { Command, ConversationState, defined, Ids, Labels, Prompt as WirePrompt, TurnEvent } from "@holdfast/wire"
import { Schema, SchemaTransformation } from "effect"
import { ClusterSchema, Entity } from "effect/cluster"
import { Rpc } from "effect/rpc"
import {
  ConversationNotFound,
  InvalidRequest,
  ShuttingDown,
  SubscriberTooSlow,
  TurnConflict
} from "../conversation/Conversations.ts"

/** Frames of one conversation on their way to another runner: each event's text, and its id where it is persisted. */
export const Batch = Schema.Array(Schema.Tuple([Schema.String, Schema.NullOr(Schema.Int)]))
export type Batch = typeof Batch.Type

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

/** The refusals of a read. */
export const Missing = Schema.Union([ConversationNotFound, StorageError])
const Unheard = Schema.Union([ConversationNotFound, StorageError, Stopped])
const Refused = Schema.Union([ConversationNotFound, TurnConflict, ShuttingDown, StorageError])
/** How a subscription ends before its turn. */
export const Unwatchable = Schema.Union([ConversationNotFound, StorageError, SubscriberTooSlow, Stopped])

/** The refusals of a command on a wait. */
export const Unsteered = Schema.Union([...Unheard.members, InvalidRequest])

/** Accepts a prompt as a turn with this id; answered when it is on disk. The same id again is the same turn. */
export const Prompt = Rpc.make("Prompt", {
  payload: {
    prompt: WirePrompt.Prompt,
    turnId: Ids.TurnId,
    labels: Schema.optionalKey(Labels.Labels),
    isSubmitted: Schema.optionalKey(Schema.Boolean),
    webhook: Schema.optionalKey(Schema.String)
  },
  success: Ids.TurnId,
  error: Refused
})

/** Runs the model again, as a turn with this id, without a new message. */
export const Retry = Rpc.make("Retry", {
  payload: { turnId: Ids.TurnId, isSubmitted: Schema.optionalKey(Schema.Boolean) },
  success: Ids.TurnId,
  error: Refused
})

/** Ends a turn; `false` if it had ended. Answered when the seal is on disk. */
export const Abort = Rpc.make("Abort", {
  payload: { turnId: Ids.TurnId },
  success: Schema.Boolean,
  error: Unheard
})

/** A command on a wait: on the named turn, otherwise on the first one. `false` if it found nothing to do. */
export const Steer = Rpc.make("Steer", {
  payload: { command: Command.Steering, origin: Schema.String, turnId: Schema.optionalKey(Ids.TurnId) },
  success: Schema.Boolean,
  error: Unsteered
})

/** Switches the automatic retries of the conversation. */
export const SetAutoRetry = Rpc.make("SetAutoRetry", {
  payload: { enabled: Schema.Boolean },
  error: Missing
})

/** Changes the model of turns that are accepted from now on. */
export const SetModel = Rpc.make("SetModel", {
  payload: { model: Schema.String, ifOther: Schema.optionalKey(Schema.Boolean) },
  error: Schema.Union([...Missing.members, InvalidRequest])
})

/** Replaces the answers that hold for every call of a tool. */
export const SetToolAnswers = Rpc.make("SetToolAnswers", {
  payload: { toolAnswers: ConversationState.ToolAnswers },
  error: Missing
})

/** The state of the conversation. */
export const State = Rpc.make("State", { success: ConversationState.ConversationState, error: Missing })

/** The turn that a command would be for. */
export const Head = Rpc.make("Head", { success: Schema.NullOr(Ids.TurnId), error: Missing })

/** Waits for the end of a turn. */
export const Result = Rpc.make("Result", {
  payload: { turnId: Ids.TurnId },
  success: Schema.Struct({ turnId: Ids.TurnId, end: TurnEvent.TurnEnd, text: Schema.String }),
  error: Schema.Union([StorageError, Stopped])
})

/** The events of the conversation after the one with this id, without an end. */
export const Watch = Rpc.make("Watch", {
  payload: { after: Schema.Int },
  success: Batch,
  error: Unwatchable,
  stream: true
})

/** The events of one turn, up to its end. */
export const WatchTurn = Rpc.make("WatchTurn", {
  payload: { turnId: Ids.TurnId },
  success: Batch,
  error: Unwatchable,
  stream: true
})

/** The conversation was deleted: its streams end. */
export const EndStreams = Rpc.make("EndStreams", { error: StorageError })

/** Runs what is left to run of the conversation now; ends when every turn of it is sealed, or the next waits on disk. */
export const Stay = Rpc.make("Stay")

/** Keeps the conversation in memory until the caller leaves, or the owner goes. */
export const Attend = Rpc.make("Attend")

/** A conversation as an entity of the cluster, with all calls of its owner. */
export const ConversationEntity = Entity.make("Conversation", [
  Prompt,
  Retry,
  Abort,
  Steer,
  SetAutoRetry,
  SetModel,
  SetToolAnswers,
  State,
  Head,
  Result,
  Watch,
  WatchTurn,
  EndStreams,
  Stay,
  Attend
]).annotateRpcs(ClusterSchema.InterruptOnTermination, true) // ConversationEntity.E3
