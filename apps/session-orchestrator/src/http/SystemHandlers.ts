/** Handles the API's calls for operators: health, readiness, metrics, reports of endpoints and configuration, trials of a policy (X10). */
import { Api, Problem } from "@holdfast/wire/api"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { PrometheusMetrics } from "effect/observability"
import { Condition } from "../base/system/Condition.ts"
import { Conversations, ShuttingDown } from "../engine/conversation/Conversations.ts"
import { Store } from "../storage/Store.ts"
import * as ServiceMetrics from "../ops/telemetry/metrics/ServiceMetrics.ts"
import { orProblem } from "../engine/conversation/DomainProblems.ts"
import { Drain } from "../base/system/Drain.ts"
import { DryRuns } from "../insight/dry-run/DryRuns.ts"
import { HealthReports } from "../insight/inspection/endpoints/HealthReports.ts"

/** How long a scrape waits for the database; a slower database counts as unavailable. */
const READY_LIMIT = "2 seconds"

const OK = { status: "ok" } as const

/** The handlers of the `system` group. */
export const system = HttpApiBuilder.group(
  Api.Api,
  "system",
  Effect.fnUntraced(function* (handlers) {
    const store = yield* Store
    const conversations = yield* Conversations
    const condition = yield* Condition
    const drain = yield* Drain
    const ready = Effect.fnUntraced(function* () {
      if (yield* drain.hasBegun) {
        return yield* Effect.fail(new Problem.ShuttingDown({ detail: new ShuttingDown().message }))
      }
      const starting = yield* condition.starting
      if (starting !== undefined) return yield* Effect.fail(new Problem.Starting({ detail: starting }))
      yield* orProblem(store.check)
      return OK
    })
    return handlers.handleAll({
      health: () => Effect.succeed(OK),
      ready,
      metrics: Effect.fnUntraced(function* () {
        yield* ServiceMetrics.countTurns(conversations)
        yield* ServiceMetrics.showReady(
          yield* ready().pipe(
            Effect.as(true),
            Effect.timeout(READY_LIMIT),
            Effect.orElseSucceed(() => false)
          )
        )
        return (yield* PrometheusMetrics.format()) + (yield* ServiceMetrics.text)
      })
    })
  })
)

/** The handlers of the group `policies`. */
export const policies = HttpApiBuilder.group(
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

/** The handlers of the group `health`. */
export const health = HttpApiBuilder.group(
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
