/**
 * Tries policies for clients of the service (X10).
 *
 * DryRuns.N1. One run at a time, in slices: turns of the service go on meanwhile.
 * DryRuns.N2. A faulty request is refused with the key, what was wrong and what was expected: all faults at once.
 */
import type { StorageError } from "@holdfast/journal"
import { RetrySettings } from "@holdfast/policy"
import { Count, defined, Quote, Target } from "@holdfast/wire"
import { DryRunGroup, type SchedulePreview } from "@holdfast/wire/api"
import { Clock, Context, Duration, Effect, Layer, Result, Semaphore } from "effect"
import { Config } from "../config/Config.ts"
import * as ConfigProblem from "../config/reading/ConfigProblem.ts"
import { InvalidRequest } from "../conversation/Conversations.ts"
import * as ConfiguredRun from "./ConfiguredRun.ts"
import * as Outages from "./Outages.ts"
import { Lists } from "../storage/Lists.ts"
import * as Picture from "./Picture.ts"
import * as DryRunText from "./DryRunText.ts"
import * as Replay from "./Replay.ts"
import * as SchedulePreviews from "./SchedulePreviews.ts"
import * as Trial from "./Trial.ts"
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
      schedule: (request) => Effect.map(tried(config, request), SchedulePreviews.of),
      run: ({ replay, ...request }) => {
        const { outages = [], turns, withinMs } = request
        if (replay === undefined)
          return outages.length === 0 ? refused("outages", NOTHING_MET) : alone(run(config, request))
        if (turns !== undefined) return refused("turns", OF_THE_RECORD)
        if (withinMs !== undefined) return refused("withinMs", OF_THE_RECORD)
        return alone(runAgain(config, recording, request, replay.since))
      }
    }
  })
)

/** The configuration with the request's model and settings, which are at `place` of the request. */
export const tried = <Configured extends Pick<ConfiguredRun.Configured, "model" | "providers" | "retry">>(
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

/** What a request changes. */
interface Settings {
  readonly model?: string | undefined
  readonly retry?: unknown
}

/** A fault of a request: the path of its key, and what was wrong and expected. */
interface Fault {
  readonly path: string
  readonly message: string
}

/** Refuses a request for one fault. */
const refused = (path: string, message: string): Effect.Effect<never, InvalidRequest> => refusedFor([{ path, message }])

type Request = Omit<DryRunGroup.RunDryRun, "replay">

const run = Effect.fnUntraced(function* (
  config: ConfiguredRun.Configured,
  request: Request
): Effect.fn.Return<DryRunGroup.DryRunAnswer, InvalidRequest> {
  const configured = yield* configuredBy(config, request)
  const outages = yield* metBy(configured, request)
  const { picture = false, turns = 1, withinMs = 60_000 } = request
  const { assumptions, trials } = yield* Trial.compare(configured, {
    outages,
    turns,
    withinMs,
    startAt: yield* Clock.currentTimeMillis,
    forMs: lengthOf(request),
    mostCalls: DryRunGroup.MOST_CALLS,
    seed: 1
  })
  const words = Outages.describe(outages)
  const title = `${Count.of(turns, "turn")} of ${Target.format(ConfiguredRun.modelOf(firstOf(configured).config))}`
  return {
    ...reportsOf(trials),
    outages: words,
    assumptions,
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
  const configured = yield* configuredBy(config, request)
  const outages = yield* metBy(configured, request, true)
  const readAt = yield* Clock.currentTimeMillis
  const recording = yield* read(since, DryRunGroup.MOST_TURNS)
  if (recording.turns.length === 0)
    return yield* refused("replay.since", "no turn was accepted or ended since then, and none is open.")
  const { assumptions, replayed, was } = yield* Replay.run(configured, {
    recording,
    readAt,
    outages,
    forMs: lengthOf(request),
    mostCalls: DryRunGroup.MOST_CALLS
  })
  const one = firstOf(replayed)
  const trials = replayed.map(({ trial }) => trial)
  const title = `${Count.of(recording.turns.length, "turn")}, replayed`
  const changes = DryRunText.changed(was, one.trial)
  return {
    ...reportsOf(trials),
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
      ? { svg: Picture.svg(title, "", [was, ...trials], (ms) => DryRunText.timeOfDay(was.result.startAt + ms)) }
      : {})
  }
})

const endingOf = ({ end }: TurnCourse) =>
  end === undefined ? { status: "waiting" as const } : { status: end.status, at: end.at }

const lengthOf = ({ hours = 48 }: Request): number => Duration.toMillis(Duration.hours(hours))

const reportsOf = (trials: ReadonlyArray<Trial.Trial>): Pick<DryRunGroup.DryRunAnswer, "report" | "against"> => ({
  report: firstOf(trials).report,
  ...defined({ against: trials[1]?.report })
})

const firstOf = <A>([first]: ReadonlyArray<A>): A => {
  if (first === undefined) throw new Error("one policy is tried at least")
  return first
}

const metBy = (
  configured: ReadonlyArray<Trial.NamedConfiguration>,
  { outages = [] }: Request,
  isReplay = false
): Effect.Effect<Outages.Outages, InvalidRequest> => {
  const configs = configured.map(({ config }) => config)
  const read = ConfiguredRun.outagesOf(outages, configs, isReplay)
  return Result.isSuccess(read) ? Effect.succeed(read.success) : refused("outages", read.failure)
}

/** The configurations of a request: its own, and the second of a comparison. */
const configuredBy = Effect.fnUntraced(function* (
  config: ConfiguredRun.Configured,
  { against, ...request }: Request
): Effect.fn.Return<ReadonlyArray<Replay.NamedConfiguration>, InvalidRequest> {
  const named = Effect.fnUntraced(function* (policy: Settings, place?: ReadonlyArray<string>) {
    const changed = yield* tried(config, policy, place)
    const model = policy.model === undefined ? undefined : changed.model
    return { name: Trial.nameOf(changed), config: changed, ...defined({ model }) }
  })
  const first = yield* named(request)
  if (against === undefined) return [first]
  const second = yield* named(against, ["against"])
  // One of the same profile is a change of the first.
  return [first, second.name === first.name ? { ...second, name: `${second.name}, changed` } : second]
})

const NOTHING_MET = "expected at least one, such as `529 for 7h`, or `replay` with the begin of the record."

const OF_THE_RECORD = "expected none: a replay has the turns of the record."

/** More than a person corrects at once. */
const MOST_FAULTS = 50

const textOf = ({ message, path }: Fault): string => `${path}: ${message}`

const refusedFor = (
  faults: ReadonlyArray<Fault>,
  message: string = faults.map(textOf).join(" ")
): Effect.Effect<never, InvalidRequest> =>
  Effect.fail(new InvalidRequest({ message, faults: faults.slice(0, MOST_FAULTS) }))
