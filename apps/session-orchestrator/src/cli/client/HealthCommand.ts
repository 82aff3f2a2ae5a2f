/** `holdfast health`: prints what a running service knows of its endpoints. */
import { Health } from "@holdfast/wire"
import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import * as EndpointReports from "../../inspection/endpoints/EndpointReports.ts"
import * as LocalTime from "../../text/LocalTime.ts"
import type { Parts, StartFailure } from "../Parts.ts"
import * as Setup from "../Setup.ts"
import * as ServiceClient from "./ServiceClient.ts"

/** The command `holdfast health`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "health",
    {
      json: Setup.jsonFlag,
      url: ServiceClient.urlFlag,
      config: Setup.configFlag
    },
    ({ config, json, url }) =>
      Setup.withConfig(parts, { file: Option.getOrUndefined(config) }, ({ server }) =>
        Effect.gen(function* () {
          const client = yield* ServiceClient.of(url, parts.environment, server)
          const health = yield* client.call({ path: "/v1/health" }, Health.Health)
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
