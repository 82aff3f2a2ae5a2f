/**
 * Creates the series of a metric before their first increment.
 *
 * Prometheus's `increase` compares samples, so it misses the increment that creates a series: a first failure would count as none.
 */
import type { Context } from "effect"
import { Metric } from "effect"

/** The values of each label. There is one series per combination. */
export type Labels = Readonly<Record<string, ReadonlyArray<string>>>

/** Creates every series of the given labels; an existing series keeps its value. */
export const create = <Input, State>(
  metric: Metric.Metric<Input, State>,
  labels: Labels,
  context: Context.Context<never>
): void => {
  for (const attributes of combinations(labels)) Metric.withAttributes(metric, attributes).valueUnsafe(context)
}

// --- internal

const combinations = (labels: Labels): ReadonlyArray<Readonly<Record<string, string>>> =>
  Object.entries(labels).reduce<ReadonlyArray<Readonly<Record<string, string>>>>(
    (made, [label, values]) => made.flatMap((one) => values.map((value) => ({ ...one, [label]: value }))),
    [{}]
  )
