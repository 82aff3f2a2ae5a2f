/**
 * Reads `/metrics` with a third-party parser.
 *
 * That parser combines the series of a histogram and drops their labels. Without the type it reads each line separately; so the types
 * are read from the whole text, and the samples from the same text without the types of histograms.
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

/** The sum of the samples with these labels; for a histogram, the number of its values. */
export const valueOf = ({ samples, types }: Metrics, name: string, labels: Sample["labels"] = {}): number =>
  samples
    .filter((sample) => sample.name === (types.get(name) === "histogram" ? `${name}_count` : name))
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0)

/** The labels of a metric, without those of every histogram. */
export const labelsOf = ({ samples }: Metrics, name: string): ReadonlyArray<string> => {
  const own = new Set([name, `${name}_bucket`, `${name}_sum`, `${name}_count`])
  const labels = samples.filter((sample) => own.has(sample.name)).flatMap(({ labels }) => Object.keys(labels))
  return Array.from(new Set(labels.filter((label) => label !== "le"))).sort()
}
