/** What a turn is at: whether it waits, runs or has ended, and its answer. For a client that did not stay with it (X15). */
import { Schema } from "effect"
import { Reason } from "./Failure.ts"
import { ConversationId, TurnId } from "./Ids.ts"
import { Usage } from "./Message.ts"
import { Asks, Report, TurnStatus } from "./TurnEvent.ts"

/** Epoch milliseconds. */
const Timestamp = Schema.Finite

/** The wait in progress. */
export const Wait = Schema.Struct({
  /** The retry that is waited for; 0-based, as in `provider-retry`. */
  retry: Schema.Int,
  /** When it is due; with `asks`, until when there can be an answer. A moment that is past means that it is about to go on. */
  retryAt: Timestamp,
  since: Timestamp,
  /** The turn waits for a person (X11). */
  asks: Schema.optionalKey(Asks)
})
export type Wait = typeof Wait.Type

/** What a turn waits for to pass, or what it failed with. */
export const TurnError = Schema.Struct({
  reason: Reason,
  /** The provider's own words, without secrets. */
  message: Schema.String,
  /** The HTTP status, or the provider's code. */
  code: Schema.optionalKey(Schema.String)
})
export type TurnError = typeof TurnError.Type

export const TurnState = Schema.Struct({
  conversationId: ConversationId,
  turnId: TurnId,
  /** `queued`: behind another turn of its conversation. `waiting`: for a provider, or for a person's answer. */
  status: Schema.Literals(["queued", "running", "waiting", ...TurnStatus.literals]),
  /** `provider/model` that it waits for, runs on, or ended on. */
  model: Schema.String,
  acceptedAt: Timestamp,
  endedAt: Schema.optionalKey(Timestamp),
  /** Calls of a provider that have come to an end. */
  attempts: Schema.Int,
  /** Present while its status is `waiting`. */
  wait: Schema.optionalKey(Wait),
  error: Schema.optionalKey(TurnError),
  /** Present once it has ended: the tokens of all its attempts, as far as providers reported them. */
  usage: Schema.optionalKey(Usage),
  /** Present once it is completed: the text of its last answer. */
  text: Schema.optionalKey(Schema.String),
  /** The final report that it ended with, where it has one. */
  report: Schema.optionalKey(Report)
})
export type TurnState = typeof TurnState.Type

const { report: _, text: __, ...summarised } = TurnState.fields

/** A turn in a list: its state without its answer, and the beginning of its prompt. */
export const TurnSummary = Schema.Struct({
  ...summarised,
  /** Its first characters; absent on a manual retry. */
  prompt: Schema.optionalKey(Schema.String)
})
export type TurnSummary = typeof TurnSummary.Type
