/**
 * Why a turn did what it did: every decision of it, with what it was made from, the rule and what came of it (X9).
 *
 * Made from what is on record, so it is the same during the turn, after it, and in another process.
 *
 * N1. `words` says in a sentence what the fields beside it say; times in it are UTC.
 * N2. `rules` are the ids of docs/explain.md, the one that decided first.
 * N3. Steps, attempts, retries and tools are counted from 0, as in events; words count from 1, as people do.
 * N4. Nothing secret is in it: what a provider said was cleaned before it was recorded, and is cleaned again here.
 */
import { Schema } from "effect"
import { Failure } from "./Failure.ts"
import { ConversationId, TurnId } from "./Ids.ts"
import { FinishReason } from "./Message.ts"
import { Asks, TurnStatus } from "./TurnEvent.ts"

/** Epoch milliseconds. */
const Timestamp = Schema.Finite

const told = { rules: Schema.Array(Schema.String), words: Schema.String }

/** What a step had spent on waiting when something was decided. Limits are absent where there are none. */
export const Spending = Schema.Struct({
  /** Whether waits are counted, or the time since the first failure (D2). */
  measure: Schema.Literals(["scheduled", "wall-clock"]),
  /** Before the wait that was decided on, in milliseconds. */
  spentMs: Schema.Finite,
  /** What was added (X4) counts. */
  totalMs: Schema.optionalKey(Schema.Finite),
  /** What was added until then (X4). */
  extendedMs: Schema.optionalKey(Schema.Finite)
})
export type Spending = typeof Spending.Type

/** There is another attempt, after a wait. */
export const Retry = Schema.Struct({
  type: Schema.tag("retry"),
  /** 0-based, as in `provider-retry`. */
  retry: Schema.Int,
  decidedAt: Timestamp,
  /** The wait that was decided on: the longer of schedule and hint, plus jitter, less what the budget clipped. */
  delayMs: Schema.Finite,
  /** When the turn is to wake. Commands may have moved it since: see the wait. */
  retryAt: Timestamp,
  /** What the schedule says. This and what follows are absent where the strategy recorded no basis. */
  scheduledMs: Schema.optionalKey(Schema.Finite),
  /** What the provider asked for, where it counted (P5). */
  hintMs: Schema.optionalKey(Schema.Finite),
  /** That was asked for before this failure, by the provider of where the retry goes (C12). */
  isEarlier: Schema.optionalKey(Schema.Literal(true)),
  /** What chance added. */
  jitterMs: Schema.optionalKey(Schema.Finite),
  /** Where the retry goes, where it was sent somewhere: `provider/model`, a credential's name, the fallback chain (P7, P8). */
  target: Schema.optionalKey(Schema.String),
  credential: Schema.optionalKey(Schema.String),
  role: Schema.optionalKey(Schema.String),
  /** The budget cut the wait short (D1). */
  clipped: Schema.optionalKey(Schema.Literal(true)),
  spending: Schema.optionalKey(Spending),
  /** What failures of this reason alone had cost the step, where that has a limit of its own (X11). */
  onReason: Schema.optionalKey(Spending),
  ...told
})
export type Retry = typeof Retry.Type

/** Why there is no further attempt. */
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
  /** A strategy that recorded no more than that. */
  "exhausted"
])
export type GaveUpBecause = typeof GaveUpBecause.Type

/** There is no further attempt; the turn fails. */
export const GaveUp = Schema.Struct({
  type: Schema.tag("gave-up"),
  because: GaveUpBecause,
  /** The wait that was refused, where one was considered. */
  refusedMs: Schema.optionalKey(Schema.Finite),
  /** The limit that refused it: of retries, or of milliseconds. */
  limit: Schema.optionalKey(Schema.Finite),
  spending: Schema.optionalKey(Spending),
  /** As in `retry`. */
  onReason: Schema.optionalKey(Spending),
  /** The limit that refused it is the reason's own (X11). */
  byReason: Schema.optionalKey(Schema.Literal(true)),
  ...told
})
export type GaveUp = typeof GaveUp.Type

export const Decision = Schema.Union([Retry, GaveUp])
export type Decision = typeof Decision.Type

/** The command that did something to a wait (X4). */
export const By = Schema.Struct({
  commandId: Schema.String,
  /** Where it came from, in words. */
  origin: Schema.String
})
export type By = typeof By.Type

/** `at` is absent in records of versions that did not write it. */
const heard = { by: Schema.optionalKey(By), at: Schema.optionalKey(Timestamp), ...told }

/** What somebody changed about a wait while it lasted (X4). */
export const WaitChange = Schema.Union([
  Schema.Struct({ type: Schema.tag("moved"), until: Timestamp, ...heard }),
  Schema.Struct({ type: Schema.tag("extended"), byMs: Schema.Finite, ...heard })
])
export type WaitChange = typeof WaitChange.Type

/**
 * How a wait ended.
 *
 * - `elapsed`: its time was up.
 * - `retry-now`: somebody wanted the next attempt at once.
 * - `switched`: somebody sent the turn to another target.
 * - `cancelled`: somebody gave up the retries (P14).
 * - `aborted`: somebody ended the turn (D8).
 * - `broken`: it could not be slept (D14).
 * - `unanswered`: it had asked for a person's word, and none came (X11).
 */
export const WaitEnd = Schema.Struct({
  type: Schema.Literals(["elapsed", "retry-now", "switched", "cancelled", "aborted", "broken", "unanswered"]),
  /** `provider/model`; of `switched`. */
  target: Schema.optionalKey(Schema.String),
  /** For how long the turn was held at its endpoint's gate, beyond the end of its wait (X5); of `elapsed`. */
  heldMs: Schema.optionalKey(Schema.Finite),
  ...heard
})
export type WaitEnd = typeof WaitEnd.Type

/** A wait did not end when its time was up, but asked (X11). */
export const Asked = Schema.Struct({
  /** Until when there can be, or could have been, an answer. */
  until: Timestamp,
  asks: Asks,
  ...heard
})
export type Asked = typeof Asked.Type

export const Wait = Schema.Struct({
  /** When it was, or is, to end, as commands and a question have moved it. */
  retryAt: Timestamp,
  changes: Schema.Array(WaitChange),
  asked: Schema.optionalKey(Asked),
  /** Absent while it lasts. */
  end: Schema.optionalKey(WaitEnd)
})
export type Wait = typeof Wait.Type

/**
 * What came of an attempt.
 *
 * - `lost`: its process died after content had left (X2).
 * - `cut-short`: the turn was sealed in the middle of it.
 * - `under-way`: nothing yet.
 */
export const AttemptOutcome = Schema.Literals(["completed", "failed", "lost", "cut-short", "under-way"])
export type AttemptOutcome = typeof AttemptOutcome.Type

/**
 * What came of a call for a summary.
 *
 * - `compacted`: older messages were summed up.
 * - `nothing`: there was nothing to leave out.
 * - `failed`: there is no summary; see the failure.
 */
export const Compaction = Schema.Literals(["compacted", "nothing", "failed"])
export type Compaction = typeof Compaction.Type

export const Attempt = Schema.Struct({
  attempt: Schema.Int,
  /** `provider/model`. */
  target: Schema.String,
  outcome: AttemptOutcome,
  /** Of a lost one: when that was found out. Absent where nothing came of it. */
  endedAt: Schema.optionalKey(Timestamp),
  /** Some of its answer had left (D4). */
  hasContent: Schema.Boolean,
  failure: Schema.optionalKey(Failure),
  /** The whole of what the endpoint answered, where that holds more than the failure (D5): 8,192 characters at most. */
  body: Schema.optionalKey(Schema.String),
  finishReason: Schema.optionalKey(FinishReason),
  /** It was no attempt at an answer: a context that was too long was to be made smaller (P19). */
  compaction: Schema.optionalKey(Compaction),
  decision: Schema.optionalKey(Decision),
  wait: Schema.optionalKey(Wait),
  ...told
})
export type Attempt = typeof Attempt.Type

/** What came of a tool call. `unknown`: its process died while it ran, and it was not run again (X8). */
export const ToolOutcome = Schema.Literals(["answered", "failed", "unknown", "cut-short", "under-way"])
export type ToolOutcome = typeof ToolOutcome.Type

export const Tool = Schema.Struct({
  /** Its place among the calls of the step. */
  tool: Schema.Int,
  toolCallId: Schema.String,
  toolName: Schema.String,
  outcome: ToolOutcome,
  endedAt: Schema.optionalKey(Timestamp),
  ...told
})
export type Tool = typeof Tool.Type

export const Step = Schema.Struct({
  step: Schema.Int,
  /** Why it was the last that there could be (A11), as in `final-turn`. */
  final: Schema.optionalKey(Schema.String),
  attempts: Schema.Array(Attempt),
  tools: Schema.Array(Tool)
})
export type Step = typeof Step.Type

/** How the turn ended. */
export const Seal = Schema.Struct({
  status: TurnStatus,
  endedAt: Timestamp,
  attempts: Schema.Int,
  /** Scheduled waits of all steps: what the budget counts (D2). */
  sleptMs: Schema.Finite,
  /** How long the waits of all steps really took. Absent where neither the seal nor a record says it. */
  waitedMs: Schema.optionalKey(Schema.Finite),
  error: Schema.optionalKey(Failure),
  ...told
})
export type Seal = typeof Seal.Type

/** What has interrupted the turn: deaths of its process in a row (X14), and defects of the service that ran it (C10). */
export const Interruption = Schema.Struct({
  deaths: Schema.Int,
  defects: Schema.Int,
  ...told
})
export type Interruption = typeof Interruption.Type

export const TurnExplanation = Schema.Struct({
  conversationId: ConversationId,
  turnId: TurnId,
  status: Schema.Literals(["queued", "running", "waiting", ...TurnStatus.literals]),
  acceptedAt: Timestamp,
  steps: Schema.Array(Step),
  /** Absent where nothing has, or only one death that may happen to any turn. */
  interruption: Schema.optionalKey(Interruption),
  /** Absent while the turn is not sealed. */
  seal: Schema.optionalKey(Seal),
  /** The turn is sealed and its journal was deleted (`database.retention`): there are no steps to tell of. */
  isForgotten: Schema.Boolean,
  /** Records that this version cannot read: a later one wrote them. */
  unread: Schema.Array(Schema.String)
})
export type TurnExplanation = typeof TurnExplanation.Type
