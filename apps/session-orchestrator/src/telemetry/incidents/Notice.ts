/** A notice to an operator: that an incident began or ended, or that turns failed. Pure; kept in a file until it is delivered. */
import { Failure, Target } from "@holdfast/wire"
import { Schema } from "effect"

/** What an endpoint answered, without secrets. */
export const Said = Schema.Struct({
  reason: Failure.Reason,
  message: Schema.String,
  /** The HTTP status, or the provider's code. */
  code: Schema.optionalKey(Schema.String)
})
export type Said = typeof Said.Type

/** What became of turns that waited. */
export const Outcomes = Schema.Struct({
  failed: Schema.Int,
  aborted: Schema.Int,
  /** Answered by another endpoint. */
  elsewhere: Schema.Int
})
export type Outcomes = typeof Outcomes.Type

export const NO_OUTCOMES: Outcomes = { failed: 0, aborted: 0, elsewhere: 0 }

export const Notice = Schema.Struct({
  type: Schema.Literals(["incident-began", "incident-ended", "incident-gave-up", "turns-failed"]),
  /** The same for all notices of an incident, in every life of the service. */
  incidentId: Schema.String,
  target: Target.Target,
  since: Schema.Finite,
  at: Schema.Finite,
  said: Said,
  /** Turns that wait for the endpoint, as far as this life of the service knows them. */
  waiting: Schema.Int,
  /** Absent in a notice of an older version. */
  outcomes: Schema.optionalKey(Outcomes)
})
export type Notice = typeof Notice.Type
