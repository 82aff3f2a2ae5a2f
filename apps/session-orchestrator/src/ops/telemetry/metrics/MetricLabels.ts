/**
 * Limits the number of values of a metric label.
 *
 * Clients and models make up names, and each name is a series.
 *
 * - A name of the configuration is its own value, and so are the first `MOST` other names. Later names are counted as `other`.
 * - A name longer than `LONGEST` is `other`: a model of the simulated provider is a whole script.
 * - A name with a secret in it is `other`: a person has entered a key as a model's name.
 */
import { Target } from "@holdfast/wire"
import type { Values } from "../../../config/Config.ts"
import * as ModelChoice from "../../../config/ModelChoice.ts"
import type * as Series from "./Series.ts"
import * as ProviderName from "../../../base/text/ProviderName.ts"

/** The value of every name beyond the limits. */
export const OTHER = "other"

/** This gives some thousand series a metric, which a Prometheus on a laptop can take. */
export const MOST = 50

/** Characters of a value at most. */
export const LONGEST = 100

/** The values of one label: a function that returns a name, or `other`. */
export const labelValues = (configured: Iterable<string>, redact: (text: string) => string, most: number = MOST) => {
  const known = new Set(configured)
  let left = most
  return (name: string): string => {
    if (known.has(name)) return name
    if (left <= 0 || name.length > LONGEST || redact(name) !== name) return OTHER
    left--
    known.add(name)
    return name
  }
}

/** The values that labels may have. */
export type Known = ReturnType<typeof ofConfig>

/** The labels of a target. Its series are created when it is first met, and those of configured targets at once. */
export const ofTargets = (
  { models, providers, targets }: Known,
  series: ReadonlyArray<Series.Fixed>,
  open: ReturnType<typeof Series.opening>
) => {
  const labelsOf = (target: Target.Target) => {
    const labels = { provider: providers(target.provider), model: models(target.model) }
    open(series, labels)
    return labels
  }
  targets.forEach(labelsOf)
  return labelsOf
}

/** The labels of a configuration. */
export const ofConfig = (
  config: Pick<Values, "model" | "models" | "providers" | "retry">,
  redact: (text: string) => string
) => ({
  // No provider outside the configuration is ever called; through the gateway, some are called with a client's own key.
  providers: labelValues(
    Array.from(config.providers.keys()).flatMap((name) => [name, ProviderName.withClientKey(name)]),
    redact,
    0
  ),
  models: labelValues(config.model === undefined ? [] : [config.model.model], redact),
  tools: labelValues([], redact),
  /** Targets that the configuration names. */
  targets: ModelChoice.namesIn(config)
    .flatMap((name) => Target.parse(name) ?? [])
    .filter(({ provider }) => config.providers.has(provider))
})
