/** Runs `holdfast schedule`: prints each wait of a configuration's retries. */
import { Profile } from "@holdfast/policy"
import { Effect } from "effect"
import { Flag } from "effect/cli"
import * as ConfiguredRun from "../insight/dry-run/ConfiguredRun.ts"
import * as Picture from "../insight/dry-run/Picture.ts"
import * as Declaration from "./Declaration.ts"
import * as PolicyText from "../base/text/PolicyText.ts"
import * as Setup from "./Setup.ts"

/** The default number of rows: more than the retries of a night. */
const DEFAULT_ROWS = 60

/** The command `schedule`. */
export const command = Setup.command(
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
    const model = ConfiguredRun.modelOf(config)
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
