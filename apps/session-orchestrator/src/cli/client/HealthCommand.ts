/** `holdfast health`: prints what a running service knows of its endpoints. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import * as EndpointReports from "../../inspection/endpoints/EndpointReports.ts"
import * as LocalTime from "../../text/LocalTime.ts"
import type { Parts, StartFailure } from "../Parts.ts"
import * as Setup from "../Setup.ts"
import * as Service from "./Service.ts"

/** The command `holdfast health`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "health",
    {
      json: Setup.jsonFlag,
      ...Service.flags
    },
    ({ json, ...given }) =>
      Service.use(parts, given, (client) =>
        Effect.gen(function* () {
          const health = yield* client.health
          yield* Setup.print(json, health, () => EndpointReports.lines(health, LocalTime.toSeconds(health.at)))
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
