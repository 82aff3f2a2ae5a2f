/**
 * Builds a turn's routing, final report, limits and compaction with the service's functions.
 *
 * Shell.H1. The standing of targets and credentials is kept in memory, for all turns of a scenario.
 * Shell.H2. A word is a token.
 */
import { Compactor, FinalReport, type Provider, Router, type TurnLimits } from "@holdfast/kernel"
import { type RetryPolicy, Standing } from "@holdfast/policy"
import type { Message } from "@holdfast/wire"
import { Effect, Layer } from "effect"
import * as ContextSize from "../../src/base/tokens/ContextSize.ts"
import * as TurnPorts from "../../src/engine/turn/TurnPorts.ts"
import type { Scenario } from "./RuleScenario.ts"

/** The parts of one turn, for the conversation before it. */
export type Shell = (
  history: ReadonlyArray<Message.Message>
) => Effect.Effect<{ readonly layer: Layer.Layer<never>; readonly limits: TurnLimits.TurnLimits }>

export const make = (
  { credentials = {}, models = {} }: Scenario,
  policy: RetryPolicy.RetryPolicy,
  provider: Provider.Provider["Service"]
): Shell => {
  let standing = Standing.empty
  const dependencies: TurnPorts.RouterDependencies = {
    credentials,
    models,
    standings: {
      load: (now) => Effect.sync(() => Standing.expire(standing, now)),
      note: (changes) => Effect.sync(() => void (standing = Standing.merge(standing, changes)))
    },
    countTokens: (request) => ContextSize.of(request, (text) => text.split(/\s+/).length)
  }
  const setting = { policy, provider, isEnabled: () => true, patiently: Effect.orDie }
  return (history) => {
    const { compactor, limits = {}, report, router } = TurnPorts.portsOf(dependencies, { ...setting, history })
    const layer = Layer.mergeAll(
      Layer.succeed(Compactor.Compactor, compactor),
      router === undefined ? Layer.empty : Layer.succeed(Router.Router, router),
      report === undefined ? Layer.empty : Layer.succeed(FinalReport.FinalReport, report)
    )
    return Effect.succeed({ limits, layer })
  }
}
