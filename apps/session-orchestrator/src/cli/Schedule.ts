/** Runs `holdfast schedule`: prints each wait of a configuration's retries. */
import { Profile, RetrySettings } from "@holdfast/policy"
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as ConfiguredRun from "../dry-run/ConfiguredRun.ts"
import * as Picture from "../dry-run/Picture.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import * as PictureFile from "./PictureFile.ts"
import * as PolicyText from "../text/PolicyText.ts"
import * as Setup from "./Setup.ts"
import { Terminal } from "./terminal/Terminal.ts"

/** The default number of rows: more than the retries of a night. */
const DEFAULT_ROWS = 60

/** The command `schedule`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "schedule",
    {
      config: Setup.configFlag,
      profile: Flag.Literals("profile", RetrySettings.ProfileName.literals).pipe(
        Flag.withDescription("Profile to show instead of the configured one"),
        Flag.optional
      ),
      rows: Flag.Int("rows").pipe(
        Flag.withMetavar("N"),
        Flag.withDescription("Most retries to print"),
        Flag.filter(
          (rows) => rows > 0 && rows <= 10_000,
          () => "Expected a number from 1 to 10000"
        ),
        Flag.withDefault(DEFAULT_ROWS)
      ),
      svg: PictureFile.flag
    },
    ({ config: file, profile, rows, svg }) =>
      Setup.withConfig(
        parts,
        { file: Option.getOrUndefined(file), flags: { profile: Option.getOrUndefined(profile) } },
        (config) =>
          Effect.gen(function* () {
            const terminal = yield* Terminal
            const policy = Profile.resolve(config.retry)
            const model = ConfiguredRun.modelOf(config)
            const name = config.retry.profile ?? "overnight"
            const changed = Object.keys(config.retry).filter((key) => key !== "profile")
            const title = `Profile ${name}${changed.length === 0 ? "" : `, with its own ${changed.join(", ")}`}`
            const lines = [
              title,
              "",
              ...PolicyText.table(policy, rows),
              ...PolicyText.remarks(policy),
              ...PolicyText.byKind(policy, model)
            ]
            yield* PictureFile.write(svg, () => Picture.ofSchedule(title, policy, model, rows))
            terminal.stdout(`${lines.join("\n")}\n`)
          })
      )
  ).pipe(
    Command.withDescription(
      "Print the schedule of a configuration: each retry, its wait and the sum, and the targets of retries"
    ),
    Command.withExamples([
      { command: "holdfast schedule", description: "The schedule in force" },
      { command: "holdfast schedule --profile interactive", description: "The schedule of another profile" },
      { command: "holdfast schedule --svg schedule.svg", description: "And a picture of it" }
    ])
  )
