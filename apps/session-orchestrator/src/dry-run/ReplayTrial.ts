/** Replays a record under configurations, side by side, and lists what that assumed. */
import type { Target } from "@holdfast/wire"
import { Effect } from "effect"
import type { Recording } from "../storage/Recording.ts"
import type { Configured } from "./ConfiguredRun.ts"
import type * as Outages from "./Outages.ts"
import * as Replay from "./Replay.ts"
import type { Followed } from "./ReplayedTurn.ts"
import * as Trial from "./Trial.ts"

/** What is replayed, and how. Times are in epoch milliseconds. */
export interface Options {
  readonly configured: ReadonlyArray<NamedConfiguration>
  readonly recording: Recording
  /** When the record was read. */
  readonly readAt: number
  readonly outages: Outages.Outages
  readonly forMs: number
  readonly mostCalls: number
}

/** One configuration of a comparison. */
export interface NamedConfiguration {
  readonly name: string
  readonly config: Configured
  /** The model of all turns; absent: that of their conversations. */
  readonly model?: Target.Target | undefined
}

/** The record as it was, and under each configuration. */
export interface ReplayTrial {
  readonly was: Trial.Trial
  readonly replayed: ReadonlyArray<{ readonly trial: Trial.Trial; readonly followed: ReadonlyArray<Followed> }>
  readonly assumptions: ReadonlyArray<string>
}

/** Runs to the end (Trial.T1). */
export const run = Effect.fnUntraced(function* ({ configured, ...options }: Options): Effect.fn.Return<ReplayTrial> {
  const scene = { ...options, seed: 1 }
  const original = Replay.original(scene)
  const was = yield* Trial.run("as it was", () => original.run, configured[0]?.config.prices)
  const replayed = yield* Effect.forEach(configured, ({ config, model, name }) =>
    Effect.gen(function* () {
      const again = Replay.replayed(config, original.calls, { ...scene, model })
      return { ...again, trial: yield* Trial.run(name, () => again.run, config.prices) }
    })
  )
  return {
    was,
    replayed: replayed.map(({ trial, turns }) => ({ trial, followed: turns.map(({ followed }) => followed) })),
    assumptions: Replay.assumptions(
      options.recording,
      replayed,
      configured.map(({ config }) => config)
    )
  }
})
