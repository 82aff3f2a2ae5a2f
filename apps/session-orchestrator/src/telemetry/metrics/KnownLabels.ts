/** The values that the labels of metrics may have, by a configuration. */
import { RetrySettings } from "@holdfast/policy"
import { Target } from "@holdfast/wire"
import type { Values } from "../../config/Config.ts"
import * as ProviderName from "../../text/ProviderName.ts"
import { Labels } from "./MetricLabels.ts"
import type * as TurnMetrics from "./TurnMetrics.ts"

/** The labels of a configuration. */
export const of = (
  { model, models, providers, retry }: Pick<Values, "model" | "models" | "providers" | "retry">,
  redact: (text: string) => string
): TurnMetrics.Known => ({
  // No provider outside the configuration is ever called; through the gateway, some are called with a client's own key.
  providers: new Labels(
    Array.from(providers.keys()).flatMap((name) => [name, ProviderName.withClientKey(name)]),
    redact,
    0
  ),
  models: new Labels(model === undefined ? [] : [model.model], redact),
  tools: new Labels([], redact),
  targets: [
    ...(model === undefined ? [] : [model]),
    ...RetrySettings.targetNames(retry).flatMap(({ name }) => Target.parse(name) ?? []),
    ...Object.keys(models).flatMap((name) => Target.parse(name) ?? [])
  ].filter(({ provider }) => providers.has(provider))
})
