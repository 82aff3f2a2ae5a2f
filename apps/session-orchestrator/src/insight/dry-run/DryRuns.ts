/**
 * Tries policies for clients of the service (X10).
 *
 * A faulty request is refused with the key, what was wrong and what was expected: all faults at once.
 *
 * DryRuns.N1. One run at a time, in slices: turns of the service go on meanwhile.
 */
import type { StorageError } from "@holdfast/journal"
import { RetrySettings, Preview, Profile } from "@holdfast/policy"
import { Count, Quote, Target, defined } from "@holdfast/wire"
import { DryRunGroup, SchedulePreview } from "@holdfast/wire/api"
import { Clock, Context, Duration, Effect, Layer, Result, Semaphore, Schema } from "effect"
import { Config } from "../../config/Config.ts"
import * as ConfigProblem from "../../config/reading/ConfigProblem.ts"
import { InvalidRequest } from "../../engine/conversation/Conversations.ts"
import * as OutageScripts from "./OutageScripts.ts"
import { Lists } from "../../storage/Lists.ts"
import * as Picture from "./Picture.ts"
import * as DryRunText from "./DryRunText.ts"
import * as Replay from "./Replay.ts"
import * as Trial from "./Trial.ts"
import type { DryTurnCourse } from "./DryTurnCourse.ts"
import * as PolicyText from "../../base/text/PolicyText.ts"

/** Runs dry runs. */
export class DryRuns extends Context.Service<DryRuns, Effect.Success<typeof make>>()(
  "@holdfast/session-orchestrator/dry-run/DryRuns"
) {}

const make = Effect.gen(function* () {
  const config = yield* Config
  const { recording } = yield* Lists
  const alone = Semaphore.makeUnsafe(1).withPermits(1) // DryRuns.N1
  return {
    /** Lists the waits of a policy. */
    schedule: (request: SchedulePreview.PreviewSchedule) => Effect.map(tried(config, request), scheduleOf),
    /** Runs one, and sums it up. */
    run: (request: DryRunGroup.RunDryRun) => {
      const { outages = [], replay, turns, withinMs } = request
      if (replay === undefined && outages.length === 0) return refused("outages", NOTHING_MET)
      if (replay !== undefined && turns !== undefined) return refused("turns", OF_THE_RECORD)
      if (replay !== undefined && withinMs !== undefined) return refused("withinMs", OF_THE_RECORD)
      return alone(answer(config, recording, request))
    }
  }
})

/** By the configuration in force. */
export const layer = Layer.effect(DryRuns, make)

/** The configuration with the request's model and settings, which are at `place` of the request. */
export const tried = <Configured extends Pick<Trial.Configured, "model" | "providers" | "retry">>(
  config: Configured,
  { model: name, retry }: Settings,
  place: ReadonlyArray<string> = []
): Effect.Effect<Configured, InvalidRequest> => {
  const pathOf = (path: ReadonlyArray<PropertyKey>) => ConfigProblem.formatPath([...place, ...path])
  const model = name === undefined ? Trial.modelOf(config) : Target.parse(name)
  const providers = Array.from(config.providers.keys())
  const unknown = (name: string, path: ReadonlyArray<PropertyKey>): ConfigProblem.ConfigProblem => ({
    place: pathOf(path),
    message: `expected "provider/model" with a provider of the configuration (${providers.join(", ")}), got ${Quote.of(name)}.`
  })
  const isKnown = model !== undefined && config.providers.has(model.provider)
  const ofModel = isKnown ? [] : [unknown(name ?? "", ["model"])]
  const settings = RetrySettings.decode(retry ?? {})
  if (Result.isFailure(settings)) {
    const { issue } = settings.failure
    const place = (path: ReadonlyArray<PropertyKey>) => pathOf(["retry", ...path])
    return refusedFor(
      [...ofModel, ...ConfigProblem.fromIssue(issue, retry, place)],
      [...ofModel.map(ConfigProblem.format), ConfigProblem.firstOf(issue, retry, place)].join(" ")
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

/** Refuses a request for one fault. */
const refused = (place: string, message: string): Effect.Effect<never, InvalidRequest> =>
  refusedFor([{ place, message }])

const answer = Effect.fnUntraced(function* (
  config: Trial.Configured,
  read: Lists["Service"]["recording"],
  request: DryRunGroup.RunDryRun
): Effect.fn.Return<DryRunGroup.DryRunAnswer, InvalidRequest | StorageError> {
  const { hours = 48, picture = false, replay, turns = 1, withinMs = 60_000 } = request
  const configured = yield* configuredBy(config, request)
  const outages = yield* metBy(configured, request)
  const now = yield* Clock.currentTimeMillis
  const scene = { outages, forMs: Duration.toMillis(Duration.hours(hours)), mostCalls: DryRunGroup.MOST_CALLS }
  const recording = replay && (yield* read(replay.since, DryRunGroup.MOST_TURNS))
  if (recording?.turns.length === 0)
    return yield* refused("replay.since", "no turn was accepted or ended since then, and none is open.")
  const comparison =
    recording === undefined
      ? yield* Trial.compare(configured, { ...scene, turns, withinMs, startAt: now })
      : yield* Replay.run(configured, { ...scene, recording, readAt: now })
  const { assumptions, trials, was } = comparison
  const title =
    recording === undefined
      ? `${Count.of(turns, "turn")} of ${Target.format(Trial.modelOf(configured[0].config))}`
      : `${Count.of(recording.turns.length, "turn")}, replayed`
  return {
    report: trials[0].report,
    outages: OutageScripts.describe(outages),
    assumptions,
    ...defined({
      against: trials[1]?.report,
      replay: was && replayOf(was, trials[0]),
      svg: picture ? Picture.svg(title, comparison) : undefined
    })
  }
})

/** What a replay changed. */
const replayOf = (was: Trial.Trial, would: Trial.Trial): NonNullable<DryRunGroup.DryRunAnswer["replay"]> => {
  const { followed = [] } = would
  const changes = DryRunText.changed(was, would)
  return {
    was: was.report,
    followed: followed.filter(({ leftAt }) => leftAt === undefined).length,
    decisions: followed.reduce((sum, { decisions }) => sum + decisions, 0),
    changed: changes.length,
    changes: changes
      .slice(0, DryRunGroup.MOST_CHANGES)
      .map(([before, after]) => ({ turnId: before.turnId, was: endingOf(before), would: endingOf(after) }))
  }
}

const endingOf = ({ end }: DryTurnCourse) =>
  end === undefined ? { status: "waiting" as const } : { status: end.status, at: end.at }

const metBy = (
  configured: Trial.Configurations,
  { outages = [], replay }: DryRunGroup.RunDryRun
): Effect.Effect<OutageScripts.OutageScripts, InvalidRequest> => {
  const configs = configured.map(({ config }) => config)
  const read = Trial.outagesOf(outages, configs, replay !== undefined)
  return Result.isSuccess(read) ? Effect.succeed(read.success) : refused("outages", read.failure)
}

/** The configurations of a request: its own, and the second of a comparison. */
const configuredBy = Effect.fnUntraced(function* (
  config: Trial.Configured,
  { against, ...request }: DryRunGroup.RunDryRun
): Effect.fn.Return<Trial.Configurations, InvalidRequest> {
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

const refusedFor = (
  problems: ReadonlyArray<ConfigProblem.ConfigProblem>,
  message: string = problems.map(ConfigProblem.format).join(" ")
): Effect.Effect<never, InvalidRequest> => {
  const faults = problems.slice(0, MOST_FAULTS).map(({ message, place }) => ({ path: place, message }))
  return Effect.fail(new InvalidRequest({ message, faults }))
}

/** The waits of a configuration. */
export const scheduleOf = (config: Pick<Trial.Configured, "model" | "retry">): SchedulePreview.SchedulePreview => {
  const { retry } = config
  const model = Trial.modelOf(config)
  const policy = Profile.resolve(retry)
  const most = SchedulePreview.MOST_RETRIES
  const { because, rows } = Preview.rows(policy, most)
  return {
    model: Target.format(model),
    profile: retry.profile ?? "overnight",
    retry: written(retry),
    settings: PolicyText.primitives(policy).map(([name, value]) => ({ name, value })),
    rows: rows.map(({ atMs, clipped, delayMs }) => ({ delayMs, atMs, clipped })),
    conclusion: PolicyText.table(policy, most).at(-1) ?? "",
    isWhole: because !== undefined,
    kinds: PolicyText.hasKinds(policy)
      ? Preview.byKind(policy, model, MOST_STEPS).map(({ because, kinds, steps }) => ({
          kinds,
          steps,
          ...defined({ because })
        }))
      : [],
    remarks: PolicyText.remarks(policy)
  }
}

/** Settings as a configuration file has them: what is read of it are the same settings. */
export const written: (settings: RetrySettings.RetrySettings) => { readonly [key: string]: Schema.Json } =
  Schema.encodeSync(RetrySettings.RetrySettings)

/** Retries of a kind of failure: more make no difference to a person. */
const MOST_STEPS = 60
