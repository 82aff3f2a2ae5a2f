/**
 * Makes a configuration from the service's own and the settings of a request.
 *
 * TriedPolicy.P1. A faulty setting is refused with its key, what was wrong and what was expected: all of them at once.
 */
import { RetrySettings } from "@holdfast/policy"
import { Quote, Target } from "@holdfast/wire"
import { Effect, Result } from "effect"
import * as ConfigProblem from "../config/reading/ConfigProblem.ts"
import { InvalidRequest } from "../conversation/Conversations.ts"
import * as ConfiguredRun from "./ConfiguredRun.ts"

/** What a request changes. */
export interface Settings {
  readonly model?: string | undefined
  readonly retry?: unknown
}

/** A fault of a request: the path of its key, and what was wrong and expected. */
export interface Fault {
  readonly path: string
  readonly message: string
}

/** Refuses a request for one fault. */
export const refused = (path: string, message: string): Effect.Effect<never, InvalidRequest> =>
  refusedFor([{ path, message }])

/** The configuration with the request's model and settings, which are at `place` of the request. */
export const of = <Configured extends Pick<ConfiguredRun.Configured, "model" | "providers" | "retry">>(
  config: Configured,
  { model: name, retry }: Settings,
  place: ReadonlyArray<string> = []
): Effect.Effect<Configured, InvalidRequest> => {
  const pathOf = (path: ReadonlyArray<PropertyKey>) => ConfigProblem.formatPath([...place, ...path])
  const model = name === undefined ? ConfiguredRun.modelOf(config) : Target.parse(name)
  const providers = Array.from(config.providers.keys())
  const unknown = (name: string, path: ReadonlyArray<PropertyKey>): Fault => ({
    path: pathOf(path),
    message: `expected "provider/model" with a provider of the configuration (${providers.join(", ")}), got ${Quote.of(name)}.`
  })
  const isKnown = model !== undefined && config.providers.has(model.provider)
  const ofModel = isKnown ? [] : [unknown(name ?? "", ["model"])]
  const settings = RetrySettings.decode(retry ?? {})
  if (Result.isFailure(settings)) {
    const { issue } = settings.failure
    const place = (path: ReadonlyArray<PropertyKey>) => pathOf(["retry", ...path])
    const ofSettings = ConfigProblem.fromIssue(issue, retry, place)
    return refusedFor(
      [...ofModel, ...ofSettings.map(({ message, place }) => ({ path: place, message }))],
      [...ofModel.map(textOf), ConfigProblem.firstOf(issue, retry, place)].join(" ")
    )
  }
  const foreign = RetrySettings.targetNames(settings.success).filter(
    ({ name }) => !config.providers.has(Target.parse(name)?.provider ?? "")
  )
  if (!isKnown || foreign.length > 0)
    return refusedFor([...ofModel, ...foreign.map(({ name, path }) => unknown(name, ["retry", ...path]))])
  return Effect.succeed({ ...config, model, retry: { ...config.retry, ...settings.success } })
}

// --- internal

/** More than a person corrects at once. */
const MOST_FAULTS = 50

const textOf = ({ message, path }: Fault): string => `${path}: ${message}`

const refusedFor = (
  faults: ReadonlyArray<Fault>,
  message: string = faults.map(textOf).join(" ")
): Effect.Effect<never, InvalidRequest> =>
  Effect.fail(new InvalidRequest({ message, faults: faults.slice(0, MOST_FAULTS) }))
