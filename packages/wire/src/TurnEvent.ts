/**
 * Everything a turn tells the world, in order.
 *
 * E1. An event is persisted or transient, and its type says which: `PersistedEvent` or `TransientEvent`.
 * E2. A persisted event is on disk before a client sees it. A transient one is never on disk, in no history and in no
 *     prompt (D6); the comment beside it names the persisted one that stands in for it after a reconnect.
 * E3. After `turn-end` nothing of that turn is emitted.
 * E4. Events are plain objects. Encoding is one `JSON.stringify`; only decoding checks.
 */
import { Schema } from "effect"
import { Failure, Reason } from "./Failure.ts"
import { ConversationId, TurnId } from "./Ids.ts"
import { Message, Usage } from "./Message.ts"

const event = <const Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({ type: Schema.tag(type), conversationId: ConversationId, turnId: TurnId, ...fields })

/** Epoch milliseconds. */
const Timestamp = Schema.Finite

// --- transient

/**
 * The text of a step begins here. Its `message` replaces it.
 *
 * **Gotchas**
 *
 * It comes again for the same step: on every connection that joins it in the middle, and when another process makes its next
 * attempt. Each time the text of the step is told anew from its beginning, so a client forgets what it holds of the step.
 */
export const StepStart = event("step-start", {
  /** 0-based. */
  step: Schema.Int,
  /** `provider/model`. */
  target: Schema.String
})
export type StepStart = typeof StepStart.Type

/** Text as it comes: of one read of the provider, whatever lies side by side. The step's `message` replaces it. */
export const TextDelta = event("text-delta", { delta: Schema.String })
export type TextDelta = typeof TextDelta.Type

/** Reasoning as it comes, like text. The step's `message` replaces it. */
export const ReasoningDelta = event("reasoning-delta", { delta: Schema.String })
export type ReasoningDelta = typeof ReasoningDelta.Type

/**
 * Why a turn that has waited long does not go on by itself: the next attempt could cost more than was allowed for (X11).
 *
 * - `request`: the request alone.
 * - `turn`: what the turn has used so far.
 */
export const Asks = Schema.Struct({
  because: Schema.Literals(["request", "turn"]),
  /** Of the next request, as estimated; or of the turn's responses so far, in and out. */
  tokens: Schema.Int,
  /** More than that is not spent without an answer. */
  limit: Schema.Int,
  /** How long the step has waited since a person last had a say, in milliseconds. */
  waitedMs: Schema.Finite,
  /** The question, for a person. */
  message: Schema.String
})
export type Asks = typeof Asks.Type

/**
 * A wait begins (D5). The conversation's state, and in the end `retry-end`, replace it.
 *
 * **Gotchas**
 *
 * With `asks` the turn waits for a person and not for a time: there is no retry at `retryAt` but the end of the turn.
 */
export const ProviderRetry = event("provider-retry", {
  /** 0-based: the retry that is about to happen. */
  attempt: Schema.Int,
  /** How long the wait is, from `retryAt` backwards. */
  delayMs: Schema.Finite,
  /** When the retry is due; with `asks`, until when there can be an answer. Countdowns count to it. */
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
  /** The most retries there can be, where there is such a limit. */
  maxAttempts: Schema.optionalKey(Schema.Int),
  /** The turn goes on when it is told to: by retry-now, switch-target or wait-until. Without an answer it gives up (X11). */
  asks: Schema.optionalKey(Asks)
})
export type ProviderRetry = typeof ProviderRetry.Type

/**
 * Tool servers are not up, so the turn runs without their tools, or, with `until`, is held for them. Nothing persisted replaces it: the
 * log has the same. It is emitted in each life of the turn, and to whoever connects while it is true.
 */
export const ToolsMissing = event("tools-missing", {
  servers: Schema.Array(
    Schema.Struct({
      server: Schema.String,
      /** Why it is not up. */
      message: Schema.String
    })
  ),
  /** They are required: until then the turn is held, and fails if one is still missing. The next `step-start` ends it. */
  until: Schema.optionalKey(Timestamp)
})
export type ToolsMissing = typeof ToolsMissing.Type

// --- persisted

export const TurnStart = event("turn-start", {
  startedAt: Timestamp,
  /** Set on a manual retry (M1): there is no new prompt. */
  retry: Schema.optionalKey(Schema.Literal(true))
})
export type TurnStart = typeof TurnStart.Type

/** The model asks for a tool. */
export const ToolCall = event("tool-call", {
  toolCallId: Schema.String,
  toolName: Schema.String,
  input: Schema.Json
})
export type ToolCall = typeof ToolCall.Type

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

/** A message is finished, and in the history. */
export const MessageEvent = event("message", { message: Message })
export type MessageEvent = typeof MessageEvent.Type

/** Closes the chain of retries that `provider-retry` opened (P11). */
export const RetryEnd = event("retry-end", {
  success: Schema.Boolean,
  /** The last retry that was tried, or was waiting to be; 0-based as in `provider-retry`. */
  attempt: Schema.Int,
  finalError: Schema.optionalKey(Schema.String)
})
export type RetryEnd = typeof RetryEnd.Type

/** What was shown of this step is void; the next content replaces it (X2, X7). */
export const StepDiscarded = event("step-discarded", { step: Schema.Int, message: Schema.String })
export type StepDiscarded = typeof StepDiscarded.Type

/** Another target takes over (P8). */
export const RetryFallbackApplied = event("retry-fallback-applied", {
  from: Schema.String,
  to: Schema.String,
  role: Schema.String
})
export type RetryFallbackApplied = typeof RetryFallbackApplied.Type

/** The target that took over has answered (P8). */
export const RetryFallbackSucceeded = event("retry-fallback-succeeded", {
  model: Schema.String,
  role: Schema.String
})
export type RetryFallbackSucceeded = typeof RetryFallbackSucceeded.Type

/** The turn runs on another model from here on (P8, X4). */
export const ModelChange = event("model-change", { from: Schema.String, to: Schema.String })
export type ModelChange = typeof ModelChange.Type

/** The model was told why its answer would not do (A9). */
export const SyntheticRetry = event("synthetic-retry", { step: Schema.Int, guidance: Schema.String })
export type SyntheticRetry = typeof SyntheticRetry.Type

/** Older messages were replaced by a summary (P19). */
export const Compaction = event("compaction", {
  summary: Schema.String,
  /** How many messages the summary stands for. */
  messages: Schema.Int
})
export type Compaction = typeof Compaction.Type

/** Only the final report is asked for from here on (A11). */
export const FinalTurn = event("final-turn", {
  step: Schema.Int,
  cause: Schema.String,
  /** With cause `malformed-report`: the number of steps that the turn might have had before; absent: any number (A12). */
  shortenedFrom: Schema.optionalKey(Schema.Int)
})
export type FinalTurn = typeof FinalTurn.Type

/** What the turn failed with (D7). */
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
 * What a turn reports at its end, where a report is asked for (A13).
 *
 * - `tool-call`: the model handed it in.
 * - `tool-message`: the model said it, as the whole of its text.
 * - `synthetic`: the turn failed without one; Holdfast says why (A14).
 */
export const Report = Schema.Struct({
  source: Schema.Literals(["tool-call", "tool-message", "synthetic"]),
  success: Schema.Boolean,
  content: Schema.Json
})
export type Report = typeof Report.Type

/** The seal. */
export const TurnEnd = event("turn-end", {
  status: TurnStatus,
  endedAt: Timestamp,
  /** Steps that were finished. */
  steps: Schema.Int,
  /** Calls of a provider, retries included. */
  attempts: Schema.Int,
  /** Scheduled sleep of all steps: what the budget counts (D2). */
  sleptMs: Schema.Finite,
  /** How long the waits of all steps really took. Absent: sealed by a version that did not record it. */
  waitedMs: Schema.optionalKey(Schema.Finite),
  usage: Usage,
  /** On `failed`: the same as the `error` event's. */
  error: Schema.optionalKey(Failure),
  report: Schema.optionalKey(Report)
})
export type TurnEnd = typeof TurnEnd.Type

// --- inventory

/** The types that are never written to disk. */
export const TransientEvent = Schema.Union([StepStart, TextDelta, ReasoningDelta, ProviderRetry, ToolsMissing])
export type TransientEvent = typeof TransientEvent.Type

/** The types that are on disk before a client sees them. */
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

export const TurnEvent = Schema.Union([...TransientEvent.members, ...PersistedEvent.members])
export type TurnEvent = typeof TurnEvent.Type

/** Every `type`, with its fate. Exhaustive by construction: a new type that is missing here does not compile. */
export const fate: {
  readonly [Type in TurnEvent["type"]]: Type extends TransientEvent["type"] ? "transient" : "persisted"
} = {
  "step-start": "transient",
  "text-delta": "transient",
  "reasoning-delta": "transient",
  "provider-retry": "transient",
  "tools-missing": "transient",
  "turn-start": "persisted",
  "tool-call": "persisted",
  "tool-result": "persisted",
  usage: "persisted",
  message: "persisted",
  "retry-end": "persisted",
  "step-discarded": "persisted",
  "retry-fallback-applied": "persisted",
  "retry-fallback-succeeded": "persisted",
  "model-change": "persisted",
  "synthetic-retry": "persisted",
  compaction: "persisted",
  "final-turn": "persisted",
  error: "persisted",
  "turn-end": "persisted"
}

/** Whether an event is on disk before a client sees it. */
export const isPersisted = (event: TurnEvent): event is PersistedEvent => fate[event.type] === "persisted"
