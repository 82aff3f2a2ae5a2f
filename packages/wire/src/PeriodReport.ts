/**
 * Schema of a report of a period: what waited, woke, switched and failed, and what it cost (X12).
 *
 * Times are in epoch milliseconds, money is in US dollars. A cost that is not known is `"unknown"`, never 0.
 */
import * as Schema from "effect/Schema"
import { Reason } from "./Failure.ts"
import { ConversationId, TurnId } from "./Ids.ts"
import { Asks } from "./TurnEvent.ts"

/** Epoch milliseconds. */
const Timestamp = Schema.Finite

/** US dollars, or `unknown`: a model has no price, or its provider reported no tokens. */
export const Cost = Schema.Union([Schema.Finite, Schema.Literal("unknown")])
export type Cost = typeof Cost.Type

/** The number of turns by status. */
const Turns = Schema.Struct({
  /** Ended in the period with an answer. */
  answered: Schema.Int,
  /** Ended in the period with an error. */
  failed: Schema.Int,
  /** Failed turns that were run again afterwards (M1). */
  retried: Schema.Int,
  aborted: Schema.Int,
  /** Not ended: they wait for a provider or a person. */
  waiting: Schema.Int,
  /** Not ended: they run. */
  running: Schema.Int,
  /** Not ended: they are behind another turn of their conversation. */
  queued: Schema.Int
})

/** An endpoint that failed and answered no turn from its first failure to its next answer. */
export const Outage = Schema.Struct({
  /** `provider/model`. */
  target: Schema.String,
  /** Its first failure. */
  beganAt: Timestamp,
  /** Its next answer. Absent: it has answered no turn since. */
  endedAt: Schema.optionalKey(Timestamp),
  /** No turn waits for it any more, so it was not called: whether it answers since `lastFailureAt` is not known. Absent: it is. */
  hasUnknownEnd: Schema.optionalKey(Schema.Boolean),
  lastFailureAt: Timestamp,
  /** Calls that failed. */
  failures: Schema.Int,
  /** Of the last failure. */
  reason: Reason,
  code: Schema.optionalKey(Schema.String)
})
export type Outage = typeof Outage.Type

/** What helps against a cause of failures. */
export const Remedy = Schema.Struct({
  /** What to do first, for a person; absent: the command is enough. */
  advice: Schema.optionalKey(Schema.String),
  /** A command line of `holdfast`. */
  command: Schema.String
})
export type Remedy = typeof Remedy.Type

/** Failed turns with the same target, reason and code. Calls of other programs are a cause of their own: only their program can retry them. */
export const Cause = Schema.Struct({
  /** `provider/model` of the last attempt. */
  target: Schema.String,
  reason: Reason,
  code: Schema.optionalKey(Schema.String),
  failed: Schema.Int,
  /** Failed turns that were run again afterwards. */
  retried: Schema.Int,
  firstAt: Timestamp,
  lastAt: Timestamp,
  /** Of the last failed turn, without secrets. */
  message: Schema.String,
  turnId: TurnId,
  remedy: Remedy
})
export type Cause = typeof Cause.Type

/** How often turns went on with another model. */
export const Switch = Schema.Struct({ from: Schema.String, to: Schema.String, count: Schema.Int })
export type Switch = typeof Switch.Type

/** Tokens and their cost. */
const spend = {
  turns: Schema.Int,
  inputTokens: Schema.Int,
  outputTokens: Schema.Int,
  /** Part of `inputTokens`, read from the provider's prompt cache. */
  cachedInputTokens: Schema.Int,
  /** Part of `inputTokens`, written to the provider's prompt cache. */
  cacheWriteTokens: Schema.Int,
  /** Turns of which a provider reported no tokens: the figures are without them. */
  unreported: Schema.Int,
  cost: Cost,
  /** Set if a part of the cost is unknown: `cost` is the rest. */
  isPartial: Schema.optionalKey(Schema.Literal(true))
}

/** The tokens of turns that ended in the period, and their cost. */
export const Spend = Schema.Struct(spend)
export type Spend = typeof Spend.Type

/** The same for one model, one tag, or one conversation. */
export const NamedSpend = Schema.Struct({ name: Schema.String, ...spend })
export type NamedSpend = typeof NamedSpend.Type

/** Outages that a report names. */
export const MOST_OUTAGES = 100

/** Conversations that a report names. */
export const MOST_CONVERSATIONS = 10

/** A turn that waits for a person's answer. */
export const OpenQuestion = Schema.Struct({
  conversationId: ConversationId,
  turnId: TurnId,
  /** As in `asks` of the conversation's state. */
  because: Asks.fields.because,
  /** The question, without secrets. */
  message: Schema.String,
  since: Timestamp,
  /** Until when an answer is accepted. */
  until: Timestamp,
  /** A command line of `holdfast` that shows the question and takes the answer. */
  command: Schema.String
})
export type OpenQuestion = typeof OpenQuestion.Type

/** A report of a period. */
export const PeriodReport = Schema.Struct({
  since: Timestamp,
  until: Timestamp,
  /** The time zone in which `line` has its times. */
  timeZone: Schema.String,
  /** The report in one line, for a person. */
  line: Schema.String,
  turns: Turns,
  /** Time of the period in which at least one turn waited. */
  waitedMs: Schema.Finite,
  /** Waits of all turns within the period, added up. */
  turnWaitedMs: Schema.Finite,
  /** Turns that waited. */
  waited: Schema.Int,
  /** Calls of providers. */
  calls: Schema.Int,
  /**
   * Calls of other programs through the gateway that were answered at once, counted by whole hours. They are not in `turns`; in `spend` and
   * `models` each counts as a turn. Absent in a report of an older version.
   */
  answeredCalls: Schema.optionalKey(Schema.Int),
  /** Retries without a call, because the failure of another turn's call was taken for them (X5). */
  savedCalls: Schema.Int,
  /** The longest, at most `MOST_OUTAGES`, in the order of time. */
  outages: Schema.Array(Outage),
  causes: Schema.Array(Cause),
  switches: Schema.Array(Switch),
  /** The questions to a person that are open now, the most urgent first. Absent in a report of an older version. */
  questions: Schema.optionalKey(Schema.Array(OpenQuestion)),
  spend: Spend,
  models: Schema.Array(NamedSpend),
  /** A turn with several tags is in each of them. */
  tags: Schema.Array(NamedSpend),
  /** Conversations with several turns, those that used most first, at most `MOST_CONVERSATIONS`. Absent in a report of an older version. */
  conversations: Schema.optionalKey(Schema.Array(NamedSpend)),
  /** Ended turns whose records have been deleted (`database.retention`): their waits, calls and switches are not in the figures. */
  forgotten: Schema.Int,
  /** Turns by time: the period in equal parts. */
  timeline: Schema.Struct({
    partMs: Schema.Finite,
    /** Turns that waited in a part. */
    waiting: Schema.Array(Schema.Int),
    answered: Schema.Array(Schema.Int),
    failed: Schema.Array(Schema.Int)
  })
})
export type PeriodReport = typeof PeriodReport.Type
