/**
 * Schema of a turn's explanation: every decision with its evidence, rule and result (X9).
 *
 * It is made from the turn's records, so it is the same during the turn, after it, and in another process.
 *
 * `words` puts the fields beside it into a sentence; its times are UTC. `rules` are the ids of tools/src/RuleBook.ts; the deciding rule is the
 * first. Steps, attempts, retries and tools count from 0, as in events; words count from 1. It contains no secrets: a provider's text
 * was redacted before it was recorded, and is redacted again here.
 */
import * as Schema from "effect/Schema"
import { Failure } from "./Failure.ts"
import { ConversationId, TurnId } from "./Ids.ts"
import { FinishReason, Usage } from "./Message.ts"
import { Asks, MidStream, TurnStatus } from "./TurnEvent.ts"

/** Epoch milliseconds. */
const Timestamp = Schema.Finite

const explained = { rules: Schema.Array(Schema.String), words: Schema.String }

/** The waiting time that a step had used when a decision was made. Limits are absent where there are none. */
export const ExplainedSpending = Schema.Struct({
  /** Whether waits are counted, or the time since the first failure (D2). */
  measure: Schema.Literals(["scheduled", "wall-clock"]),
  /** Milliseconds used before the wait that was decided on. */
  spentMs: Schema.Finite,
  /** The budget in milliseconds, extensions (X4) included. */
  totalMs: Schema.optionalKey(Schema.Finite),
  /** The sum of the extensions until then, in milliseconds (X4). */
  extendedMs: Schema.optionalKey(Schema.Finite)
})
export type ExplainedSpending = typeof ExplainedSpending.Type

/** Another attempt follows after a wait. */
export const ExplainedRetry = Schema.Struct({
  type: Schema.tag("retry"),
  /** 0-based, as in `provider-retry`. */
  retry: Schema.Int,
  decidedAt: Timestamp,
  /** The length of the wait: the longer of schedule and hint, plus jitter, minus the time that the budget clipped. */
  delayMs: Schema.Finite,
  /** When the turn is scheduled to wake. Later commands may have moved that: see the wait. */
  retryAt: Timestamp,
  /** The schedule's delay. This field and the following ones are absent where the strategy recorded no basis. */
  scheduledMs: Schema.optionalKey(Schema.Finite),
  /** The delay that the provider asked for, where it was used (P5). */
  hintMs: Schema.optionalKey(Schema.Finite),
  /** The attempt was an early one by the gate: it costs nothing, and the wait that it interrupted continues (X5). */
  resumes: Schema.optionalKey(Schema.Literal(true)),
  /** The hint is older than this failure: the provider of the retry's target had given it before (C12). */
  isEarlier: Schema.optionalKey(Schema.Literal(true)),
  /** The random part of the delay. */
  jitterMs: Schema.optionalKey(Schema.Finite),
  /** The retry's target, where a router chose one: `provider/model`, a credential's name, the fallback chain (P7, P8). */
  target: Schema.optionalKey(Schema.String),
  credential: Schema.optionalKey(Schema.String),
  role: Schema.optionalKey(Schema.String),
  /** The budget cut the wait short (D1). */
  clipped: Schema.optionalKey(Schema.Literal(true)),
  /** The attempt had content, which is void by this setting (X7). Absent: it had none. */
  midStream: Schema.optionalKey(Schema.Literals(["discard", "unseen"])),
  spending: Schema.optionalKey(ExplainedSpending),
  /** The waiting time that failures of this reason alone had used, where the reason has its own limit (X11). */
  onReason: Schema.optionalKey(ExplainedSpending),
  ...explained
})
export type ExplainedRetry = typeof ExplainedRetry.Type

/** Why no further attempt is made. */
export const GaveUpBecause = Schema.Literals([
  "after-content",
  "not-retryable",
  "context-overflow",
  "defect",
  "no-strategy",
  "disabled",
  "switched-off",
  "max-retries",
  "max-delay",
  "budget",
  /** The strategy recorded no further cause. */
  "exhausted"
])
export type GaveUpBecause = typeof GaveUpBecause.Type

/** No further attempt is made; the turn fails. */
export const GaveUp = Schema.Struct({
  type: Schema.tag("gave-up"),
  because: GaveUpBecause,
  /** Where the attempt had content: the setting in force (X7), `fail` for `after-content` without another one. */
  midStream: Schema.optionalKey(MidStream),
  /** The wait that was refused, where one was considered. */
  refusedMs: Schema.optionalKey(Schema.Finite),
  /** The limit that refused it: of retries, or of milliseconds. */
  limit: Schema.optionalKey(Schema.Finite),
  spending: Schema.optionalKey(ExplainedSpending),
  /** As in `retry`. */
  onReason: Schema.optionalKey(ExplainedSpending),
  /** The limit that refused it belongs to the failure's reason (X11). */
  byReason: Schema.optionalKey(Schema.Literal(true)),
  ...explained
})
export type GaveUp = typeof GaveUp.Type

/** The decision after a failed attempt. */
export const ExplainedDecision = Schema.Union([ExplainedRetry, GaveUp])
export type ExplainedDecision = typeof ExplainedDecision.Type

/** The command that changed or ended a wait (X4). */
export const By = Schema.Struct({
  commandId: Schema.String,
  /** The command's origin, in words. */
  origin: Schema.String
})
export type By = typeof By.Type

/** `at` is absent in records of versions that did not write it. */
const changedBy = { by: Schema.optionalKey(By), at: Schema.optionalKey(Timestamp), ...explained }

/** A change of a wait by a command (X4). */
export const WaitChange = Schema.Union([
  Schema.Struct({ type: Schema.tag("moved"), until: Timestamp, ...changedBy }),
  Schema.Struct({ type: Schema.tag("extended"), byMs: Schema.Finite, ...changedBy })
])
export type WaitChange = typeof WaitChange.Type

/**
 * How a wait ended.
 *
 * - `elapsed`: its time had passed.
 * - `retry-now`: a command started the next attempt at once.
 * - `switched`: a command sent the turn to another target.
 * - `cancelled`: a command cancelled the retries (P14).
 * - `aborted`: a command ended the turn (D8).
 * - `broken`: the sleep failed (D14).
 * - `unanswered`: it had asked a person, and no answer came (X11).
 */
export const WaitEnd = Schema.Struct({
  type: Schema.Literals(["elapsed", "retry-now", "switched", "cancelled", "aborted", "broken", "unanswered"]),
  /** `provider/model`; set for `switched`. */
  target: Schema.optionalKey(Schema.String),
  /** Milliseconds that its endpoint's gate held the turn after the end of its wait (X5); set for `elapsed`. */
  heldMs: Schema.optionalKey(Schema.Finite),
  ...changedBy
})
export type WaitEnd = typeof WaitEnd.Type

/** At its end the wait asked a person instead of waking the turn (X11). */
export const ExplainedQuestion = Schema.Struct({
  /** The deadline for an answer. */
  until: Timestamp,
  asks: Asks,
  ...changedBy
})
export type ExplainedQuestion = typeof ExplainedQuestion.Type

/** The process of the service died during the wait; the next one went on with it (X1). */
export const WaitDeath = Schema.Struct({
  /** When the next process found that. */
  at: Timestamp,
  ...explained
})
export type WaitDeath = typeof WaitDeath.Type

/** The wait before a retry, with the commands that changed it. */
export const ExplainedWait = Schema.Struct({
  /** The scheduled end, as moved by commands and by a question. */
  retryAt: Timestamp,
  changes: Schema.Array(WaitChange),
  asked: Schema.optionalKey(ExplainedQuestion),
  /** Absent: there was none, or an older version recorded none. */
  deaths: Schema.optionalKey(Schema.Array(WaitDeath)),
  /** Absent while it lasts. */
  end: Schema.optionalKey(WaitEnd)
})
export type ExplainedWait = typeof ExplainedWait.Type

/**
 * The outcome of an attempt.
 *
 * - `lost`: its process died after content had been emitted (X2).
 * - `cut-short`: the turn was sealed during the attempt.
 * - `under-way`: it has not ended.
 */
export const ExplainedOutcome = Schema.Literals(["completed", "failed", "lost", "cut-short", "under-way"])
export type ExplainedOutcome = typeof ExplainedOutcome.Type

/**
 * The outcome of a call for a summary.
 *
 * - `compacted`: a summary replaced older messages.
 * - `nothing`: there was no message to leave out.
 * - `failed`: there is no summary; see the failure.
 */
export const ExplainedCompaction = Schema.Literals(["compacted", "nothing", "failed"])
export type ExplainedCompaction = typeof ExplainedCompaction.Type

/** One call of a provider: its outcome, and the decision and wait that followed. */
export const ExplainedAttempt = Schema.Struct({
  attempt: Schema.Int,
  /** `provider/model`. */
  target: Schema.String,
  outcome: ExplainedOutcome,
  /** For a lost attempt: when the loss was found. Absent where the attempt has no outcome. */
  endedAt: Schema.optionalKey(Timestamp),
  /** Content of it had been emitted (D4). */
  hasContent: Schema.Boolean,
  failure: Schema.optionalKey(Failure),
  /** The endpoint's whole response, where that holds more than the failure (D5): 8,192 characters at most. */
  body: Schema.optionalKey(Schema.String),
  /** No client had received any of its content (X7); absent: a client had, or it had none, or the setting is not `unseen`. */
  isUnseen: Schema.optionalKey(Schema.Literal(true)),
  /** The tokens of an attempt whose content is void (X7); they count in the turn's. Absent: none are known. */
  usage: Schema.optionalKey(Usage),
  finishReason: Schema.optionalKey(FinishReason),
  /** Set where the call was made for a summary, to shorten a context that was too long (P19). */
  compaction: Schema.optionalKey(ExplainedCompaction),
  decision: Schema.optionalKey(ExplainedDecision),
  wait: Schema.optionalKey(ExplainedWait),
  ...explained
})
export type ExplainedAttempt = typeof ExplainedAttempt.Type

/** The outcome of a tool call. `unknown`: its process died while it ran, and it was not run again (X8). */
export const ExplainedToolOutcome = Schema.Literals(["answered", "failed", "unknown", "cut-short", "under-way"])
export type ExplainedToolOutcome = typeof ExplainedToolOutcome.Type

/**
 * A question about a tool call, and its answer.
 *
 * - `open`: it waits for an answer.
 * - `approved`, `refused`: a person answered; giving up refuses.
 * - `unanswered`: no answer came in time, which refuses.
 * - `cut-short`: the turn was sealed before there was an answer.
 */
export const ExplainedApproval = Schema.Struct({
  outcome: Schema.Literals(["open", "approved", "refused", "unanswered", "cut-short"]),
  askedAt: Timestamp,
  /** The deadline for an answer. */
  until: Timestamp,
  /** The person's reason. */
  reason: Schema.optionalKey(Schema.String),
  ...changedBy
})
export type ExplainedApproval = typeof ExplainedApproval.Type

/** One tool call of a step. */
export const ExplainedTool = Schema.Struct({
  /** Its index among the calls of the step. */
  tool: Schema.Int,
  toolCallId: Schema.String,
  toolName: Schema.String,
  outcome: ExplainedToolOutcome,
  /** Absent where no person was asked. */
  approval: Schema.optionalKey(ExplainedApproval),
  endedAt: Schema.optionalKey(Timestamp),
  ...explained
})
export type ExplainedTool = typeof ExplainedTool.Type

/** One step: its attempts and tool calls. */
export const ExplainedStep = Schema.Struct({
  step: Schema.Int,
  /** Why it was the last possible step (A11), as in `final-turn`. */
  final: Schema.optionalKey(Schema.String),
  attempts: Schema.Array(ExplainedAttempt),
  tools: Schema.Array(ExplainedTool)
})
export type ExplainedStep = typeof ExplainedStep.Type

/** How the turn ended. */
export const ExplainedSeal = Schema.Struct({
  status: TurnStatus,
  endedAt: Timestamp,
  attempts: Schema.Int,
  /** Scheduled waits of all steps: what the budget counts (D2). */
  sleptMs: Schema.Finite,
  /** The actual duration of the waits of all steps, in milliseconds. Absent where neither the seal nor a record has it. */
  waitedMs: Schema.optionalKey(Schema.Finite),
  error: Schema.optionalKey(Failure),
  ...explained
})
export type ExplainedSeal = typeof ExplainedSeal.Type

/** Interruptions of the turn: deaths of its process in a row (X14), and defects of the service that ran it (C10). */
export const ExplainedInterruption = Schema.Struct({
  deaths: Schema.Int,
  defects: Schema.Int,
  ...explained
})
export type ExplainedInterruption = typeof ExplainedInterruption.Type

/** Everything that happened in a turn, and why. */
export const TurnExplanation = Schema.Struct({
  conversationId: ConversationId,
  turnId: TurnId,
  status: Schema.Literals(["queued", "running", "waiting", ...TurnStatus.literals]),
  acceptedAt: Timestamp,
  steps: Schema.Array(ExplainedStep),
  /** Absent where there was none, or only one death, which can happen to any turn. */
  interruption: Schema.optionalKey(ExplainedInterruption),
  /** Absent while the turn is not sealed. */
  seal: Schema.optionalKey(ExplainedSeal),
  /** The turn is sealed and its journal was deleted (`database.retention`), so there are no steps. */
  isForgotten: Schema.Boolean,
  /** Records that this version cannot read, because a later version wrote them. */
  unread: Schema.Array(Schema.String)
})
export type TurnExplanation = typeof TurnExplanation.Type
