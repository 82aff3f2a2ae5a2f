/** Handles the calls that report endpoints and configuration. */
import { Effect } from "effect"
import * as Handlers from "./Handlers.ts"
import { orProblem } from "../conversation/DomainProblems.ts"
import { HealthReports } from "../inspection/endpoints/HealthReports.ts"

/** The handlers of the group `health`. */
export const layer = Handlers.group(
  "health",
  Effect.fnUntraced(function* (handlers) {
    const { configuration, read } = yield* HealthReports
    return handlers.handleAll({
      readHealth: () => orProblem(read),
      readConfiguration: () => Effect.succeed(configuration)
    })
  })
)
