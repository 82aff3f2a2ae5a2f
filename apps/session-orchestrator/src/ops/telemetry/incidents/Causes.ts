/**
 * Decides when to report turns that failed at an endpoint: once per cause. Pure.
 *
 * However many turns fail of one cause, there is one notice, `settleMs` after the first, so that it counts the turns that fail together.
 *
 * A cause begins with the first turn that fails of it. It is over when a notice has reported it, the endpoint has answered a turn since
 * then, and no turn has failed of it for `QUIET_MS`; the next failed turn begins it anew.
 */
import { Failure, TurnState } from "@holdfast/wire"
import { Schema } from "effect"

/** An endpoint that answers most turns and fails some, as with contexts that are too long, is reported once an hour at most. */
export const QUIET_MS = 3_600_000

/** A cause of failed turns, as it is kept. Times are in epoch milliseconds. */
export const FailureCause = Schema.Struct({
  reason: Failure.Reason,
  /** When the first turn failed. */
  since: Schema.Finite,
  /** When the last turn failed. */
  last: Schema.Finite,
  failed: Schema.Int,
  /** A notice has reported it. */
  isTold: Schema.Boolean,
  /** The endpoint has answered a turn since the last failure. */
  isAnswered: Schema.Boolean,
  /** The error of the last turn. */
  said: TurnState.TurnError
})
export type FailureCause = typeof FailureCause.Type

/** The causes of an endpoint. */
export type Causes = ReadonlyArray<FailureCause>

/** A turn that has failed at the endpoint. */
export interface FailedTurn {
  /** The error that it ended with. */
  readonly said: TurnState.TurnError
  /** Epoch milliseconds. */
  readonly at: number
}

/** Records that a turn has failed. */
export const failed = (causes: Causes, { at, said }: FailedTurn): Causes => {
  const known = causes.find(({ reason }) => reason === said.reason)
  const others = causes.filter((cause) => cause !== known)
  const isOver = known !== undefined && known.isTold && known.isAnswered && at - known.last >= QUIET_MS
  const cause: FailureCause =
    known === undefined || isOver
      ? { reason: said.reason, since: at, last: at, failed: 1, isTold: false, isAnswered: false, said }
      : {
          ...known,
          since: Math.min(known.since, at),
          last: Math.max(known.last, at),
          failed: known.failed + 1,
          isAnswered: false,
          said
        }
  return [...others, cause]
}

/** Records that the endpoint has answered a turn. */
export const answered = (causes: Causes, at: number): Causes =>
  causes.map((cause) => (at > cause.last ? { ...cause, isAnswered: true } : cause))

/** When the next notice is due, in epoch milliseconds; `Infinity` if none is. */
export const dueAt = (causes: Causes, settleMs: number): number =>
  causes.reduce((first, { isTold, since }) => (isTold ? first : Math.min(first, since + settleMs)), Infinity)

/** The causes that are due at a moment, and all of them as they are once these are reported. */
export const due = (causes: Causes, at: number, settleMs: number): readonly [told: Causes, due: Causes] => {
  const due = causes.filter(({ isTold, since }) => !isTold && at >= since + settleMs)
  return [causes.map((cause) => (due.includes(cause) ? { ...cause, isTold: true } : cause)), due]
}
