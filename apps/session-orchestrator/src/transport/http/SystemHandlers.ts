/** The calls for those who run the service. */
import { Api, Problem } from "@holdfast/wire/api"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { PrometheusMetrics } from "effect/observability"
import { Conversations } from "../../conversation/Conversations.ts"
import { Store } from "../../storage/Store.ts"
import { orProblem } from "./DomainProblems.ts"
import { Drain } from "./Drain.ts"
import * as TurnMetrics from "./TurnMetrics.ts"

const OK = { status: "ok" } as const

export const layer = HttpApiBuilder.group(
  Api.Api,
  "system",
  Effect.fnUntraced(function* (handlers) {
    const store = yield* Store
    const conversations = yield* Conversations
    const drain = yield* Drain
    return handlers.handleAll({
      health: () => Effect.succeed(OK),
      ready: Effect.fnUntraced(function* () {
        if (yield* drain.hasBegun) return yield* Effect.fail(new Problem.ShuttingDown({}))
        yield* orProblem(store.check)
        return OK
      }),
      metrics: () => Effect.andThen(TurnMetrics.refresh(store, conversations), PrometheusMetrics.format())
    })
  })
)
