/** Handles the calls that try a policy (X10). */
import { Api } from "@holdfast/wire/api"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { DryRuns } from "../dry-run/DryRuns.ts"
import { orProblem } from "../conversation/DomainProblems.ts"

/** The handlers of the group `policies`. */
export const layer = HttpApiBuilder.group(
  Api.Api,
  "policies",
  Effect.fnUntraced(function* (handlers) {
    const { run, schedule } = yield* DryRuns
    return handlers.handleAll({
      dryRun: ({ payload }) => orProblem(run(payload)),
      previewSchedule: ({ payload }) => orProblem(schedule(payload))
    })
  })
)
