/**
 * Runs `holdfast dry-run` and `schedule`: tries a configuration against an outage, or the recorded turns of a database, in seconds and without a call
 * (X10), and prints each wait of its retries.
 *
 * Nothing is sent, started or stored, except the picture that `--svg` names.
 */
import { Profile, RetrySettings } from "@holdfast/policy"
import { Count, Target } from "@holdfast/wire"
import { Array as Arr, Clock, Duration, Effect } from "effect"
import { Flag } from "effect/cli"
import { basename } from "node:path"
import type { Values } from "../config/Config.ts"
import * as DryRunText from "../insight/dry-run/DryRunText.ts"
import * as Picture from "../insight/dry-run/Picture.ts"
import * as Replay from "../insight/dry-run/Replay.ts"
import * as Trial from "../insight/dry-run/Trial.ts"
import { Lists } from "../storage/Lists.ts"
import * as DurationText from "../base/text/DurationText.ts"
import * as LocalTime from "../base/text/LocalTime.ts"
import * as PolicyText from "../base/text/PolicyText.ts"
import * as Since from "./Since.ts"
import * as Declaration from "./Declaration.ts"
import { Refused } from "./Ended.ts"
import * as Setup from "./Setup.ts"
import { Terminal, writeJson } from "./terminal/Terminal.ts"

/** More would take minutes, and a crowd of ten thousand behaves as one of a thousand. */
const MOST_TURNS = 10_000

/** The most turns of one recording. */
const MOST_RECORDED = 5_000

/** The calls of a run: a policy that retries without a wait would never end. */
const MOST_CALLS = 1_000_000

/** A month. */
const MOST_HOURS = 744

const options = {
  outage: Declaration.texts(
    "outage",
    "[TARGET=]SCRIPT",
    "What turns meet, such as '529 for 7h' (docs/simulated.md has the language); for one endpoint 'openai=429 for 1h'. May be repeated"
  ).pipe(Flag.withAlias("o")),
  replay: Declaration.parsed(
    "replay",
    "SINCE",
    `Run the turns of the database since then again, instead of new ones: ${Since.PAST.expected}`,
    Since.PAST
  ),
  turns: whole("turns", "Turns that are prompted", MOST_TURNS, 1),
  within: Declaration.duration("within", 'The time over which they are prompted (default: "1 minute")', "10 minutes"),
  hours: whole("hours", "The longest run, in hours", MOST_HOURS, 48),
  profile: Declaration.profile("Profile to try instead of the configured one"),
  model: Declaration.text("model", "PROVIDER/MODEL", "Model of the turns instead of the configured one"),
  against: Declaration.text(
    "against",
    "FILE",
    "Another configuration, or the name of a profile, to try beside this one"
  ),
  json: Declaration.toggle("json", "Print one JSON object; times in milliseconds"),
  svg: Declaration.svg
}

/** The command `dry-run`. */
export const dryRun = Setup.command(
  {
    name: "dry-run",
    does: "Try a configuration against an outage before it is trusted: the service's own decisions under a clock that jumps, in seconds",
    options,
    examples: {
      "holdfast dry-run --replay 22:00 --against other.json": "Last night again, by two configurations",
      "holdfast dry-run --outage '529 for 7h'": "One turn of a night",
      "holdfast dry-run --outage '529 for 7h' --turns 1000 --against interactive": "A crowd, by two profiles",
      "holdfast dry-run --outage 'anthropic=529 for 7h' --outage 'openai=429 for 1h;retry-after=60' --svg night.svg":
        "Two endpoints, and a picture"
    }
  },
  Effect.fnUntraced(function* (given, config, parts) {
    const { against, model, outage, replay, turns, within = 60_000 } = given
    if (outage.length === 0 && replay === undefined) return yield* Refused.usage(NOTHING_MET)
    const configured: Arr.NonEmptyArray<Trial.NamedConfiguration> = [{ name: named(config, config.file), config }]
    if (against !== undefined) {
      const isProfile = RetrySettings.ProfileName.literals.some((name) => name === against)
      const other = isProfile
        ? { config: config.file, flags: { profile: against, model } }
        : { config: against, flags: { model } }
      yield* Setup.withConfig(parts, other, (config) =>
        Effect.sync(() => void configured.push({ name: named(config, isProfile ? undefined : against), config }))
      )
    }
    const met = Trial.outagesOf(
      outage,
      Arr.map(configured, ({ config }) => config),
      replay !== undefined
    )
    const outages = yield* Effect.mapError(Effect.fromResult(met), (why) => Refused.usage(`--outage: ${why}`))
    const now = yield* Clock.currentTimeMillis
    const how = { outages, forMs: Duration.toMillis(Duration.hours(given.hours)), mostCalls: MOST_CALLS }
    if (replay === undefined) {
      const comparison = yield* Trial.compare(configured, { ...how, turns, withinMs: within, startAt: now })
      return yield* print(given, titleOf(configured, turns, within), comparison, now)
    }
    const recorded = Effect.flatMap(Lists, (lists) => lists.recording(replay, MOST_RECORDED))
    const recording = yield* Effect.provide(recorded, parts.inspection)
    const moment = LocalTime.toSeconds(now)(replay)
    if (recording.turns.length === 0) {
      return yield* Setup.printLines([`No turn was accepted or ended since ${moment}, and none is open.`])
    }
    const target = model === undefined ? undefined : config.model
    const again = Arr.map(configured, (one) => ({ ...one, model: target }))
    const comparison = yield* Replay.run(again, { ...how, recording, readAt: now })
    const title = `${Count.of(recording.turns.length, "turn")} since ${moment}, replayed by ${namesOf(configured)}`
    yield* print(given, title, comparison, now, { since: replay })
  }),
  { flags: ({ model, profile }) => ({ model, profile }) }
)

/** The default number of rows: more than the retries of a night. */
const DEFAULT_ROWS = 60

/** The command `schedule`. */
export const schedule = Setup.command(
  {
    name: "schedule",
    does: "Print the schedule of a configuration: each retry, its wait and the sum, and the targets of retries",
    options: {
      profile: Declaration.profile("Profile to show instead of the configured one"),
      rows: Declaration.whole("rows", "Most retries to print", 1, 10_000).pipe(Flag.withDefault(DEFAULT_ROWS)),
      svg: Declaration.svg
    },
    examples: {
      "holdfast schedule": "The schedule in force",
      "holdfast schedule --profile interactive": "The schedule of another profile",
      "holdfast schedule --svg schedule.svg": "And a picture of it"
    }
  },
  Effect.fnUntraced(function* ({ rows, svg }, config) {
    const policy = Profile.resolve(config.retry)
    const model = Trial.modelOf(config)
    const name = config.retry.profile ?? "overnight"
    const changed = Object.keys(config.retry).filter((key) => key !== "profile")
    const title = `Profile ${name}${changed.length === 0 ? "" : `, with its own ${changed.join(", ")}`}`
    yield* Setup.draw(svg, () => Picture.ofSchedule(title, policy, model, rows))
    yield* Setup.printLines([
      title,
      "",
      ...PolicyText.table(policy, rows),
      ...PolicyText.remarks(policy),
      ...PolicyText.byKind(policy, model)
    ])
  }),
  { flags: ({ profile }) => ({ profile }) }
)

// --- internal

type Given = Declaration.Given<typeof options>

function whole(name: string, what: string, most: number, usual: number) {
  return Declaration.whole(name, `${what}: 1 to ${most} (default: ${usual})`, 1, most).pipe(Flag.withDefault(usual))
}

const NOTHING_MET =
  "expected --outage with what the turns meet, such as '529 for 7h', or --replay with the begin of the record, such as 22:00."

const named = (config: Values, file: string | undefined): string =>
  Trial.nameOf(config, file === undefined ? undefined : basename(file))

const print = Effect.fnUntraced(function* (
  { json, svg }: Given,
  title: string,
  comparison: Trial.Comparison,
  now: number,
  more: object = {}
) {
  yield* Setup.draw(svg, () => Picture.svg(title, comparison))
  if (!json) return yield* Setup.printLines(DryRunText.lines(title, comparison, LocalTime.toSeconds(now)))
  const { assumptions, outages, trials, was } = comparison
  const runOf = ({ result, ...trial }: Trial.Trial) => ({ ...trial, turns: result.turns })
  const value = { ...more, outages: Object.fromEntries(outages), assumptions, was: was && runOf(was) }
  writeJson(yield* Terminal, { ...value, runs: trials.map(runOf) })
})

const namesOf = (configured: Trial.Configurations): string => configured.map(({ name }) => name).join(" beside ")

const titleOf = (configured: Trial.Configurations, turns: number, withinMs: number): string => {
  const targets = new Set(configured.map(({ config }) => Target.format(Trial.modelOf(config))))
  const models = Array.from(targets).join(" and ")
  return turns === 1
    ? `A turn of ${models}, by ${namesOf(configured)}`
    : `${Count.of(turns, "turn")} of ${models} within ${DurationText.format(withinMs)}, by ${namesOf(configured)}`
}
