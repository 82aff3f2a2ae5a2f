/**
 * Tries policies for clients of the service (X10).
 *
 * DryRuns.N1. One run at a time, in slices: turns of the service go on meanwhile.
 * DryRuns.N2. A faulty request is refused with the key, what was wrong and what was expected.
 */
import type { StorageError } from "@holdfast/journal"
import { Count, defined, Target } from "@holdfast/wire"
import { DryRunGroup, type SchedulePreview } from "@holdfast/wire/api"
import { Clock, Context, Duration, Effect, Layer, Result, Semaphore } from "effect"
import { Config } from "../config/Config.ts"
import type { InvalidRequest } from "../conversation/Conversations.ts"
import * as ConfiguredRun from "./ConfiguredRun.ts"
import * as Outages from "./Outages.ts"
import { Lists } from "../storage/Lists.ts"
import * as Picture from "./Picture.ts"
import * as DryRunText from "./DryRunText.ts"
import * as ReplayTrial from "./ReplayTrial.ts"
import * as SchedulePreviews from "./SchedulePreviews.ts"
import * as Trial from "./Trial.ts"
import * as TriedPolicy from "./TriedPolicy.ts"
import type { TurnCourse } from "./TurnCourse.ts"

/** Runs dry runs. */
export class DryRuns extends Context.Service<
  DryRuns,
  {
    /** Runs one, and sums it up. */
    readonly run: (
      request: DryRunGroup.RunDryRun
    ) => Effect.Effect<DryRunGroup.DryRunAnswer, InvalidRequest | StorageError>
    /** Lists the waits of a policy. */
    readonly schedule: (
      request: SchedulePreview.PreviewSchedule
    ) => Effect.Effect<SchedulePreview.SchedulePreview, InvalidRequest>
  }
>()("@holdfast/session-orchestrator/dry-run/DryRuns") {}

/** By the configuration in force. */
export const layer: Layer.Layer<DryRuns, never, Config | Lists> = Layer.effect(
  DryRuns,
  Effect.gen(function* () {
    const config = yield* Config
    const { recording } = yield* Lists
    const alone = Semaphore.makeUnsafe(1).withPermits(1) // DryRuns.N1
    return {
      schedule: (request) => Effect.map(TriedPolicy.of(config, request), SchedulePreviews.of),
      run: ({ replay, ...request }) => {
        const { outages = [], turns, withinMs } = request
        if (replay === undefined)
          return outages.length === 0 ? TriedPolicy.refused("outages", NOTHING_MET) : alone(run(config, request))
        if (turns !== undefined) return TriedPolicy.refused("turns", OF_THE_RECORD)
        if (withinMs !== undefined) return TriedPolicy.refused("withinMs", OF_THE_RECORD)
        return alone(runAgain(config, recording, request, replay.since))
      }
    }
  })
)

// --- internal

type Request = Omit<DryRunGroup.RunDryRun, "replay">

const run = Effect.fnUntraced(function* (
  config: ConfiguredRun.Configured,
  request: Request
): Effect.fn.Return<DryRunGroup.DryRunAnswer, InvalidRequest> {
  const [first, second] = yield* policiesOf(config, request)
  const outages = yield* metBy(second === undefined ? [first] : [first, second], request)
  const { picture = false, turns = 1, withinMs = 60_000 } = request
  const scene = {
    outages,
    turns,
    withinMs,
    startAt: yield* Clock.currentTimeMillis,
    forMs: lengthOf(request),
    mostCalls: DryRunGroup.MOST_CALLS,
    seed: 1
  }
  const tried = (configured: ConfiguredRun.Configured, name: string) =>
    Trial.run(name, () => ConfiguredRun.make(configured, scene))
  const trial = yield* tried(first, Trial.nameOf(first))
  const other = second && (yield* tried(second, nameBeside(first, second)))
  const words = Outages.describe(outages)
  const title = `${Count.of(turns, "turn")} of ${Target.format(ConfiguredRun.modelOf(first))}`
  const trials = other === undefined ? [trial] : [trial, other]
  const assumed = [first, ...(second === undefined ? [] : [second])].flatMap(Trial.assumptions)
  return {
    report: trial.report,
    ...defined({ against: other?.report }),
    outages: words,
    assumptions: Array.from(new Set(assumed)),
    ...(picture ? { svg: Picture.svg(title, words.join(" "), trials, Picture.elapsed) } : {})
  }
})

/** Runs the record again. */
const runAgain = Effect.fnUntraced(function* (
  config: ConfiguredRun.Configured,
  read: Lists["Service"]["recording"],
  request: Request,
  since: number
): Effect.fn.Return<DryRunGroup.DryRunAnswer, InvalidRequest | StorageError> {
  const [first, second] = yield* policiesOf(config, request)
  const outages = yield* metBy(second === undefined ? [first] : [first, second], request, true)
  const readAt = yield* Clock.currentTimeMillis
  const recording = yield* read(since, DryRunGroup.MOST_TURNS)
  if (recording.turns.length === 0)
    return yield* TriedPolicy.refused("replay.since", "no turn was accepted or ended since then, and none is open.")
  const named = (name: string, config: ConfiguredRun.Configured, { model }: Policy) => ({
    name,
    config,
    ...defined({ model: model === undefined ? undefined : config.model })
  })
  const { assumptions, replayed, was } = yield* ReplayTrial.run({
    configured: [
      named(Trial.nameOf(first), first, request),
      ...(second === undefined ? [] : [named(nameBeside(first, second), second, request.against ?? {})])
    ],
    recording,
    readAt,
    outages,
    forMs: lengthOf(request),
    mostCalls: DryRunGroup.MOST_CALLS
  })
  const [one, other] = replayed
  if (one === undefined) return yield* Effect.die("one policy is tried at least")
  const trials = [was, ...replayed.map(({ trial }) => trial)]
  const title = `${Count.of(recording.turns.length, "turn")}, replayed`
  const changes = DryRunText.changed(was, one.trial)
  return {
    report: one.trial.report,
    ...defined({ against: other?.trial.report }),
    outages: Outages.describe(outages),
    assumptions,
    replay: {
      was: was.report,
      followed: one.followed.filter(({ leftAt }) => leftAt === undefined).length,
      decisions: one.followed.reduce((sum, { decisions }) => sum + decisions, 0),
      changed: changes.length,
      changes: changes
        .slice(0, DryRunGroup.MOST_CHANGES)
        .map(([before, after]) => ({ turnId: before.turnId, was: endingOf(before), would: endingOf(after) }))
    },
    ...(request.picture === true
      ? { svg: Picture.svg(title, "", trials, (ms) => DryRunText.timeOfDay(was.result.startAt + ms)) }
      : {})
  }
})

/** The name of a second policy: one of the same profile is a change of the first. */
const nameBeside = (first: ConfiguredRun.Configured, second: ConfiguredRun.Configured): string => {
  const name = Trial.nameOf(second)
  return name === Trial.nameOf(first) ? `${name}, changed` : name
}

const endingOf = ({ end }: TurnCourse) =>
  end === undefined ? { status: "waiting" as const } : { status: end.status, at: end.at }

const lengthOf = ({ hours = 48 }: Request): number => Duration.toMillis(Duration.hours(hours))

const metBy = (...of: Parameters<typeof outagesOf>): Effect.Effect<Outages.Outages, InvalidRequest> => {
  const outages = outagesOf(...of)
  return Result.isSuccess(outages) ? Effect.succeed(outages.success) : TriedPolicy.refused("outages", outages.failure)
}

type Policy = Pick<DryRunGroup.RunDryRun, "model" | "retry">

const policiesOf = Effect.fnUntraced(function* (config: ConfiguredRun.Configured, { against, ...policy }: Request) {
  const first = yield* TriedPolicy.of(config, policy)
  return [first, against && (yield* TriedPolicy.of(config, against, ["against"]))] as const
})

const outagesOf = (
  configured: ReadonlyArray<ConfiguredRun.Configured>,
  { outages = [] }: Request,
  isReplay = false
): Result.Result<Outages.Outages, string> => {
  const read = Outages.read(outages)
  if (Result.isFailure(read)) return read
  if (isReplay && Outages.names(read.success).length < read.success.size) return Result.fail(DESCRIBED)
  // Recorded conversations have models of their own, of any provider.
  const isRecorded = (name: string) =>
    isReplay && configured.some(({ providers }) => providers.has(name.split("/")[0] ?? ""))
  const refusal = ConfiguredRun.refusalOf(read.success, configured, isRecorded)
  return refusal === undefined ? read : Result.fail(refusal)
}

const NOTHING_MET = "expected at least one, such as `529 for 7h`, or `replay` with the begin of the record."

const OF_THE_RECORD = "expected none: a replay has the turns of the record."

const DESCRIBED = "a replay has the record's outages; name the target that the record lacks, such as 'openai=ok'."
