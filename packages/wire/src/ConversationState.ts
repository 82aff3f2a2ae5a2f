/** Schema of a conversation's state, which a client can read at any moment (P15). */
import * as Schema from "effect/Schema"
import { Reason } from "./Failure.ts"
import { ConversationId, TurnId } from "./Ids.ts"
import * as Labels from "./Labels.ts"
import { Asks } from "./TurnEvent.ts"

/**
 * The waits that follow if the same failure comes again and again, without a time that the provider names. Attempts take time of their own, and any
 * other failure is decided anew.
 */
export const Upcoming = Schema.Struct({
  /** Milliseconds: the wait after the next attempt, then the waits after each further one; 32 at most. */
  delaysMs: Schema.Array(Schema.Finite),
  /** Each is longer by a random part, up to this share of it. Absent: they are exact. */
  jitter: Schema.optionalKey(Schema.Finite),
  /** Why no wait follows these. Absent: there are more. */
  because: Schema.optionalKey(Schema.Literals(["disabled", "max-retries", "max-delay", "budget"]))
})
export type Upcoming = typeof Upcoming.Type

/** The wait in progress. */
export const RetryState = Schema.Struct({
  /** 0-based, as in `provider-retry`. */
  attempt: Schema.Int,
  /** When the retry is due, in epoch milliseconds; with `asks`, the deadline for an answer. */
  retryAt: Schema.Finite,
  delayMs: Schema.Finite,
  message: Schema.String,
  reason: Reason,
  code: Schema.optionalKey(Schema.String),
  maxAttempts: Schema.optionalKey(Schema.Int),
  /** The turn waits for a person (X11). */
  asks: Schema.optionalKey(Asks),
  /** Absent in a wait for a person, and where a router may choose another target. */
  upcoming: Schema.optionalKey(Upcoming)
})
export type RetryState = typeof RetryState.Type

/** A person's answers that hold for every call of a tool in a conversation, by the tool's name. */
export const ToolAnswers = Schema.Record(
  Schema.String,
  Schema.Literals(["approve", "refuse"]).annotate({ message: 'expected "approve" or "refuse"' })
)
export type ToolAnswers = typeof ToolAnswers.Type

/** A conversation: its status, its model, its turns, and the wait in progress. */
export const ConversationState = Schema.Struct({
  conversationId: ConversationId,
  status: Schema.Literals(["idle", "running", "retrying"]),
  /** `provider/model` of the next step; while a turn runs, of its attempts. */
  model: Schema.String,
  autoRetryEnabled: Schema.Boolean,
  isRetrying: Schema.Boolean,
  /** Answers that hold for every call of a tool; absent: there are none. */
  toolAnswers: Schema.optionalKey(ToolAnswers),
  /** The turn that is running. */
  turnId: Schema.optionalKey(TurnId),
  /** The turns queued behind it, in order. */
  queued: Schema.Array(TurnId),
  /** The same as in `retry`, repeated at the top level because clients look there first. */
  attempt: Schema.optionalKey(Schema.Int),
  retryAt: Schema.optionalKey(Schema.Finite),
  retry: Schema.optionalKey(RetryState)
})
export type ConversationState = typeof ConversationState.Type

/** A conversation in a list. */
export const ConversationSummary = Schema.Struct({
  conversationId: ConversationId,
  /** `provider/model` of its next turn. */
  model: Schema.String,
  /** Its own, or else the beginning of its first prompt; absent before that. */
  title: Schema.optionalKey(Schema.String),
  /** Epoch milliseconds. */
  createdAt: Schema.Finite,
  ...Labels.fields,
  /** Its newest turn; absent before the first. */
  lastTurnId: Schema.optionalKey(TurnId),
  /** Whether a turn of it has not ended. */
  isBusy: Schema.Boolean
})
export type ConversationSummary = typeof ConversationSummary.Type
