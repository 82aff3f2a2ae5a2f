/** The schema of waits and limits by reason in a configuration. */
import { defined, Failure, Checks, TurnEvent } from "@holdfast/wire"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as Durations from "./Durations.ts"
import type { ReasonRule, ReasonRules } from "../decision/Budget.ts"
import { Schedule, toSchedule } from "./ScheduleSettings.ts"
import { setting, type About } from "./Setting.ts"

/** A whole number of `least` or more. */
export const countFrom = (least: number) =>
  Schema.Int.check(Checks.isWithin(least, `Expected a value greater than or equal to ${least}`))

/** `fail`: nothing is retried. `discard`: the content is void, and the step is retried. `unseen`: the same, if no client received any of it. */
export const MidStreamSettings = TurnEvent.MidStream.annotate({ message: 'Expected "fail", "discard" or "unseen"' })

/** A bare duration is a total. "Infinity" means no limit in time. `clip` cuts the last wait to the rest of the budget (D1). */
export const budget = (total: About & { default?: string }, clip: About & { default?: boolean }) =>
  Schema.Union([
    Durations.Limit,
    Schema.Struct({ total: setting(Durations.Limit, total), clip: setting(Schema.Boolean, clip) })
  ]).annotate({ message: 'Expected a duration such as "8 hours", or { "total": duration, "clip": boolean }' })

/** A budget as settings have it. */
type BudgetSettings = ReturnType<typeof budget>["Type"]

/** Returns the settings in milliseconds; values that are not set are absent. */
export const toBudget = (
  budget: BudgetSettings | undefined
): { readonly totalMs?: number; readonly clip?: boolean } => {
  const { clip, total } = Duration.isDuration(budget) ? { total: budget, clip: undefined } : (budget ?? {})
  return defined({ totalMs: total && Duration.toMillis(total), clip })
}

const Reason = Schema.Struct({
  schedule: setting(
    Schema.Union([Schema.Literal("none"), Schedule]).annotate({
      message: 'Expected "none", or a schedule: an object whose "type" is "steps", "exponential" or "linear"'
    }),
    {
      doc: 'a schedule as in `retry.schedule`, or `"none"`: at once, as long as a `maxRetries` ends it, its own or the policy\'s; otherwise `retry.schedule`',
      unset: "`retry.schedule`"
    }
  ),
  hint: setting(Schema.Literals(["lengthen", "replace", "ignore"]), {
    doc: "a provider's own delay can `lengthen` the schedule's, `replace` it (then at least a second), or be ignored (`ignore`)",
    default: "lengthen"
  }),
  atLeast: setting(Durations.NotNegative, { doc: "a shorter wait becomes this long" }),
  atMost: setting(Durations.Positive, { doc: "a longer wait becomes this long, a provider's own as well" }),
  maxRetries: setting(countFrom(0), {
    doc: "retries of a step after failures of this kind; `retry.counts` holds for them too",
    unset: "no limit"
  }),
  budget: setting(
    budget(
      { doc: "the same, in the object", unset: "no limit" },
      { doc: "cut the last wait to the rest of the budget", unset: "`retry.budget.clip`" }
    ),
    {
      doc: "how much waiting for failures of this kind may cost a step: a duration, or an object; `retry.measure` holds for it too",
      unset: "no limit"
    }
  ),
  midStream: setting(MidStreamSettings, {
    doc: "what follows when an answer breaks off with a failure of this kind",
    unset: "`retry.midStream`"
  })
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
const limitOf = (settings: BudgetSettings | undefined): Pick<ReasonRule, "budget"> => {
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
