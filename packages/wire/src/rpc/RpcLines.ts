/**
 * Schemas of the lines of `holdfast rpc`: commands in; responses and events out (rule P16).
 *
 * Every line in gets one response, with the line's id where the id can be read. An event is the JSON of `TurnEvent`, unchanged. No event
 * has the type `response`, so the type distinguishes them.
 */
import * as Schema from "effect/Schema"
import { Extension, toolAnswer } from "../Command.ts"
import { ConversationState, ToolAnswers } from "../ConversationState.ts"
import { CommandId, TurnId } from "../Ids.ts"
import { Prompt as PromptValue } from "../Prompt.ts"
import { TurnEvent } from "../TurnEvent.ts"
import { MomentOrDate } from "../values/Moment.ts"
import { NonEmptyText } from "../values/Text.ts"
import * as CommandText from "./CommandText.ts"

/** Chosen by the client; the response has the same. */
export const RequestId = CommandText.RequestId
export type RequestId = CommandText.RequestId

const command = <const Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({ id: Schema.optionalKey(RequestId), type: Schema.tag(type), ...fields })

const steering = <const Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  // A repeated command id has no second effect, not even on a later wait (X4).
  command(type, { ...fields, commandId: Schema.optionalKey(CommandId) })

/** The commands by their type. */
export const commands = {
  /** Runs a turn. Answered once the turn is on disk; its progress comes as events. A repeated `turnId` is the same turn. */
  prompt: command("prompt", { prompt: PromptValue, turnId: Schema.optionalKey(TurnId) }),
  /** Runs the model again from the last user message, after an error or an abort (M1). */
  retry: command("retry", { turnId: Schema.optionalKey(TurnId) }),
  /** Ends the retries first, then the turn (P14). */
  abort: command("abort", {}),
  /** Switches automatic retries, from the next failure on (P15). */
  set_auto_retry: command("set_auto_retry", { enabled: Schema.Boolean }),
  /** Changes the model of turns that are accepted from now on. */
  set_model: command("set_model", { model: NonEmptyText }),
  /** Replaces the answers that hold for every call of a tool. */
  set_tool_answers: command("set_tool_answers", { toolAnswers: ToolAnswers }),
  /** Gives up: ends the wait, the chain, and the turn with its last error (P14, X4). */
  abort_retry: steering("abort_retry", {}),
  /** Ends the wait and makes the next attempt (X4). */
  retry_now: steering("retry_now", {}),
  /** Moves the end of the wait (X4). */
  wait_until: steering("wait_until", { until: MomentOrDate }),
  /** Ends the wait; the rest of the turn runs on this `provider/model` (X4). */
  switch_target: steering("switch_target", { model: NonEmptyText }),
  /** Adds to the budget of the step that waits (X4). */
  extend_budget: steering("extend_budget", { byMs: Extension }),
  /** Approves or refuses a tool call that waits for a person. */
  answer_tool: steering("answer_tool", toolAnswer),
  /** Reads the conversation's state (P15). */
  get_state: command("get_state", {})
} as const

/** A line that is read. */
export const RpcCommand = Schema.Union([
  commands.prompt,
  commands.retry,
  commands.abort,
  commands.set_auto_retry,
  commands.set_model,
  commands.set_tool_answers,
  commands.abort_retry,
  commands.retry_now,
  commands.wait_until,
  commands.switch_target,
  commands.extend_budget,
  commands.answer_tool,
  commands.get_state
])
export type RpcCommand = typeof RpcCommand.Type

/** What `prompt` and `retry` answer: the turn that was accepted. */
export const Accepted = Schema.Struct({ turnId: TurnId })

/** What `abort` and the commands on a wait answer: whether there was a turn, or a wait, to act on. */
export const Applied = Schema.Struct({ applied: Schema.Boolean })

/** What `get_state` answers. */
export const RpcState = Schema.Struct({
  ...ConversationState.fields,
  /** The id of the last persisted event among the lines before this one; 0 before the first. `--after` takes it. */
  lastEventId: Schema.Int
})
export type RpcState = typeof RpcState.Type

/** The answer to one line. */
export const RpcResponse = Schema.Struct({
  /** The command's. Absent where it had none, or none that could be read. */
  id: Schema.optionalKey(RequestId),
  type: Schema.tag("response"),
  /** The command's type. Absent where it could not be read. */
  command: Schema.optionalKey(Schema.String),
  success: Schema.Boolean,
  /** Set on success, where the command has an answer. */
  data: Schema.optionalKey(Schema.Union([RpcState, Accepted, Applied])),
  /** Set where `success` is false: the name of the problem, as in the types of the API's problems. */
  code: Schema.optionalKey(Schema.String),
  /** Set where `success` is false: what was wrong, and what was expected. */
  error: Schema.optionalKey(Schema.String)
})
export type RpcResponse = typeof RpcResponse.Type

/** A line that is written. */
export const RpcOutput = Schema.Union([RpcResponse, TurnEvent])
export type RpcOutput = typeof RpcOutput.Type

/** Decodes a line to its command, or to the response that refuses it. */
export const decode = CommandText.decoder("line", Object.keys(commands), RpcCommand)

/** The response to a line that is too long or is no UTF-8. */
export const unreadable: (error: string) => RpcResponse = CommandText.unreadable
