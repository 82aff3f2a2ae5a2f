/** Counts this process's turns by status, for each scrape of the metrics. */
import { Effect, Metric } from "effect"
import type { Conversations } from "../../conversation/Conversations.ts"

const STATUSES = ["running", "retrying", "queued"] as const

const turns = Metric.gauge("holdfast_turns", {
  description: "Turns that are not sealed, by status: running, retrying (waiting for a provider), queued."
})

/** Whether the service takes turns, as `/readyz` answers. */
const ready = Metric.gauge("holdfast_ready", {
  description: "1 when the service takes turns, 0 when it does not: GET /readyz has the reason."
})

/** Sets the metric of readiness. */
export const showReady = (isReady: boolean): Effect.Effect<void> => Metric.update(ready, isReady ? 1 : 0)

/** Counts the turns and sets their metric. */
export const refresh = ({ counts }: Conversations["Service"]): Effect.Effect<void> =>
  Effect.flatMap(counts, (counts) =>
    Effect.forEach(STATUSES, (status) => Metric.update(Metric.withAttributes(turns, { status }), counts[status]), {
      discard: true
    })
  )
