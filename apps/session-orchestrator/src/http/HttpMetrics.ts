/** Counts HTTP requests, by method and status, and those in progress. */
import { Effect, Metric } from "effect"
import * as Series from "../telemetry/metrics/Series.ts"

const requests = Metric.counter("holdfast_http_requests_total", {
  description: "Requests that were answered, by method and status.",
  incremental: true
})

const requestsBy = Series.by(requests)

const open = Metric.gauge("holdfast_http_requests_open", {
  description: "Requests that are being answered now: streams and waits among them."
})

/** Creates the series of alerts and of ordinary answers. Series of other statuses are created with their first answer. */
export const create: Effect.Effect<void> = Effect.map(Effect.context<never>(), (context) => {
  Series.create(requests, { method: ["GET", "POST", "PUT"], status: ["200", "500", "503"] }, context)
  Series.create(open, {}, context)
})

/** Counts a request as in progress until its answer ends, and then by the status of the answer. */
export const counted = <A extends { readonly status: number }, E, R>(
  method: string,
  answer: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Metric.modify(open, 1),
    () => Effect.tap(answer, (response) => Metric.update(requestsBy({ method, status: String(response.status) }), 1)),
    () => Metric.modify(open, -1)
  )
