/** `holdfast health`: prints what a running service knows of its endpoints. */
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import * as HealthText from "../../inspection/endpoints/HealthText.ts"
import * as LocalTime from "../../text/LocalTime.ts"
import * as Prose from "../../text/Prose.ts"
import type { Parts, StartFailure } from "../Parts.ts"
import { Terminal } from "../terminal/Terminal.ts"
import * as Service from "./Service.ts"

/** The command `holdfast health`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "health",
    {
      json: Flag.Boolean("json").pipe(
        Flag.withDescription("Print it as JSON; times in milliseconds"),
        Flag.withDefault(false)
      ),
      ...Service.flags
    },
    ({ json, ...given }) =>
      Service.use(parts, given, (client) =>
        Effect.gen(function* () {
          const terminal = yield* Terminal
          const health = yield* client.health
          const lines = json
            ? [Prose.inJson(JSON.stringify(health, null, 2))]
            : HealthText.lines(health, LocalTime.toSeconds(health.at))
          terminal.stdout(`${lines.join("\n")}\n`)
        })
      )
  ).pipe(
    Command.withDescription(
      "Print what the running service knows of each endpoint: gate, pauses with their ends, calls and failures of the last hour"
    ),
    Command.withShortDescription("The endpoints: gates, quotas, calls and failures"),
    Command.withExamples([
      { command: "holdfast health", description: "Each endpoint and credential" },
      { command: "holdfast health --json | jq '.endpoints[] | {target, state}'", description: "For programs" }
    ])
  )
