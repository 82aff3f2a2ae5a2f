/**
 * Tries configurations side by side: runs each, sums it up, and lists what was assumed.
 *
 * A run gives the thread back between slices, so a service that tries a policy goes on answering.
 */
import { type Prices, Profile, RetrySettings } from "@holdfast/policy"
import { defined, type DryRunReport, Quote, Target } from "@holdfast/wire"
import { type Array as Arr, Effect, Result } from "effect"
import type { Values } from "../../config/Config.ts"
import * as ProviderTable from "../../config/ProviderTable.ts"
import * as SpendLimits from "../../config/limits/SpendLimits.ts"
import * as SpendSums from "../../config/limits/SpendSums.ts"
import * as Gates from "../../engine/gate/Gates.ts"
import { SpendTally } from "../inspection/period/SpendTally.ts"
import * as DryRun from "./DryRun.ts"
import type { DryTurnCourse } from "./DryTurnCourse.ts"
import * as OutageScripts from "./OutageScripts.ts"
import type { Followed } from "./ReplayedTurn.ts"

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

/** The dry run of a scene under a configuration. Every endpoint has a gate where the configuration has gates, the simulated provider too: it stands for a real one. */
const runOf = (config: Configured, scene: Scene): DryRun.DryRun => {
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

/** One configuration that was tried. */
export interface Trial {
  readonly name: string
  readonly result: DryRun.DryRunResult
  readonly report: DryRunReport.DryRunReport
  /** How far the turns of a replay have followed their records; absent: they are new ones. */
  readonly followed?: ReadonlyArray<Followed>
}

/** Configurations side by side, with what was assumed, one sentence each. */
export interface Comparison {
  readonly outages: OutageScripts.OutageScripts
  readonly trials: Arr.NonEmptyReadonlyArray<Trial>
  /** The record as it was, where that was replayed. */
  readonly was?: Trial
  readonly assumptions: ReadonlyArray<string>
}

/** What a run came to. `prices` are the configured ones. */
export const of = (name: string, result: DryRun.DryRunResult, prices?: Prices.Prices): Trial => ({
  name,
  result,
  report: summaryOf(result, prices)
})

/** Runs to the end. */
export const run = (name: string, dryRun: DryRun.DryRun, prices?: Prices.Prices): Effect.Effect<Trial> =>
  Effect.map(
    inSlices(() => dryRun.step(1)),
    () => of(name, dryRun.result, prices)
  )

/** Calls `step` until it returns `false`. */
export const inSlices = Effect.fnUntraced(function* (step: () => boolean) {
  for (let isOver = false; !isOver; yield* Effect.yieldNow) {
    const end = performance.now() + SLICE_MS
    while (!isOver && performance.now() < end) isOver = !step()
  }
})

/** One configuration of a comparison. */
export interface NamedConfiguration {
  readonly name: string
  readonly config: Configured
  /** The model of all turns that are replayed; absent: that of their conversations. */
  readonly model?: Target.Target | undefined
}

/** The configurations of a comparison. */
export type Configurations = Arr.NonEmptyReadonlyArray<NamedConfiguration>

/** Runs a scene under each configuration. */
export const compare = Effect.fnUntraced(function* (configured: Configurations, scene: Scene) {
  const trials = yield* Effect.forEach(configured, ({ config, name }) => run(name, runOf(config, scene)))
  const assumed = new Set(configured.flatMap(({ config }) => assumptions(config)))
  const comparison: Comparison = { outages: scene.outages, trials, assumptions: Array.from(assumed) }
  return comparison
})

/** The name of a configuration in a comparison: its profile, and its file if it has one. */
export const nameOf = ({ retry }: Pick<Configured, "retry">, file?: string): string =>
  [retry.profile ?? "overnight", ...(file === undefined ? [] : [file])].join(", ")

/** Whether there are limits of spending. */
export const hasLimits = ({ spend = [] }: Pick<Configured, "spend">): boolean => spend.length > 0

// --- internal

/** Between two pauses; a moment with a long answer takes longer. */
const SLICE_MS = 5

const assumptions = (config: Configured): ReadonlyArray<string> => [
  "One process runs all turns, no client watches or sends a command, and a tool succeeds at once.",
  ...(config.retry.finalReport === undefined ? [] : ["The final report comes with the answer."]),
  ...spendAssumptions(config)
]

const spendAssumptions = ({ model, prices = {}, spend = [] }: Configured): ReadonlyArray<string> => {
  if (spend.length === 0) return []
  const uncheckable = SpendLimits.uncheckable(spend, prices, Target.format(modelOf({ model })))
  return [
    "Limits of spending (spend) count the tokens of the simulated answers (+tokens-500 sets their length), nothing was spent before, and a question gets no answer.",
    ...(uncheckable === undefined ? [] : [uncheckable])
  ]
}

/** The account of a dry run. `prices` are the configured ones. */
export const summaryOf = (
  { cut, endAt, startAt, turns }: DryRun.DryRunResult,
  prices: Prices.Prices = {}
): DryRunReport.DryRunReport => {
  const answers = turns.flatMap(({ end }) => (end?.status === "completed" ? [end.at] : [])).sort(ascending)
  const waits = turns.map(waitedMs).sort(ascending)
  const endpoints = endpointsOf(turns)
  const failed = sumOf(endpoints.map(({ failed }) => failed))
  const countOf = (status: NonNullable<DryTurnCourse["end"]>["status"]) =>
    turns.filter(({ end }) => end?.status === status).length
  const aborted = countOf("aborted")
  return {
    startedAt: startAt,
    endedAt: endAt,
    turns: turns.length,
    answered: answers.length,
    failed: countOf("failed"),
    waiting: turns.filter(({ end }) => end === undefined).length,
    waitedMs: {
      median: waits[Math.floor((waits.length - 1) / 2)] ?? 0,
      longest: waits.at(-1) ?? 0,
      total: sumOf(waits)
    },
    calls: sumOf(endpoints.map(({ calls }) => calls)),
    refused: failed,
    shared: turns.reduce((sum, { calls }) => sum + calls.filter(({ outcome }) => outcome === "shared").length, 0),
    failures: failuresOf(turns),
    endpoints,
    ...spentOf(turns, prices),
    ...defined({
      aborted: aborted === 0 ? undefined : aborted,
      firstAnswerAt: answers[0],
      lastAnswerAt: answers.at(-1),
      cut
    })
  }
}

/** The time that a turn spent in waits. */
const waitedMs = ({ waits }: DryTurnCourse): number =>
  waits.reduce((sum, { endedAt, from }) => sum + Math.max(0, endedAt - from), 0)

const sumOf = (numbers: ReadonlyArray<number>): number => numbers.reduce((sum, n) => sum + n, 0)

const ascending = (a: number, b: number): number => a - b

const failuresOf = (turns: ReadonlyArray<DryTurnCourse>): DryRunReport.DryRunReport["failures"] => {
  const failed = turns.flatMap(({ end }) => (end?.status === "failed" ? [end] : []))
  const groups = Map.groupBy(failed, ({ because, reason }) => `${because} ${reason}`)
  return Array.from(groups.values(), (ends) => {
    const { because = "unknown", reason } = ends[0] ?? {}
    return { because, ...defined({ reason }), turns: ends.length }
  }).sort((a, b) => b.turns - a.turns)
}

const endpointsOf = (turns: ReadonlyArray<DryTurnCourse>): DryRunReport.DryRunReport["endpoints"] => {
  const made = turns.flatMap(({ calls }) => calls.filter(({ outcome }) => outcome !== "shared"))
  return Array.from(
    Map.groupBy(made, ({ target }) => target),
    ([target, calls]) => {
      const answered = calls.filter(({ outcome }) => outcome === "answered").length
      return { target, calls: calls.length, answered, failed: calls.length - answered }
    }
  )
}

/** The tokens and the money of answers. Absent: the courses have no tokens. */
const spentOf = (
  turns: ReadonlyArray<DryTurnCourse>,
  prices: Prices.Prices
): Pick<DryRunReport.DryRunReport, "tokens" | "cost"> => {
  const tally = new SpendTally()
  for (const { outcome, target, usage = {} } of turns.flatMap(({ calls }) => calls)) {
    const isUnreported = usage.inputTokens === undefined && usage.outputTokens === undefined
    if (outcome === "answered") tally.add([{ target, tokens: SpendSums.tokensOf(usage), isUnreported }])
  }
  const { cost, inputTokens, outputTokens, turns: answers, unreported } = tally.total(prices)
  if (answers === unreported) return {}
  const unpriced = tally.byModel(prices).map(({ cost, turns, unreported }) => (cost === "unknown" ? turns : unreported))
  return {
    tokens: { input: inputTokens, output: outputTokens, unknown: unreported },
    cost: { ...defined({ usd: cost === "unknown" ? undefined : cost }), unknown: sumOf(unpriced) }
  }
}

/** The most endpoints of one turn whose positions are kept. */
const ENDPOINTS = 10
