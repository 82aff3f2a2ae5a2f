/** Schemas of limits in a configuration: budgets, counts, and what follows a failure after content (X7). */
import { Checks, defined, TurnEvent } from "@holdfast/wire"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as Durations from "./Durations.ts"
import { type About, setting } from "./Setting.ts"

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
export type BudgetSettings = ReturnType<typeof budget>["Type"]

/** Returns the settings in milliseconds; values that are not set are absent. */
export const toBudget = (
  budget: BudgetSettings | undefined
): { readonly totalMs?: number; readonly clip?: boolean } => {
  const { clip, total } = Duration.isDuration(budget) ? { total: budget, clip: undefined } : (budget ?? {})
  return defined({ totalMs: total && Duration.toMillis(total), clip })
}
