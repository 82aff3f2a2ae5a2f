/**
 * Schemas of the events of a turn, in the order of their emission.
 *
 * An event is persisted or transient, according to its type. Events are plain objects: encoding is one `JSON.stringify`; only decoding
 * validates. After `turn-end` no event of that turn is emitted.
 *
 * TurnEvent.E2. A persisted event is on disk before a client receives it. A transient event is never on disk, in the history or in a
 *     prompt (D6); its comment names the persisted event that replaces it after a reconnect.
 */
import * as Schema from "effect/Schema"
import { Failure, Reason } from "./Failure.ts"
import { ModelFile } from "./FilePart.ts"
import { ConversationId, TurnId } from "./Ids.ts"
import { Tag } from "./Labels.ts"
import { Message, Usage } from "./Message.ts"

const event = <const Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({ type: Schema.tag(type), conversationId: ConversationId, turnId: TurnId, ...fields })

/** Epoch milliseconds. */
const Timestamp = Schema.Finite

// --- transient

/**
 * The text of a step begins. The step's `message` replaces it.
 *
 * **Gotchas**
 *
 * The event is repeated for the same step: on every connection that joins in the middle of the step, and when another process
 * makes its next attempt. Each time the step's text is emitted again from its beginning, so a client discards the text that it
 * holds of the step.
 */
export const StepStart = event("step-start", {
  /** 0-based. */
  step: Schema.Int,
  /** `provider/model`. */
  target: Schema.String
})
export type StepStart = typeof StepStart.Type

/** Text as it arrives: adjacent text of one read of the provider's response. The step's `message` replaces it. */
export const TextDelta = event("text-delta", { delta: Schema.String })
export type TextDelta = typeof TextDelta.Type

/** Reasoning as it arrives, like text. The step's `message` replaces it. */
export const ReasoningDelta = event("reasoning-delta", { delta: Schema.String })
export type ReasoningDelta = typeof ReasoningDelta.Type

/** A file of the model, whole. The step's `message` replaces it. */
export const FileEvent = event("file", { file: ModelFile })
export type FileEvent = typeof FileEvent.Type

/** A tool call that a person has to approve. */
export const AskedCall = Schema.Struct({
  toolCallId: Schema.String,
  toolName: Schema.String,
  /** The beginning of its arguments as JSON: 200 characters at most. The event `tool-call` has all of them. */
  quoted: Schema.String
})
export type AskedCall = typeof AskedCall.Type

/** Names a limit of spending, and which of its sums. */
export const LimitName = Schema.Struct({
  /** Its place in `spend`, from 0. */
  limit: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  /** Of a limit of each tag by itself. */
  tag: Schema.optionalKey(Tag),
  /** Of a limit of each conversation. */
  conversationId: Schema.optionalKey(ConversationId)
})
export type LimitName = typeof LimitName.Type

/**
 * Why a turn asks a person: its next attempt could exceed a limit of spending (X11), or the model calls tools that need approval.
 *
 * - `request`: after a long wait, the limit of one request.
 * - `turn`: after a long wait, the limit of the turn's tokens so far.
 * - `spend`: a limit of what may be spent a day.
 * - `tools`: `calls` run once a person approves them. `tokens`, `limit` and `waitedMs` are 0.
 */
export const Asks = Schema.Struct({
  because: Schema.Literals(["request", "turn", "spend", "tools"]),
  /** Estimated tokens of the next request; or tokens of the turn's responses so far, input and output; or those of the day. */
  tokens: Schema.Int,
  /** The most tokens that are spent without an answer. 0 for a limit of money alone: `message` has the amounts. */
  limit: Schema.Int,
  /** How long the step has waited since a person's last command, in milliseconds. */
  waitedMs: Schema.Finite,
  /** The question, for a person. */
  message: Schema.String,
  /** The limit, set for `spend`: a person may raise it instead of an answer. */
  raises: Schema.optionalKey(LimitName),
  /** Without an answer in time the turn goes on; absent: it gives up. */
  goesOn: Schema.optionalKey(Schema.Literal(true)),
  /** The calls without an answer; set for `tools`. */
  calls: Schema.optionalKey(Schema.Array(AskedCall))
})
export type Asks = typeof Asks.Type

/**
 * A wait begins (D5). The conversation's state replaces it, and finally `retry-end`.
 *
 * **Gotchas**
 *
 * With `asks` the turn waits for a person, not for a time: at `retryAt` the turn ends instead of retrying, unless the question `goesOn`. A question about tool calls
 * (`because: "tools"`) follows no error: `message` has the question, `reason` is `unknown`, and at `retryAt` the calls count as refused.
 */
export const ProviderRetry = event("provider-retry", {
  /** 0-based: the retry that is about to happen. */
  attempt: Schema.Int,
  /** The length of the wait in milliseconds, which ends at `retryAt`. */
  delayMs: Schema.Finite,
  /** When the retry is due; with `asks`, the deadline for an answer. Countdowns run to it. */
  retryAt: Timestamp,
  /** The endpoint's error, verbatim. */
  message: Schema.String,
  /** The HTTP status or the provider's code, when known. */
  code: Schema.optionalKey(Schema.String),
  reason: Reason,
  /** `provider/model` of the attempt that failed. */
  target: Schema.String,
  /** The name of the credential that the retry uses, where one was chosen (P7). */
  credential: Schema.optionalKey(Schema.String),
  /** The most retries that are possible, where there is such a limit. */
  maxAttempts: Schema.optionalKey(Schema.Int),
  /**
   * The turn continues on the command retry-now, switch-target or wait-until; without one it gives up (X11). A question about tool calls
   * is answered by answer-tool alone.
   */
  asks: Schema.optionalKey(Asks)
})
export type ProviderRetry = typeof ProviderRetry.Type

/**
 * Tool servers are not up, so the turn runs without their tools; with `until` it waits for them. No persisted event replaces it; the
 * log has the same facts. It is emitted once in each process that runs the turn, and to every client that connects while it holds.
 */
export const ToolsMissing = event("tools-missing", {
  servers: Schema.Array(
    Schema.Struct({
      server: Schema.String,
      /** Why it is not up. */
      message: Schema.String
    })
  ),
  /** The servers are required: the turn waits until this time, and fails if one is still missing. The next `step-start` ends the wait. */
  until: Schema.optionalKey(Timestamp)
})
export type ToolsMissing = typeof ToolsMissing.Type

// --- persisted

/** A turn starts. */
export const TurnStart = event("turn-start", {
  startedAt: Timestamp,
  /** Set on a manual retry (M1): there is no new prompt. */
  retry: Schema.optionalKey(Schema.Literal(true))
})
export type TurnStart = typeof TurnStart.Type

/** The model requests a tool call. */
export const ToolCall = event("tool-call", {
  toolCallId: Schema.String,
  toolName: Schema.String,
  input: Schema.Json
})
export type ToolCall = typeof ToolCall.Type

/** A tool call has a result. */
export const ToolResult = event("tool-result", {
  toolCallId: Schema.String,
  toolName: Schema.String,
  output: Schema.Json,
  isError: Schema.Boolean
})
export type ToolResult = typeof ToolResult.Type

/** Tokens of one step. */
export const UsageEvent = event("usage", { step: Schema.Int, usage: Usage })
export type UsageEvent = typeof UsageEvent.Type

/** A message is finished and part of the history. */
export const MessageEvent = event("message", { message: Message })
export type MessageEvent = typeof MessageEvent.Type

/**
 * What follows a failure of the transport after content (X7).
 *
 * - `fail`: nothing is retried (D4).
 * - `discard`: the content is void (`step-discarded`), and the step is retried.
 * - `unseen`: the same, but only if no client has received any of the content.
 */
export const MidStream = Schema.Literals(["fail", "discard", "unseen"])
export type MidStream = typeof MidStream.Type

/** Closes the chain of retries that `provider-retry` opened (P11). */
export const RetryEnd = event("retry-end", {
  success: Schema.Boolean,
  /** The last retry that was made or waited for; 0-based as in `provider-retry`. */
  attempt: Schema.Int,
  finalError: Schema.optionalKey(Schema.String),
  /**
   * What was done about the step's last failure after content: `fail` ended the chain; `discard` and `unseen` voided the content (X7).
   * Absent: no attempt failed after content.
   */
  midStream: Schema.optionalKey(MidStream)
})
export type RetryEnd = typeof RetryEnd.Type

/** The content emitted so far for this step is void; the next content replaces it (X2, X7). */
export const StepDiscarded = event("step-discarded", {
  step: Schema.Int,
  message: Schema.String,
  /** The tokens of the void attempt, which count in `turn-end`; absent: its provider had not reported them. */
  usage: Schema.optionalKey(Usage)
})
export type StepDiscarded = typeof StepDiscarded.Type

/** Another target takes over (P8). */
export const RetryFallbackApplied = event("retry-fallback-applied", {
  from: Schema.String,
  to: Schema.String,
  role: Schema.String
})
export type RetryFallbackApplied = typeof RetryFallbackApplied.Type

/** The fallback target has had its first success (P8). */
export const RetryFallbackSucceeded = event("retry-fallback-succeeded", {
  model: Schema.String,
  role: Schema.String
})
export type RetryFallbackSucceeded = typeof RetryFallbackSucceeded.Type

/** From this event on the turn runs on another model (P8, X4). */
export const ModelChange = event("model-change", { from: Schema.String, to: Schema.String })
export type ModelChange = typeof ModelChange.Type

/** The model received guidance why its answer was not accepted (A9). */
export const SyntheticRetry = event("synthetic-retry", { step: Schema.Int, guidance: Schema.String })
export type SyntheticRetry = typeof SyntheticRetry.Type

/** Older messages were replaced by a summary (P19). */
export const Compaction = event("compaction", {
  summary: Schema.String,
  /** The number of messages that the summary replaces. */
  messages: Schema.Int
})
export type Compaction = typeof Compaction.Type

/** From this event on the model is offered the final report alone (A11). */
export const FinalTurn = event("final-turn", {
  step: Schema.Int,
  cause: Schema.String,
  /** With cause `malformed-report`: the turn's former limit of steps; absent where it had none (A12). */
  shortenedFrom: Schema.optionalKey(Schema.Int)
})
export type FinalTurn = typeof FinalTurn.Type

/** The error that the turn failed with (D7). */
export const ErrorEvent = event("error", {
  message: Schema.String,
  reason: Reason,
  code: Schema.optionalKey(Schema.String)
})
export type ErrorEvent = typeof ErrorEvent.Type

/** How a turn ended. */
export const TurnStatus = Schema.Literals(["completed", "failed", "aborted"])
export type TurnStatus = typeof TurnStatus.Type

/**
 * A turn's final report, where one is required (A13).
 *
 * - `tool-call`: the model called the report tool.
 * - `tool-message`: the model's whole text was the report.
 * - `synthetic`: the turn failed without a report; Holdfast wrote one with the reason (A14).
 */
export const Report = Schema.Struct({
  source: Schema.Literals(["tool-call", "tool-message", "synthetic"]),
  success: Schema.Boolean,
  content: Schema.Json
})
export type Report = typeof Report.Type

/** The turn is sealed: its status, its totals, and its report or error. */
export const TurnEnd = event("turn-end", {
  status: TurnStatus,
  endedAt: Timestamp,
  /** Steps that were finished. */
  steps: Schema.Int,
  /** Calls of a provider, retries included. */
  attempts: Schema.Int,
  /** Scheduled sleep of all steps: what the budget counts (D2). */
  sleptMs: Schema.Finite,
  /** The actual duration of the waits of all steps, in milliseconds. Absent where an older version sealed the turn. */
  waitedMs: Schema.optionalKey(Schema.Finite),
  usage: Usage,
  /** Set on `failed`: the error of the `error` event. */
  error: Schema.optionalKey(Failure),
  report: Schema.optionalKey(Report),
  /** It was aborted while it was queued: it has no other event, and its prompt is in no history. */
  queued: Schema.optionalKey(Schema.Literal(true))
})
export type TurnEnd = typeof TurnEnd.Type

// --- inventory

/** The event types that are never written to disk. */
export const TransientEvent = Schema.Union([
  StepStart,
  TextDelta,
  ReasoningDelta,
  FileEvent,
  ProviderRetry,
  ToolsMissing
])
export type TransientEvent = typeof TransientEvent.Type

/** The event types that are on disk before a client receives them. */
export const PersistedEvent = Schema.Union([
  TurnStart,
  ToolCall,
  ToolResult,
  UsageEvent,
  MessageEvent,
  RetryEnd,
  StepDiscarded,
  RetryFallbackApplied,
  RetryFallbackSucceeded,
  ModelChange,
  SyntheticRetry,
  Compaction,
  FinalTurn,
  ErrorEvent,
  TurnEnd
])
export type PersistedEvent = typeof PersistedEvent.Type

/** Any event of a turn. */
export const TurnEvent = Schema.Union([...TransientEvent.members, ...PersistedEvent.members])
export type TurnEvent = typeof TurnEvent.Type

/** Whether an event is on disk before a client receives it. */
export const isPersisted = (event: TurnEvent): event is PersistedEvent => persisted.has(event.type)

// --- internal

const persisted: ReadonlySet<string> = new Set(PersistedEvent.members.map(({ fields }) => fields.type.schema.literal))
