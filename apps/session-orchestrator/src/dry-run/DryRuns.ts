/**
 * Tries policies for clients of the service (X10).
 *
 * DryRuns.N1. One run at a time, in slices: turns of the service go on meanwhile.
 * DryRuns.N2. A faulty request is refused with the key, what was wrong and what was expected.
 */
import { RetrySettings } from "@holdfast/policy"
import { Quote, Target } from "@holdfast/wire"
import { DryRunGroup } from "@holdfast/wire/api"
import { Clock, Context, Duration, Effect, Layer, Result, Semaphore } from "effect"
import { Config } from "../config/Config.ts"
import * as ConfigProblem from "../config/reading/ConfigProblem.ts"
import { InvalidRequest } from "../conversation/Conversations.ts"
import * as ConfiguredRun from "./ConfiguredRun.ts"
import * as DryRunText from "./DryRunText.ts"
import * as Outages from "./Outages.ts"
import * as Picture from "./Picture.ts"
import * as Trial from "./Trial.ts"

/** Runs dry runs. */
export class DryRuns extends Context.Service<
  DryRuns,
  {
    /** Runs one, and sums it up. */
    readonly run: (request: DryRunGroup.RunDryRun) => Effect.Effect<DryRunGroup.DryRunAnswer, InvalidRequest>
  }
>()("@holdfast/session-orchestrator/dry-run/DryRuns") {}

/** By the configuration in force. */
export const layer: Layer.Layer<DryRuns, never, Config> = Layer.effect(
  DryRuns,
  Effect.gen(function* () {
    const config = yield* Config
    const alone = Semaphore.makeUnsafe(1).withPermits(1) // DryRuns.N1
    return { run: (request) => alone(run(config, request)) }
  })
)

// --- internal

const run = Effect.fnUntraced(function* (
  config: ConfiguredRun.Configured,
  request: DryRunGroup.RunDryRun
): Effect.fn.Return<DryRunGroup.DryRunAnswer, InvalidRequest> {
  const configured = yield* Effect.fromResult(Result.mapError(configuredBy(config, request), refusal))
  const outages = yield* Effect.fromResult(Result.mapError(outagesOf(configured, request), refusal))
  const { hours = 48, picture = false, turns = 1, withinMs = 60_000 } = request
  const scene = {
    outages,
    turns,
    withinMs,
    startAt: yield* Clock.currentTimeMillis,
    forMs: Duration.toMillis(Duration.hours(hours)),
    mostCalls: DryRunGroup.MOST_CALLS,
    seed: 1
  }
  const trial = yield* Trial.run(Trial.nameOf(configured), () => ConfiguredRun.make(configured, scene))
  const words = Outages.describe(outages)
  const title = `${DryRunText.counted(turns, "turn")} of ${Target.format(configured.model)}`
  return {
    report: trial.report,
    outages: words,
    assumptions: Trial.assumptions(configured),
    ...(picture ? { svg: Picture.svg(title, words.join(" "), [trial], Picture.elapsed) } : {})
  }
})

const refusal = (message: string): InvalidRequest => new InvalidRequest({ message })

/** The configuration with the request's model and settings. */
const configuredBy = (
  config: ConfiguredRun.Configured,
  { model: name, retry }: DryRunGroup.RunDryRun
): Result.Result<ConfiguredRun.Configured, string> => {
  const model = name === undefined ? config.model : Target.parse(name)
  const providers = Array.from(config.providers.keys())
  const unknown = (name: string, place: string) =>
    Result.fail(
      `${place}: expected "provider/model" with a provider of the configuration (${providers.join(", ")}), got ${Quote.of(name)}.`
    )
  if (model === undefined || !config.providers.has(model.provider)) return unknown(name ?? "", "model")
  const settings = RetrySettings.decode(retry ?? {})
  if (Result.isFailure(settings))
    return Result.fail(
      ConfigProblem.firstOf(settings.failure.issue, retry, (path) => ConfigProblem.formatPath(["retry", ...path]))
    )
  for (const { name, path } of RetrySettings.targetNames(settings.success)) {
    const provider = Target.parse(name)?.provider
    if (provider === undefined || !config.providers.has(provider))
      return unknown(name, ConfigProblem.formatPath(["retry", ...path]))
  }
  return Result.succeed({ ...config, model, retry: { ...config.retry, ...settings.success } })
}

const outagesOf = (
  configured: ConfiguredRun.Configured,
  { outages }: DryRunGroup.RunDryRun
): Result.Result<Outages.Outages, string> => {
  const read = Outages.read(outages)
  if (Result.isFailure(read)) return Result.fail(`outages: ${read.failure}`)
  const refusal = ConfiguredRun.refusalOf(read.success, [configured])
  return refusal === undefined ? read : Result.fail(`outages: ${refusal}`)
}
