/**
 * Schema of a turn's course: its attempts and waits as spans of time, for a picture of many turns.
 *
 * It follows from the turn's explanation: `step` and `attempt` are those of it. The time of a tool is between two attempts.
 *
 * Spans are in order and do not overlap.
 */
import * as Schema from "effect/Schema"
import { TurnId } from "./Ids.ts"
import { WaitEnd } from "./TurnExplanation.ts"

/** Epoch milliseconds. */
const Timestamp = Schema.Finite

/** The attempts of a course: the newest ones of a turn that made more. */
export const MOST_ATTEMPTS = 100

/**
 * What became of an attempt.
 *
 * - `shared`: another turn's failure was taken for it, without a call (X5).
 * - `lost`: its process died after content had been emitted (X2).
 * - `cut-short`: the turn was sealed during the attempt.
 * - `under-way`: it has not ended.
 */
export const CourseOutcome = Schema.Literals(["answered", "failed", "shared", "lost", "cut-short", "under-way"])
export type CourseOutcome = typeof CourseOutcome.Type

/** The wait behind an attempt. */
export const CourseWait = Schema.Struct({
  from: Timestamp,
  /** Its end; of a wait that lasts, when it is due. */
  to: Timestamp,
  /** Absent while it lasts. */
  end: Schema.optionalKey(WaitEnd.fields.type),
  /** The process of the service died during the wait (X1): when each next process found that. Absent: none died. */
  deaths: Schema.optionalKey(Schema.Array(Timestamp))
})
export type CourseWait = typeof CourseWait.Type

/** One attempt with the wait behind it. */
export const CourseAttempt = Schema.Struct({
  step: Schema.Int,
  attempt: Schema.Int,
  /** `provider/model`. */
  target: Schema.String,
  /** The end of what came before: the call began then, or a moment later. */
  from: Timestamp,
  /** Absent while it lasts. */
  to: Schema.optionalKey(Timestamp),
  outcome: CourseOutcome,
  /** Of a failure: the HTTP status, or the provider's code. */
  code: Schema.optionalKey(Schema.String),
  wait: Schema.optionalKey(CourseWait)
})
export type CourseAttempt = typeof CourseAttempt.Type

/** The course of one turn. */
export const TurnCourse = Schema.Struct({
  turnId: TurnId,
  /** The newest ones, 100 at most. */
  attempts: Schema.Array(CourseAttempt),
  /** Attempts that are left out. */
  omitted: Schema.Int
})
export type TurnCourse = typeof TurnCourse.Type
