/**
 * Tries configurations side by side: runs each, sums it up, and lists what was assumed.
 *
 * Trial.T1. A run gives the thread back between slices, so a service that tries a policy goes on answering.
 */
import type { Prices } from "@holdfast/policy"
import { type DryRunReport, Target } from "@holdfast/wire"
import { Effect } from "effect"
import * as SpendLimits from "../spend/limits/SpendLimits.ts"
import type * as DryRun from "./DryRun.ts"
import * as Summary from "./Summary.ts"
import * as ConfiguredRun from "./ConfiguredRun.ts"

/** One configuration that was tried. */
export interface Trial {
  readonly name: string
  readonly result: DryRun.Result
  readonly report: DryRunReport.DryRunReport
}

/** A run that is stepped: `false` when it is over. */
export interface Stepped {
  readonly step: (most: number) => boolean
  readonly result: DryRun.Result
}

/** Runs to the end (Trial.T1). `prices` are the configured ones. */
export const run = (name: string, make: () => Stepped, prices?: Prices.Prices): Effect.Effect<Trial> =>
  Effect.gen(function* () {
    const dryRun = make()
    for (let isOver = false; !isOver; yield* pause) {
      const end = performance.now() + SLICE_MS
      while (!isOver && performance.now() < end) isOver = !dryRun.step(1)
    }
    const { result } = dryRun
    const report = Summary.of(result, prices)
    yield* pause
    return { name, result, report }
  })

/** One configuration of a comparison. */
export interface NamedConfiguration {
  readonly name: string
  readonly config: ConfiguredRun.Configured
}

/** Runs a scene under each configuration, with what that assumes besides the outages, one sentence each. */
export const compare = Effect.fnUntraced(function* (
  configured: ReadonlyArray<NamedConfiguration>,
  scene: ConfiguredRun.Scene
) {
  const trials = yield* Effect.forEach(configured, ({ config, name }) =>
    run(name, () => ConfiguredRun.make(config, scene))
  )
  return { trials, assumptions: Array.from(new Set(configured.flatMap(({ config }) => assumptions(config)))) }
})

/** The name of a configuration in a comparison: its profile, and its file if it has one. */
export const nameOf = ({ retry }: Pick<ConfiguredRun.Configured, "retry">, file?: string): string =>
  [retry.profile ?? "overnight", ...(file === undefined ? [] : [file])].join(", ")

/** Whether there are limits of spending. */
export const hasLimits = ({ spend = [] }: Pick<ConfiguredRun.Configured, "spend">): boolean => spend.length > 0

// --- internal

/** Between two pauses; a moment with a long answer takes longer. */
const SLICE_MS = 5

const pause = Effect.callback<void>((resume) => {
  const timer = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(timer))
})

const assumptions = (config: ConfiguredRun.Configured): ReadonlyArray<string> => [
  "One process runs all turns, no client watches or sends a command, and a tool succeeds at once.",
  ...(config.retry.finalReport === undefined ? [] : ["The final report comes with the answer."]),
  ...spendAssumptions(config)
]

const spendAssumptions = ({ model, prices = {}, spend = [] }: ConfiguredRun.Configured): ReadonlyArray<string> => {
  if (spend.length === 0) return []
  const uncheckable = SpendLimits.uncheckable(spend, prices, Target.format(ConfiguredRun.modelOf({ model })))
  return [
    "Limits of spending (spend) count the tokens of the simulated answers (+tokens-500 sets their length), nothing was spent before, and a question gets no answer.",
    ...(uncheckable === undefined ? [] : [uncheckable])
  ]
}
