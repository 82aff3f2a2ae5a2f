/**
 * What a decision was made from, as it goes on record beside it: the numbers, what had been spent, and the limits in force
 * (X9).
 *
 * A record outlives the policy that made it, so it is read without that policy. It is small: one is written for each retry.
 */
import type { RetryStrategy } from "@holdfast/kernel"
import type { Failure } from "@holdfast/wire"
import { Schema } from "effect"
import * as RetryPolicy from "./RetryPolicy.ts"

/** What had been spent when it was decided (`RetryStrategy.Spent`). */
const Spent = Schema.Struct({
  sleptMs: Schema.Finite,
  elapsedMs: Schema.Finite,
  extendedMs: Schema.optionalKey(Schema.Finite),
  spread: Schema.Finite
})

/** The limits in force; what is absent has none. */
const Limits = Schema.Struct({
  schedule: Schema.Literals(["steps", "exponential", "linear"]),
  measure: Schema.Literals(["scheduled", "wall-clock"]),
  totalMs: Schema.optionalKey(Schema.Finite),
  maxRetries: Schema.optionalKey(Schema.Int),
  maxDelayMs: Schema.optionalKey(Schema.Finite)
})

/** `limits` is absent in records of versions that did not write it. */
const common = { spent: Spent, limits: Schema.optionalKey(Limits) }

export const Basis = Schema.Union([
  Schema.TaggedStruct("Delay", {
    delayMs: Schema.Finite,
    scheduledMs: Schema.Finite,
    hintMs: Schema.optionalKey(Schema.Finite),
    jitterMs: Schema.Finite,
    clipped: Schema.Boolean,
    ...common
  }),
  Schema.TaggedStruct("Refused", {
    /** `RetryPolicy.Because`, or that a person had switched retries off (P15). */
    because: Schema.Literals(["disabled", "max-retries", "max-delay", "budget", "switched-off"]),
    delayMs: Schema.optionalKey(Schema.Finite),
    ...common
  })
])
export type Basis = typeof Basis.Type

/** What `RetryPolicy.decide` makes its decision from, and the decision. */
export const of = (
  policy: RetryPolicy.RetryPolicy,
  attempt: number,
  failure: Failure.Failure,
  spent: RetryStrategy.Spent
): Basis => ({ ...RetryPolicy.decide(policy, attempt, failure, spent), spent: { ...spent }, limits: limitsOf(policy) })

/** Nothing was decided: a person had switched retries off (P15). */
export const switchedOff = (policy: RetryPolicy.RetryPolicy, spent: RetryStrategy.Spent): Basis => ({
  _tag: "Refused",
  because: "switched-off",
  spent: { ...spent },
  limits: limitsOf(policy)
})

// --- internal

const limitsOf = ({ budget, maxDelayMs, maxRetries, schedule }: RetryPolicy.RetryPolicy): typeof Limits.Type => ({
  schedule: schedule.type,
  measure: budget.measure,
  ...(budget.totalMs === undefined ? {} : { totalMs: budget.totalMs }),
  ...(maxRetries === undefined ? {} : { maxRetries }),
  ...(maxDelayMs === undefined || maxDelayMs <= 0 ? {} : { maxDelayMs })
})
