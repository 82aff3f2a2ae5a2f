/**
 * Makes a dry run from a configuration: its policy, its credentials, its gates and limits.
 *
 * Every endpoint has a gate where the configuration has gates, the simulated provider too: it stands for a real one.
 */
import { Profile, RetrySettings } from "@holdfast/policy"
import { Quote, Target } from "@holdfast/wire"
import { Result } from "effect"
import type { Values } from "../../config/Config.ts"
import * as ProviderTable from "../../config/ProviderTable.ts"
import * as Gates from "../../engine/gate/Gates.ts"
import * as DryRun from "./DryRun.ts"
import * as OutageScripts from "./OutageScripts.ts"

/** The parts of a configuration that a dry run reads. */
export type Configured = Pick<Values, "gate" | "model" | "models" | "providers" | "retry"> &
  Partial<Pick<Values, "prices" | "spend">>

/** Turns before an outage. */
export interface Scene {
  readonly outages: OutageScripts.OutageScripts
  readonly turns: number
  /** The time over which the turns are prompted. */
  readonly withinMs: number
  /** The first prompt, and the begin of the outages, in epoch milliseconds. */
  readonly startAt: number
  /** How long the run lasts at most. */
  readonly forMs: number
  readonly mostCalls: number
}

/** The model of a dry run; a configuration without a model is tried on a simulated model. */
export const modelOf = ({ model }: Pick<Values, "model">): Target.Target =>
  model ?? { provider: "simulated", model: "steady" }

/** What the service makes of a configuration, for a dry run. */
export const setupOf = ({ gate, models, providers, retry }: Configured): DryRun.DryRunSetup => ({
  policy: Profile.resolve(retry),
  models,
  credentials: Object.fromEntries(
    Array.from(providers, ([name, provider]) => [name, ProviderTable.keyNames(provider)])
  ),
  endpointOf: (name) => {
    if (!gate.enabled) return undefined
    const simulated = providers.get(name)?.type === "simulated" ? { baseUrl: name, credential: undefined } : undefined
    return simulated ?? Gates.endpointsOf(providers)(name)
  },
  allowanceOf: Gates.allowancesOf(providers)
})

/** The limits of spending of a configuration, where it has some. */
const limitsOf = ({ prices = {}, spend = [] }: Configured): Pick<DryRun.DryRunSetup, "spend"> =>
  spend.length === 0 ? {} : { spend: { limits: spend, prices, isShared: false } }

/** The dry run of a scene under a configuration. */
export const make = (config: Configured, scene: Scene): DryRun.DryRun => {
  const { forMs, mostCalls, outages, startAt, turns, withinMs } = scene
  const setup = { ...setupOf(config), ...limitsOf(config) }
  return new DryRun.DryRun({
    setup,
    startAt,
    until: startAt + forMs,
    mostCalls,
    spread: DryRun.draws(),
    reply: OutageScripts.simulated(outages, startAt, { ...setup.policy, maxTurns: turns * ENDPOINTS }),
    turns: DryRun.crowd(turns, startAt, withinMs, modelOf(config))
  })
}

/** Every name of a provider or target that an outage may be for; the targets are those that the policy may call. */
export const namesOf = ({ model, providers, retry }: Configured): ReadonlyArray<string> => {
  const targets = [Target.format(modelOf({ model })), ...RetrySettings.targetNames(retry).map(({ name }) => name)]
  const used = new Set(targets.map((target) => target.split("/")[0] ?? ""))
  return Array.from(new Set([...Array.from(providers.keys()).filter((name) => used.has(name)), ...targets]))
}

/** Reads the outages of a run; fails with what was wrong, where, and what was expected. An outage for an endpoint that no turn calls is a mistake. */
export const outagesOf = (
  texts: ReadonlyArray<string>,
  configured: ReadonlyArray<Configured>,
  isReplay: boolean
): Result.Result<OutageScripts.OutageScripts, string> => {
  const read = OutageScripts.read(texts)
  if (Result.isFailure(read)) return read
  const named = OutageScripts.names(read.success)
  if (isReplay && named.length < read.success.size)
    return Result.fail("a replay has the record's outages; name the target that the record lacks, such as 'openai=ok'.")
  const names = new Set(configured.flatMap(namesOf))
  // Recorded conversations have models of their own, of any provider.
  const isRecorded = (name: string) =>
    isReplay && configured.some(({ providers }) => providers.has(name.split("/")[0] ?? ""))
  const uncalled = named.find((name) => !names.has(name) && !isRecorded(name))
  return uncalled === undefined
    ? read
    : Result.fail(`no turn calls ${Quote.of(uncalled)}; expected one of ${Array.from(names).join(", ")}.`)
}

// --- internal

/** The most endpoints of one turn whose positions are kept. */
const ENDPOINTS = 10
