/**
 * What `/metrics` says, by a parser that others wrote.
 *
 * That parser puts the series of a histogram together and drops their labels. Told nothing of its type it reads each of its
 * lines by itself; so the types are read from the whole, and the samples from the same without the types of histograms.
 */
import parse from "parse-prometheus-text-format"

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Metrics {
  /** `counter`, `gauge` or `histogram`, by the metric's name. */
  readonly types: ReadonlyMap<string, string>
  readonly samples: ReadonlyArray<Sample>
}

export const read = (text: string): Metrics => ({
  types: new Map(parse(text).map(({ name, type }) => [name, type.toLowerCase()])),
  samples: parse(text.replaceAll(/^# TYPE \S+ histogram\n/gm, "")).flatMap(({ metrics, name }) =>
    metrics.map(({ labels, value }) => ({ name, labels: labels ?? {}, value: Number(value) }))
  )
})

/** The sum of the samples that have these labels; of a histogram, how many values it has. */
export const valueOf = ({ samples, types }: Metrics, name: string, labels: Sample["labels"] = {}): number =>
  samples
    .filter((sample) => sample.name === (types.get(name) === "histogram" ? `${name}_count` : name))
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0)

/** The labels of a metric, but for a histogram's own. */
export const labelsOf = ({ samples }: Metrics, name: string): ReadonlyArray<string> => {
  const own = new Set([name, `${name}_bucket`, `${name}_sum`, `${name}_count`])
  const labels = samples.filter((sample) => own.has(sample.name)).flatMap(({ labels }) => Object.keys(labels))
  return Array.from(new Set(labels.filter((label) => label !== "le"))).sort()
}
