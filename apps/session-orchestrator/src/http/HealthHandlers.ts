/** Handles the calls that report endpoints and configuration. */
import { Api } from "@holdfast/wire/api"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { orProblem } from "../conversation/DomainProblems.ts"
import { HealthReports } from "../inspection/endpoints/HealthReports.ts"

/** The handlers of the group `health`. */
export const layer = HttpApiBuilder.group(
  Api.Api,
  "health",
  Effect.fnUntraced(function* (handlers) {
    const { configuration, read } = yield* HealthReports
    return handlers.handleAll({
      readHealth: () => orProblem(read),
      readConfiguration: () => Effect.succeed(configuration)
    })
  })
)
