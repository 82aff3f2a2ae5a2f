/**
 * Schema of a turn's state, for clients that do not stay connected (X15).
 *
 * It has the status (waiting, running or ended) and the turn's answer or error.
 */
import * as Schema from "effect/Schema"
import { Reason } from "./Failure.ts"
import { ConversationId, TurnId } from "./Ids.ts"
import * as Labels from "./Labels.ts"
import { Usage } from "./Message.ts"
import { Cost } from "./PeriodReport.ts"
import { InputPart } from "./Prompt.ts"
import { Asks, Report, TurnStatus } from "./TurnEvent.ts"

/** Epoch milliseconds. */
const Timestamp = Schema.Finite

/** The wait in progress. */
export const Wait = Schema.Struct({
  /** The next retry; 0-based, as in `provider-retry`. */
  retry: Schema.Int,
  /** When the retry is due; with `asks`, the deadline for an answer. In the past: the turn is about to continue, a held call when its program asks again. */
  retryAt: Timestamp,
  since: Timestamp,
  /** The turn waits for a person (X11). */
  asks: Schema.optionalKey(Asks)
})
export type Wait = typeof Wait.Type

/** The error that a turn waits out, or failed with. */
export const TurnError = Schema.Struct({
  reason: Reason,
  /** The provider's message, without secrets. */
  message: Schema.String,
  /** The HTTP status, or the provider's code. */
  code: Schema.optionalKey(Schema.String)
})
export type TurnError = typeof TurnError.Type

/** A file of an answer, without its bytes. */
export const AnswerFile = Schema.Struct({
  mediaType: Schema.String,
  name: Schema.optionalKey(Schema.String),
  /** Absent for a file at an address. */
  sizeBytes: Schema.optionalKey(Schema.Int),
  url: Schema.optionalKey(Schema.String)
})
export type AnswerFile = typeof AnswerFile.Type

/** A turn: its status, its model, and its wait, answer or error. */
export const TurnState = Schema.Struct({
  conversationId: ConversationId,
  turnId: TurnId,
  /** `queued`: behind another turn of its conversation. `waiting`: for a provider, or for a person's answer. */
  status: Schema.Literals(["queued", "running", "waiting", ...TurnStatus.literals]),
  /** `provider/model` that the turn waits for, runs on, or ended on. */
  model: Schema.String,
  acceptedAt: Timestamp,
  endedAt: Schema.optionalKey(Timestamp),
  ...Labels.fields,
  /** Present while its status is `queued`, but on a manual retry: no message of the conversation has it yet. */
  prompt: Schema.optionalKey(Schema.Union([Schema.String, Schema.NonEmptyArray(InputPart)])),
  /** Calls of a provider that have ended. */
  attempts: Schema.Int,
  /** Present once the turn has ended: how long the waits before its retries really took. */
  waitedMs: Schema.optionalKey(Schema.Finite),
  /** Present while its status is `waiting`. */
  wait: Schema.optionalKey(Wait),
  error: Schema.optionalKey(TurnError),
  /** Present once the turn has ended: the tokens of all its attempts, as far as providers reported them. */
  usage: Schema.optionalKey(Usage),
  /** Present once the turn has ended: what its tokens cost in US dollars, by `prices`; `unknown` if a part of it is not known. */
  cost: Schema.optionalKey(Cost),
  /** Present once the turn is completed: the text of its last answer. */
  text: Schema.optionalKey(Schema.String),
  /** The files of that answer, where it has any. The messages of the conversation have their bytes. */
  files: Schema.optionalKey(Schema.NonEmptyArray(AnswerFile)),
  /** The turn's final report, where it ended with one. */
  report: Schema.optionalKey(Report)
})
export type TurnState = typeof TurnState.Type

const { files: _, prompt: __, report: ___, text: ____, ...summarised } = TurnState.fields

/** A turn in a list: its state without its answer, and the beginning of its prompt. */
export const TurnSummary = Schema.Struct({
  ...summarised,
  /** Its first characters; absent on a manual retry. */
  prompt: Schema.optionalKey(Schema.String)
})
export type TurnSummary = typeof TurnSummary.Type
