/**
 * Runs `holdfast dry-run`: tries a configuration against an outage, in seconds and without a call (X10).
 *
 * Nothing is sent, started or stored, except the picture that `--svg` names.
 */
import { RetrySettings } from "@holdfast/policy"
import { Count, Target } from "@holdfast/wire"
import { Clock, Duration, Effect, Option, Result } from "effect"
import { Command, Flag } from "effect/cli"
import { basename } from "node:path"
import type { Values } from "../config/Config.ts"
import * as ConfiguredRun from "../dry-run/ConfiguredRun.ts"
import * as DryRunText from "../dry-run/DryRunText.ts"
import * as Outages from "../dry-run/Outages.ts"
import * as Picture from "../dry-run/Picture.ts"
import * as Trial from "../dry-run/Trial.ts"
import * as DurationText from "../text/DurationText.ts"
import * as ReplayCommand from "./ReplayCommand.ts"
import * as Since from "./Since.ts"
import { Refused } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import * as PictureFile from "./PictureFile.ts"
import * as Setup from "./Setup.ts"
import { Terminal } from "./terminal/Terminal.ts"

/** More would take minutes, and a crowd of ten thousand behaves as one of a thousand. */
const MOST_TURNS = 10_000

/** The calls of a run: a policy that retries without a wait would never end. */
const MOST_CALLS = 1_000_000

/** A month. */
const MOST_HOURS = 744

/** The command `dry-run`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "dry-run",
    {
      outage: Flag.String("outage").pipe(
        Flag.withAlias("o"),
        Flag.withMetavar("[TARGET=]SCRIPT"),
        Flag.withDescription(
          "What turns meet, such as '529 for 7h' (docs/simulated.md has the language); for one endpoint 'openai=429 for 1h'. May be repeated"
        ),
        Flag.atLeast(0)
      ),
      replay: Setup.textFlag(
        "replay",
        "SINCE",
        `Run the turns of the database since then again, instead of new ones: ${Since.EXPECTED}`
      ),
      turns: whole("turns", "N", `Turns that are prompted: 1 to ${MOST_TURNS}`, MOST_TURNS, 1),
      within: Flag.String("within").pipe(
        Flag.withMetavar("DURATION"),
        Flag.withDescription('The time over which they are prompted (default: "1 minute")'),
        Flag.withDefault("1 minute")
      ),
      hours: whole("hours", "N", `The longest run, in hours: 1 to ${MOST_HOURS}`, MOST_HOURS, 48),
      config: Setup.configFlag,
      profile: Flag.Literals("profile", RetrySettings.ProfileName.literals).pipe(
        Flag.withDescription("Profile to try instead of the configured one"),
        Flag.optional
      ),
      model: Setup.textFlag("model", "PROVIDER/MODEL", "Model of the turns instead of the configured one"),
      against: Setup.textFlag(
        "against",
        "FILE",
        "Another configuration, or the name of a profile, to try beside this one"
      ),
      json: Setup.switchFlag("json", "Print one JSON object; times in milliseconds"),
      svg: PictureFile.flag
    },
    (flags) => {
      const profile = Option.getOrUndefined(flags.profile)
      const model = Option.getOrUndefined(flags.model)
      const file = Option.getOrUndefined(flags.config)
      return Setup.withConfig(parts, { file, flags: { profile, model } }, (config) =>
        Effect.gen(function* () {
          if (flags.outage.length === 0 && Option.isNone(flags.replay)) return yield* refuse(NOTHING_MET)
          const configured = [{ name: named(config, config.file), config }]
          const against = Option.getOrUndefined(flags.against)
          if (against !== undefined) {
            const isProfile = RetrySettings.ProfileName.literals.some((name) => name === against)
            const other = isProfile ? { file, flags: { profile: against, model } } : { file: against, flags: { model } }
            yield* Setup.withConfig(parts, other, (config) =>
              Effect.sync(() => void configured.push({ name: named(config, isProfile ? undefined : against), config }))
            )
          }
          const outages = yield* outagesOf(flags, configured)
          const now = yield* Clock.currentTimeMillis
          const replay = Option.getOrUndefined(flags.replay)
          if (replay === undefined) return yield* tryAll(configured, yield* sceneOf(flags, outages, now), flags)
          const since = yield* Since.orRefused(replay, now, "--replay")
          const { hours, json, svg } = flags
          const forMs = Duration.toMillis(Duration.hours(hours))
          const target = model === undefined ? undefined : config.model
          const options = { since, configured, outages, model: target, forMs, mostCalls: MOST_CALLS, json, svg }
          yield* Effect.provide(ReplayCommand.run(options), parts.inspection)
        })
      )
    }
  ).pipe(
    Command.withDescription(
      "Try a configuration against an outage before it is trusted: the service's own decisions under a clock that jumps, in seconds"
    ),
    Command.withShortDescription("Try a configuration against an outage, in seconds"),
    Command.withExamples([
      {
        command: "holdfast dry-run --replay 22:00 --against other.json",
        description: "Last night again, by two configurations"
      },
      { command: "holdfast dry-run --outage '529 for 7h'", description: "One turn of a night" },
      {
        command: "holdfast dry-run --outage '529 for 7h' --turns 1000 --against interactive",
        description: "A crowd, by two profiles"
      },
      {
        command:
          "holdfast dry-run --outage 'anthropic=529 for 7h' --outage 'openai=429 for 1h;retry-after=60' --svg night.svg",
        description: "Two endpoints, and a picture"
      }
    ])
  )

// --- internal

interface Flags {
  readonly outage: ReadonlyArray<string>
  readonly replay: Option.Option<string>
  readonly turns: number
  readonly within: string
  readonly hours: number
  readonly json: boolean
  readonly svg: Option.Option<string>
}

interface Named {
  readonly name: string
  readonly config: Values
}

function whole(name: string, metavar: string, description: string, most: number, fallback: number) {
  return Flag.Int(name).pipe(
    Flag.withMetavar(metavar),
    Flag.withDescription(`${description} (default: ${fallback})`),
    Flag.filter(
      (n) => n >= 1 && n <= most,
      () => `Expected a number from 1 to ${most}`
    ),
    Flag.withDefault(fallback)
  )
}

const NOTHING_MET =
  "expected --outage with what the turns meet, such as '529 for 7h', or --replay with the begin of the record, such as 22:00."

const refuse = (message: string) => new Refused({ message, exitCode: ExitCode.USAGE })

const named = (config: Values, file: string | undefined): string =>
  Trial.nameOf(config, file === undefined ? undefined : basename(file))

const outagesOf = Effect.fnUntraced(function* ({ outage, replay }: Flags, configured: ReadonlyArray<Named>) {
  const outages = ConfiguredRun.outagesOf(
    outage,
    configured.map(({ config }) => config),
    Option.isSome(replay)
  )
  if (Result.isFailure(outages)) return yield* refuse(`--outage: ${outages.failure}`)
  return outages.success
})

const sceneOf = Effect.fnUntraced(function* (
  { hours, turns, within }: Flags,
  outages: Outages.Outages,
  startAt: number
) {
  const length = DurationText.parse(within)
  if (length === undefined)
    return yield* refuse(`--within: found ${JSON.stringify(within)}; expected a duration such as "10 minutes".`)
  return {
    outages,
    turns,
    withinMs: Duration.toMillis(length),
    startAt,
    forMs: Duration.toMillis(Duration.hours(hours)),
    mostCalls: MOST_CALLS,
    seed: 1
  } satisfies ConfiguredRun.Scene
})

const tryAll = Effect.fnUntraced(function* (
  configured: ReadonlyArray<Named>,
  scene: ConfiguredRun.Scene,
  { json, svg }: Flags
) {
  const { assumptions, trials } = yield* Trial.compare(configured, scene)
  const terminal = yield* Terminal
  const title = titleOf(configured, scene)
  const outages = Outages.describe(scene.outages)
  yield* PictureFile.write(svg, () => Picture.svg(title, outages.join(" "), trials, Picture.elapsed))
  if (json) {
    const runs = trials.map(({ name, report, result }) => ({ name, report, turns: result.turns }))
    return terminal.stdout(`${JSON.stringify({ outages: Object.fromEntries(scene.outages), assumptions, runs })}\n`)
  }
  const lines = [title, ...outages, "", ...DryRunText.table(trials), "", `Assumed: ${assumptions.join(" ")}`]
  terminal.stdout(`${lines.join("\n")}\n`)
})

const titleOf = (configured: ReadonlyArray<Named>, { turns, withinMs }: ConfiguredRun.Scene): string => {
  const models = Array.from(new Set(configured.map(({ config }) => Target.format(ConfiguredRun.modelOf(config))))).join(
    " and "
  )
  const how = configured.map(({ name }) => name).join(" beside ")
  return turns === 1
    ? `A turn of ${models}, by ${how}`
    : `${Count.of(turns, "turn")} of ${models} within ${DurationText.format(withinMs)}, by ${how}`
}
