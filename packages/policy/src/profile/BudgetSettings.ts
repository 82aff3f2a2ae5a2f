/** Budgets as a configuration writes them. */
import { Duration, Schema } from "effect"
import * as Durations from "../Durations.ts"

/** A bare duration is a total. "Infinity" means no limit in time. */
export const BudgetSettings = Schema.Union([
  Durations.Limit,
  Schema.Struct({
    total: Schema.optionalKey(Durations.Limit),
    /** Cut the last wait to what is left instead of refusing it (D1). */
    clip: Schema.optionalKey(Schema.Boolean)
  })
]).annotate({ message: 'Expected a duration such as "8 hours", or { "total": duration, "clip": boolean }' })

/** What the settings say; what they leave out is absent. */
export const toBudget = (
  budget: typeof BudgetSettings.Type | undefined
): { readonly totalMs?: number; readonly clip?: boolean } => {
  const { clip, total } = Duration.isDuration(budget) ? { total: budget, clip: undefined } : (budget ?? {})
  return {
    ...(total === undefined ? {} : { totalMs: Duration.toMillis(total) }),
    ...(clip === undefined ? {} : { clip })
  }
}
