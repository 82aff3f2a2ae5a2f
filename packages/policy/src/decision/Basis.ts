/**
 * The basis of a decision, recorded beside it: numbers, spending and limits (X9).
 *
 * A record outlives its policy, so it is read without that policy. It is small, because one is written for each retry: absent values are
 * left out, and so is the random draw, which the record of the attempt has.
 */
import type { Directive, RetryStrategy } from "@holdfast/kernel"
import { defined, type Failure } from "@holdfast/wire"
import * as Schema from "effect/Schema"
import * as Gate from "../gate/Gate.ts"
import * as Budget from "./Budget.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import { Unfit } from "../routing/Models.ts"
import * as WaitRules from "./WaitRules.ts"

/** The spending at the time of the decision (`RetryStrategy.Spent`). */
const Spent = Schema.Struct({
  sleptMs: Schema.Finite,
  elapsedMs: Schema.Finite,
  extendedMs: Schema.optionalKey(Schema.Finite),
  /** The part spent on failures of this reason; present if the reason has its own limit (X11). */
  onReason: Schema.optionalKey(Schema.Struct({ retries: Schema.Int, sleptMs: Schema.Finite, elapsedMs: Schema.Finite }))
})

/** The limits in force; absent means no limit. */
const Limits = Schema.Struct({
  schedule: Schema.Literals(["steps", "exponential", "linear"]),
  measure: Schema.Literals(["scheduled", "wall-clock"]),
  totalMs: Schema.optionalKey(Schema.Finite),
  /** After the first attempt. */
  maxRetries: Schema.optionalKey(Schema.Int),
  maxDelayMs: Schema.optionalKey(Schema.Finite),
  /** The limits of the failure's reason, within the others (X11). */
  onReason: Schema.optionalKey(
    Schema.Struct({ totalMs: Schema.optionalKey(Schema.Finite), maxRetries: Schema.optionalKey(Schema.Int) })
  )
})

/** A target that was considered, and the reason against it. */
const ConsideredTarget = Schema.Struct({
  /** `provider/model`. */
  target: Schema.String,
  /** It cooled down, or its credentials were limited, until then: epoch milliseconds (P7, P8). */
  until: Schema.optionalKey(Schema.Finite),
  /** The request does not fit it. */
  unfit: Schema.optionalKey(Unfit),
  /** It was rate-limited in this cycle (A5), or was tried since the last wait. */
  had: Schema.optionalKey(Schema.Literal(true))
})
export type ConsideredTarget = typeof ConsideredTarget.Type

const RoutingType = Schema.Literals(["fallback-chain", "round-robin"])

/** Absent: `limits` of a strategy without a policy, `ways` and `routing` if there was only one target. */
const common = {
  spent: Spent,
  limits: Schema.optionalKey(Limits),
  ways: Schema.optionalKey(Schema.Array(ConsideredTarget)),
  routing: Schema.optionalKey(RoutingType)
}

/** The basis of a decision: a wait, a refusal, or a retry at once. */
export const Basis = Schema.Union([
  Schema.TaggedStruct("Delay", {
    delayMs: Schema.Finite,
    scheduledMs: Schema.Finite,
    hintMs: Schema.optionalKey(Schema.Finite),
    /** The hint is older than this failure, from the provider of the retry's target. Absent: it came with this failure. */
    isEarlier: Schema.optionalKey(Schema.Literal(true)),
    /** Absent: there was no jitter. */
    jitterMs: Schema.optionalKey(Schema.Finite),
    /** Absent: the budget did not cut the wait. */
    clipped: Schema.optionalKey(Schema.Boolean),
    /** The policy has its own rule for waits of this reason. */
    byReason: Schema.optionalKey(Schema.Literal(true)),
    /** The failure does not concern the endpoint (`Gate.concerns`); absent: it does. */
    ofEndpoint: Schema.optionalKey(Schema.Literal(false)),
    /** After this wait the policy refuses a further retry: the turn calls, and shares no failure of another (X5). */
    isLast: Schema.optionalKey(Schema.Literal(true)),
    /** What the gate keeps of the turn (`Sleepers.Remembered`); absent: no refusal was the turn's own. */
    past: Schema.optionalKey(Schema.Struct({ odd: Schema.Finite, restsUntil: Schema.Finite })),
    ...common
  }),
  Schema.TaggedStruct("Refused", {
    /** `RetryPolicy.RefusalReason`, or `switched-off` if a person had switched retries off (P15). */
    because: Schema.Literals(["disabled", "max-retries", "max-delay", "budget", "switched-off"]),
    delayMs: Schema.optionalKey(Schema.Finite),
    /** The limit belongs to the failure's reason. */
    byReason: Schema.optionalKey(Schema.Literal(true)),
    ...common
  }),
  /** There is no wait: the next attempt goes elsewhere, or at once (P7, P8, A3 to A5). */
  Schema.TaggedStruct("AtOnce", {
    because: Schema.Literals(["other-credential", "other-target", "same-target"]),
    ...common,
    routing: RoutingType
  })
])
export type Basis = typeof Basis.Type

/** A recorded basis; `undefined`: the strategy recorded none, or one of its own. */
export const of = (recorded: unknown): Basis | undefined => (isBasis(recorded) ? recorded : undefined)

/** The basis of a decision about a wait, with the targets that were considered. `isEarlier`: the hint is older than this failure. */
export const decided = (
  policy: RetryPolicy.RetryPolicy,
  decision: RetryPolicy.RetryDecision,
  { failure, retries, spent }: Pick<Directive.Situation, "failure" | "retries" | "spent">,
  ways: ReadonlyArray<ConsideredTarget> = [],
  isEarlier = false
): Basis => {
  const isWait = decision._tag === "Delay"
  return {
    ...(isWait ? delayOf(decision) : decision),
    ...(isWait && isEarlier ? { isEarlier } : {}),
    ...(isWait && WaitRules.hasRule(policy, failure.reason) ? { byReason: true } : {}),
    ...(isWait && !Gate.concerns(failure) ? { ofEndpoint: false } : {}),
    ...(isWait && RetryPolicy.isLast(policy, retries, decision.delayMs, failure, spent) ? { isLast: true } : {}),
    ...commonOf(policy, failure.reason, spent, ways)
  }
}

/** The basis of a retry without a wait. */
export const atOnce = (
  policy: RetryPolicy.RetryPolicy,
  because: Extract<Basis, { readonly _tag: "AtOnce" }>["because"],
  { failure, spent }: Pick<Directive.Situation, "failure" | "spent">,
  ways: ReadonlyArray<ConsideredTarget>
): Basis => ({
  _tag: "AtOnce",
  because,
  ...commonOf(policy, failure.reason, spent, ways),
  routing: policy.routing.type
})

/** The basis while a person has switched retries off (P15). */
export const switchedOff = (policy: RetryPolicy.RetryPolicy, spent: RetryStrategy.Spent): Basis => ({
  _tag: "Refused",
  because: "switched-off",
  ...commonOf(policy, undefined, spent, [])
})

// --- internal

const isBasis = Schema.is(Basis)

const delayOf = ({
  clipped,
  jitterMs,
  ...decision
}: Extract<RetryPolicy.RetryDecision, { readonly _tag: "Delay" }>) => ({
  ...decision,
  ...(jitterMs > 0 ? { jitterMs } : {}),
  ...(clipped ? { clipped } : {})
})

const commonOf = (
  policy: RetryPolicy.RetryPolicy,
  reason: Failure.Reason | undefined,
  { elapsedMs, extendedMs = 0, onReason, sleptMs }: RetryStrategy.Spent,
  ways: ReadonlyArray<ConsideredTarget>
): Pick<Basis, "spent" | "limits" | "ways" | "routing"> => ({
  spent: {
    sleptMs,
    elapsedMs,
    ...(extendedMs > 0 ? { extendedMs } : {}),
    ...(onReason !== undefined && Budget.hasReasonLimits(policy, reason) ? { onReason } : {})
  },
  limits: limitsOf(policy, reason),
  ...(ways.length > 1 ? { ways, routing: policy.routing.type } : {})
})

const limitsOf = (policy: RetryPolicy.RetryPolicy, reason: Failure.Reason | undefined): typeof Limits.Type => {
  const { budget, maxDelayMs, schedule } = policy
  const maxRetries = RetryPolicy.mostRetries(policy)
  return {
    schedule: schedule.type,
    measure: budget.measure,
    ...defined({ totalMs: budget.totalMs, maxRetries }),
    ...(maxDelayMs === undefined || maxDelayMs <= 0 ? {} : { maxDelayMs }),
    ...(Budget.hasReasonLimits(policy, reason) ? { onReason: ownOf(policy, reason) } : {})
  }
}

const ownOf = (
  policy: RetryPolicy.RetryPolicy,
  reason: Failure.Reason | undefined
): NonNullable<(typeof Limits.Type)["onReason"]> => {
  const totalMs = Budget.ofReason(policy, reason)?.totalMs
  const maxRetries = RetryPolicy.mostRetriesOn(policy, reason)
  return defined({ totalMs, maxRetries })
}
