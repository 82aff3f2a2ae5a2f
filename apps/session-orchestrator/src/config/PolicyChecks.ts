/** Checks the targets and the report schema of a configuration's `retry`. */
import { RetrySettings } from "@holdfast/policy"
import { Target } from "@holdfast/wire"
import type { Values } from "./Config.ts"
import * as ModelChoice from "./ModelChoice.ts"
import * as ConfigProblem from "./reading/ConfigProblem.ts"
import * as ReportSchema from "../report/ReportSchema.ts"
import type { Settings } from "./reading/Settings.ts"

/** All problems of `retry` with respect to the rest of the configuration. */
export const problems = (
  { models = {}, retry = {} }: Settings,
  providers: Values["providers"],
  simulated: ModelChoice.SimulatedModels
): ReadonlyArray<ConfigProblem.Problem> => {
  const unusable = (path: ReadonlyArray<PropertyKey>, name: string): ReadonlyArray<ConfigProblem.Problem> => {
    const target = Target.parse(name)
    const refusal = target && ModelChoice.refusalOf(target, providers, simulated)
    return refusal === undefined ? [] : [{ place: ConfigProblem.formatPath(path), ...refusal }]
  }
  const schema = ReportSchema.problemOf(retry)
  return [
    ...RetrySettings.targetNames(retry).flatMap(({ name, path }) => unusable(["retry", ...path], name)),
    ...Object.keys(models).flatMap((name) => unknownProvider(name, providers)),
    ...(schema === undefined ? [] : [{ place: "retry.finalReport.schema", message: `it cannot be used: ${schema}.` }])
  ]
}

// --- internal

/** An entry of `models` needs a known provider. It needs no key: a model that cannot be used may be described. */
const unknownProvider = (name: string, providers: Values["providers"]): ReadonlyArray<ConfigProblem.Problem> => {
  const provider = Target.parse(name)?.provider ?? name
  if (providers.has(provider)) return []
  const known = Array.from(providers.keys()).join(", ")
  const message = `there is no provider ${JSON.stringify(provider)}. Known: ${known}.`
  return [{ place: ConfigProblem.formatPath(["models", name]), message }]
}
