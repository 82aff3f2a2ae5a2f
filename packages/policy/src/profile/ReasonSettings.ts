/** The schema of waits and limits by reason in a configuration. */
import { defined, Failure } from "@holdfast/wire"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as Counts from "./Counts.ts"
import * as Durations from "./Durations.ts"
import type { ReasonRule, ReasonRules } from "../decision/ReasonLimits.ts"
import { BudgetSettings, toBudget } from "./BudgetSettings.ts"
import { MidStreamSettings } from "./MidStreamSettings.ts"
import { Schedule, toSchedule } from "./ScheduleSettings.ts"

const Reason = Schema.Struct({
  /** Absent: that of the policy. */
  schedule: Schema.optionalKey(
    Schema.Union([Schema.Literal("none"), Schedule]).annotate({
      message: 'Expected "none", or a schedule: an object whose "type" is "steps", "exponential" or "linear"'
    })
  ),
  /** The effect of a provider's hint on the schedule's delay. Absent: it can only lengthen it. */
  hint: Schema.optionalKey(Schema.Literals(["lengthen", "replace", "ignore"])),
  atLeast: Schema.optionalKey(Durations.NotNegative),
  atMost: Schema.optionalKey(Durations.Positive),
  /** Within the policy's limit, counted as the policy's `counts`. */
  maxRetries: Schema.optionalKey(Counts.from(0)),
  /** Within the policy's (X11). */
  budget: Schema.optionalKey(BudgetSettings),
  /** Absent: that of the policy (X7). */
  midStream: Schema.optionalKey(MidStreamSettings)
}).check(
  Schema.makeFilter(({ atLeast, atMost }) =>
    atLeast === undefined || atMost === undefined || !Duration.isGreaterThan(atLeast, atMost)
      ? undefined
      : { path: ["atMost"], issue: "Expected atMost to be no shorter than atLeast" }
  )
)

/** By reason; a rule replaces the profile's whole rule for that reason. */
export const Reasons = Schema.Record(Schema.String, Reason).check(
  Schema.makeFilter(
    (reasons) =>
      Object.keys(reasons)
        .filter((name) => !isReason(name))
        .map((name) => ({ path: [name], issue: `Expected a reason: one of ${Failure.Reason.literals.join(", ")}` })),
    { toJsonSchema: () => ({ propertyNames: { enum: Failure.Reason.literals } }) }
  )
)

/** Returns the rules of settings. */
export const toReasons = (reasons: typeof Reasons.Type): ReasonRules =>
  Object.fromEntries(Object.entries(reasons).map(([name, reason]) => [name, toReason(reason)]))

// --- internal

const isReason = (name: string): boolean => Failure.Reason.literals.some((reason) => reason === name)

/** An infinite budget is no budget. */
const limitOf = (settings: typeof BudgetSettings.Type | undefined): Pick<ReasonRule, "budget"> => {
  const { totalMs = Infinity, clip } = toBudget(settings)
  return Number.isFinite(totalMs) ? { budget: { totalMs, ...defined({ clip }) } } : {}
}

const toReason = ({
  atLeast,
  atMost,
  budget,
  hint,
  maxRetries,
  midStream,
  schedule
}: typeof Reason.Type): ReasonRule => ({
  ...defined({
    schedule: schedule === "none" ? schedule : schedule && toSchedule(schedule),
    hint,
    leastMs: atLeast && Duration.toMillis(atLeast),
    mostMs: atMost && Duration.toMillis(atMost),
    maxRetries,
    midStream
  }),
  ...limitOf(budget)
})
