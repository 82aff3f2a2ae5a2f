/** Waits by reason as a configuration writes them. */
import { Failure } from "@holdfast/wire"
import { Duration, Schema } from "effect"
import * as Durations from "../Durations.ts"
import type { ReasonWait, ReasonWaits } from "../Waits.ts"
import { Schedule, toSchedule } from "./ScheduleSettings.ts"

const Reason = Schema.Struct({
  /** Absent: that of the policy. */
  schedule: Schema.optionalKey(
    Schema.Union([Schema.Literal("none"), Schedule]).annotate({
      message: 'Expected "none", or a schedule: an object whose "type" is "steps", "exponential" or "linear"'
    })
  ),
  /** What a provider's own delay does to the schedule's. Absent: it can only lengthen it. */
  hint: Schema.optionalKey(Schema.Literals(["lengthen", "replace", "ignore"])),
  atLeast: Schema.optionalKey(Durations.NotNegative),
  atMost: Schema.optionalKey(Durations.Positive)
}).check(
  Schema.makeFilter(({ atLeast, atMost }) =>
    atLeast === undefined || atMost === undefined || !Duration.isGreaterThan(atLeast, atMost)
      ? undefined
      : { path: ["atMost"], issue: "Expected atMost to be no shorter than atLeast" }
  )
)

/** By reason; one replaces the whole of what the profile says about that reason. */
export const Reasons = Schema.Record(Schema.String, Reason).check(
  Schema.makeFilter((reasons) =>
    Object.keys(reasons)
      .filter((name) => !isReason(name))
      .map((name) => ({ path: [name], issue: `Expected a reason: one of ${Failure.Reason.literals.join(", ")}` }))
  )
)

/** The waits that settings describe. */
export const toReasons = (reasons: typeof Reasons.Type): ReasonWaits =>
  Object.fromEntries(Object.entries(reasons).map(([name, reason]) => [name, toReason(reason)]))

// --- internal

const isReason = Schema.is(Failure.Reason)

const toReason = ({ atLeast, atMost, hint, schedule }: typeof Reason.Type): ReasonWait => ({
  ...(schedule === undefined ? {} : { schedule: schedule === "none" ? schedule : toSchedule(schedule) }),
  ...(hint === undefined ? {} : { hint }),
  ...(atLeast === undefined ? {} : { leastMs: Duration.toMillis(atLeast) }),
  ...(atMost === undefined ? {} : { mostMs: Duration.toMillis(atMost) })
})
