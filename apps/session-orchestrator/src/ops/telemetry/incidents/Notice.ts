/**
 * Defines a notice to an operator: an incident began or ended, or turns failed.
 *
 * Pure. A notice goes into the outbox with its transition (`Notifications`).
 */
import { Failure, type Target } from "@holdfast/wire"
import { Schema } from "effect"

/** The last failure of an endpoint, without secrets. */
export const NoticeFailure = Schema.Struct({
  reason: Failure.Reason,
  message: Schema.String,
  /** The HTTP status, or the provider's code. */
  code: Schema.optionalKey(Schema.String)
})
export type NoticeFailure = typeof NoticeFailure.Type

/** The outcomes of turns that waited: how many failed, were aborted, or were answered by another endpoint. */
export interface Outcomes {
  readonly failed: number
  readonly aborted: number
  /** Answered by another endpoint. */
  readonly elsewhere: number
}

/** No turn has ended. */
export const NO_OUTCOMES: Outcomes = { failed: 0, aborted: 0, elsewhere: 0 }

/** One notice. Times are in epoch milliseconds. */
export interface Notice {
  readonly type: "incident-began" | "incident-ended" | "incident-gave-up" | "turns-failed"
  /** The same for all notices of an incident, over restarts too. */
  readonly incidentId: string
  readonly target: Target.Target
  readonly since: number
  readonly at: number
  readonly said: NoticeFailure
  /** Turns that wait for the endpoint, on all runners. */
  readonly waiting: number
  /** When the first of them asks the endpoint again, of an incident that began; absent if no runner knows. */
  readonly nextAt?: number
  readonly outcomes: Outcomes
}
