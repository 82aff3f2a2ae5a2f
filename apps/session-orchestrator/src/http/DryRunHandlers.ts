/** Handles the calls that try a policy (X10). */
import { Effect } from "effect"
import { DryRuns } from "../dry-run/DryRuns.ts"
import * as Handlers from "./Handlers.ts"
import { orProblem } from "../conversation/DomainProblems.ts"

/** The handlers of the group `policies`. */
export const layer = Handlers.group(
  "policies",
  Effect.fnUntraced(function* (handlers) {
    const { run, schedule } = yield* DryRuns
    return handlers.handleAll({
      dryRun: ({ payload }) => orProblem(run(payload)),
      previewSchedule: ({ payload }) => orProblem(schedule(payload))
    })
  })
)
