/** Handles the API's calls for operators: health, readiness, metrics. */
import { Api, Problem } from "@holdfast/wire/api"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { PrometheusMetrics } from "effect/observability"
import { Condition } from "../system/Condition.ts"
import { Conversations, ShuttingDown } from "../conversation/Conversations.ts"
import { Store } from "../storage/Store.ts"
import * as ProcessMetrics from "../telemetry/metrics/ProcessMetrics.ts"
import * as TurnCounts from "../telemetry/metrics/TurnCounts.ts"
import { orProblem } from "../conversation/DomainProblems.ts"
import { Drain } from "../system/Drain.ts"

/** How long a scrape waits for the database; a slower database counts as unavailable. */
const READY_LIMIT = "2 seconds"

const OK = { status: "ok" } as const

/** The handlers of the `system` group. */
export const layer = HttpApiBuilder.group(
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
        yield* TurnCounts.refresh(conversations)
        yield* TurnCounts.showReady(
          yield* ready().pipe(
            Effect.as(true),
            Effect.timeout(READY_LIMIT),
            Effect.orElseSucceed(() => false)
          )
        )
        return (yield* PrometheusMetrics.format()) + (yield* ProcessMetrics.text)
      })
    })
  })
)
