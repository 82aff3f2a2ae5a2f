/**
 * Schemas of the lines of `holdfast rpc`: commands in; responses and events out (rule P16).
 *
 * Every line in gets one response, with the line's id where the id can be read. An event is the JSON of `TurnEvent`, unchanged. No event
 * has the type `response`, so the type distinguishes them.
 */
import * as Schema from "effect/Schema"
import * as Command from "../Command.ts"
import * as Commands from "../Commands.ts"
import { ConversationState } from "../ConversationState.ts"
import { TurnId } from "../Ids.ts"
import { TurnEvent } from "../TurnEvent.ts"
import * as CommandText from "./CommandText.ts"

/** Chosen by the client; the response has the same. */
export const RequestId = CommandText.RequestId
export type RequestId = CommandText.RequestId

/** A command of the table with the keys that a transport adds. */
const command = <N extends Commands.Name, Added extends Schema.Struct.Fields>(name: N, added: Added) =>
  Schema.Struct({
    id: Schema.optionalKey(RequestId),
    type: Schema.tag(Commands.snake(name)),
    ...added,
    ...Command.fieldsOf(name)
  })

/** The commands by their type, with the keys that a transport adds. */
export const commandsWith = <Added extends Schema.Struct.Fields>(added: Added) => ({
  ...(Object.fromEntries(Commands.names().map((name) => [Commands.snake(name), command(name, added)])) as unknown as {
    readonly [N in Commands.Name as Commands.Snake<N>]: ReturnType<typeof command<N, Added>>
  }),
  /** Reads the conversation's state (P15). */
  get_state: Schema.Struct({ id: Schema.optionalKey(RequestId), type: Schema.tag("get_state"), ...added })
})

/** The commands by their type. */
export const commands = commandsWith({})

/** A line that is read. */
export const RpcCommand = Schema.Union(Object.values(commands))
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
