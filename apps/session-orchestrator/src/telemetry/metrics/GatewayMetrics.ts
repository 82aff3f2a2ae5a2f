/**
 * Counts the calls through the gateway that were no turns: answered at once, or refused by their first attempt.
 *
 * A call that becomes a turn is counted by `TurnMetrics`, its first attempt too.
 */
import { Failure, type Message, type Target } from "@holdfast/wire"
import { type Context, Metric } from "effect"
import type { Labels } from "./MetricLabels.ts"
import * as Series from "./Series.ts"
import * as TurnMetrics from "./TurnMetrics.ts"

const calls = Metric.counter("holdfast_gateway_calls_total", {
  description:
    "Calls through the gateway that became no turn, by provider, model and status: answered, or the reason of the failure.",
  incremental: true
})

/** How a call ended that became no turn. `failure`: absent if it was answered. */
export interface EndedCall {
  readonly target: Target.Target
  readonly usage: Message.Usage
  readonly failure: Failure.Failure | undefined
}

/** Counts the end of a call. */
export type Count = (call: EndedCall) => void

/** The counter, on the registry of a context. */
export const counter = (
  providers: Labels,
  models: Labels,
  configured: ReadonlyArray<Target.Target>,
  context: Context.Context<never>
): Count => {
  const opened = new Set<string>()
  const at = ({ model, provider }: Target.Target) => {
    const where = { provider: providers.of(provider), model: models.of(model) }
    const name = `${where.provider}/${where.model}`
    if (!opened.has(name)) {
      opened.add(name)
      const labels = { provider: [where.provider], model: [where.model] }
      Series.create(calls, { ...labels, status: ["answered", ...Failure.Reason.literals] }, context)
    }
    return where
  }
  for (const target of configured) at(target)
  const count = <Input, State>(
    metric: Metric.Metric<Input, State>,
    value: Input,
    labels: Readonly<Record<string, string>>
  ): void => Metric.withAttributes(metric, labels).updateUnsafe(value, context)
  return ({ failure, target, usage }) => {
    const where = at(target)
    count(calls, 1, { ...where, status: failure?.reason ?? "answered" })
    const { inputTokens, outputTokens } = usage
    if (inputTokens !== undefined) count(TurnMetrics.tokens, inputTokens, { ...where, direction: "input" })
    if (outputTokens !== undefined) count(TurnMetrics.tokens, outputTokens, { ...where, direction: "output" })
  }
}
