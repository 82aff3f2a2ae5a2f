/**
 * Creates the series of a metric before their first increment.
 *
 * Prometheus's `increase` compares samples, so it misses the increment that creates a series: a first failure would count as none.
 */
import { Context, Metric } from "effect"

/** The values of each label. There is one series per combination. */
export type SeriesLabels = Readonly<Record<string, ReadonlyArray<string>>>

/** Creates every series of the given labels; an existing series keeps its value. */
export const create = <Input, State>(
  metric: Metric.Metric<Input, State>,
  labels: SeriesLabels,
  context: Context.Context<never>
): void => {
  for (const attributes of combinations(labels)) Metric.withAttributes(metric, attributes).valueUnsafe(context)
}

/** A metric, and the values of its fixed labels. */
export type Fixed = readonly [metric: Metric.Metric<never, unknown>, labels: SeriesLabels]

/** Creates series with further labels, when these are first met. */
export const opening = (context: Context.Context<never>) => {
  const opened = new Set<string>()
  return (series: ReadonlyArray<Fixed>, labels: Readonly<Record<string, string>>): void => {
    const name = JSON.stringify(labels)
    if (opened.has(name)) return
    opened.add(name)
    const own = Object.fromEntries(Object.entries(labels).map(([label, value]) => [label, [value]]))
    for (const [metric, fixed] of series) create(metric, { ...own, ...fixed }, context)
  }
}

/** Updates a metric with labels on the registry of a context. A metric finds its series by the context: reusing one saves building the series' name. */
export const counting = (context: Context.Context<never>) => {
  const contexts = new Map<string, Context.Context<never>>()
  const within = (labels: Readonly<Record<string, string>>): Context.Context<never> => {
    const name = JSON.stringify(labels)
    const known = contexts.get(name)
    if (known !== undefined) return known
    const outer = Context.get(context, Metric.CurrentMetricAttributes)
    const made = Context.add(context, Metric.CurrentMetricAttributes, { ...outer, ...labels })
    contexts.set(name, made)
    return made
  }
  return <Input, State>(
    metric: Metric.Metric<Input, State>,
    value: Input,
    labels: Readonly<Record<string, string>>
  ): void => metric.updateUnsafe(value, within(labels))
}

// --- internal

const combinations = (labels: SeriesLabels): ReadonlyArray<Readonly<Record<string, string>>> =>
  Object.entries(labels).reduce<ReadonlyArray<Readonly<Record<string, string>>>>(
    (made, [label, values]) => made.flatMap((one) => values.map((value) => ({ ...one, [label]: value }))),
    [{}]
  )
