/** The schema of budgets in a configuration. */
import { defined } from "@holdfast/wire"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as Durations from "./Durations.ts"

/** A bare duration is a total. "Infinity" means no limit in time. */
export const BudgetSettings = Schema.Union([
  Durations.Limit,
  Schema.Struct({
    total: Schema.optionalKey(Durations.Limit),
    /** Cuts the last wait to the rest of the budget instead of refusing it (D1). */
    clip: Schema.optionalKey(Schema.Boolean)
  })
]).annotate({ message: 'Expected a duration such as "8 hours", or { "total": duration, "clip": boolean }' })

/** Returns the settings in milliseconds; values that are not set are absent. */
export const toBudget = (
  budget: typeof BudgetSettings.Type | undefined
): { readonly totalMs?: number; readonly clip?: boolean } => {
  const { clip, total } = Duration.isDuration(budget) ? { total: budget, clip: undefined } : (budget ?? {})
  return defined({ totalMs: total && Duration.toMillis(total), clip })
}
