/**
 * Schemas of the lines of `holdfast rpc`: commands in; responses and events out (rule P16).
 *
 * RpcLines.R1. Every line in gets one response, with the line's id where the id can be read.
 * RpcLines.R2. An event is the JSON of `TurnEvent`, unchanged. No event has the type `response`, so the type distinguishes them.
 * RpcLines.R3. Commands are closed: an unknown key is an error, so a misspelt one is never ignored.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { Extension } from "../Command.ts"
import { ConversationState } from "../ConversationState.ts"
import { CommandId, TurnId } from "../Ids.ts"
import { Prompt as PromptValue } from "../Prompt.ts"
import { TurnEvent } from "../TurnEvent.ts"
import * as JsonShape from "../values/JsonShape.ts"
import { MomentOrDate } from "../values/Moment.ts"
import * as Quote from "../values/Quote.ts"
import { NonEmptyText } from "../values/Text.ts"

const LONGEST_ID = 64

/** Chosen by the client; the response has the same. */
export const RequestId = Schema.Union([
  Schema.String.check(Schema.isMaxLength(LONGEST_ID, { message: `expected ${LONGEST_ID} characters at most` })),
  Schema.Finite
]).annotate({ message: `expected a number, or a text of ${LONGEST_ID} characters at most` })
export type RequestId = typeof RequestId.Type

const command = <const Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({ id: Schema.optionalKey(RequestId), type: Schema.tag(type), ...fields })

const steering = <const Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  // A repeated command id has no second effect, not even on a later wait (X4).
  command(type, { ...fields, commandId: Schema.optionalKey(CommandId) })

/** The commands by their type. */
export const commands = {
  /** Runs a turn. Answered once the turn is on disk; its progress comes as events. */
  prompt: command("prompt", { prompt: PromptValue }),
  /** Runs the model again from the last user message, after an error or an abort (M1). */
  retry: command("retry", {}),
  /** Ends the retries first, then the turn (P14). */
  abort: command("abort", {}),
  /** Switches automatic retries, from the next failure on (P15). */
  set_auto_retry: command("set_auto_retry", { enabled: Schema.Boolean }),
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
  /** Reads the conversation's state (P15). */
  get_state: command("get_state", {})
} as const

/** A line that is read. */
export const RpcCommand = Schema.Union([
  commands.prompt,
  commands.retry,
  commands.abort,
  commands.set_auto_retry,
  commands.abort_retry,
  commands.retry_now,
  commands.wait_until,
  commands.switch_target,
  commands.extend_budget,
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
  /** Set where `success` is false: what was wrong, and what was expected. */
  error: Schema.optionalKey(Schema.String)
})
export type RpcResponse = typeof RpcResponse.Type

/** A line that is written. */
export const RpcOutput = Schema.Union([RpcResponse, TurnEvent])
export type RpcOutput = typeof RpcOutput.Type

/** Decodes a line to its command, or to the response that refuses it. */
export const decode = (line: string): Result.Result<RpcCommand, RpcResponse> => {
  const parsed = parse(line)
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    return refused(
      {},
      `The line ${Quote.of(line)} is no JSON object. Expected one such as {"id":"1","type":"get_state"}.`
    )
  }
  const { id, type }: { readonly id?: unknown; readonly type?: unknown } = parsed
  const known = isRequestId(id) ? { id } : {}
  if (typeof type !== "string" || !Object.hasOwn(commands, type)) {
    const found = type === undefined ? "is missing" : `is ${Quote.of(JSON.stringify(type))}`
    const given = typeof type === "string" ? { ...known, command: Quote.clip(type) } : known
    return refused(given, `"type" ${found}. Expected one of ${Object.keys(commands).join(", ")}.`)
  }
  const decoded = decodeCommand(parsed)
  return Result.isSuccess(decoded)
    ? Result.succeed(decoded.success)
    : refused({ ...known, command: type }, problemsOf(decoded.failure.issue))
}

/** The response to a line that is too long or is no UTF-8. */
export const unreadable = (error: string): RpcResponse => ({ type: "response", success: false, error })

// --- internal

const isRequestId = Schema.is(RequestId)

const decodeCommand = Schema.decodeUnknownResult(RpcCommand, { onExcessProperty: "error", errors: "all" })

const parse = (line: string): unknown => {
  if (JsonShape.isTextTooDeep(line)) return undefined
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

const refused = (given: Pick<RpcResponse, "id" | "command">, error: string): Result.Result<RpcCommand, RpcResponse> =>
  Result.fail({ ...given, ...unreadable(error) })

const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => (issue._tag === "UnexpectedKey" ? "unknown key" : SchemaIssue.defaultLeafHook(issue))
})

/** More problems than a person corrects at once. */
const MOST_PROBLEMS = 5

const problemsOf = (issue: SchemaIssue.Issue): string =>
  formatIssues(issue)
    .issues.slice(0, MOST_PROBLEMS)
    .map(({ message, path = [] }) => {
      const where = path.map((segment) => String(typeof segment === "object" ? segment.key : segment)).join(".")
      return where === "" ? message : `${JSON.stringify(Quote.clip(where))}: ${message}`
    })
    .join("; ")
