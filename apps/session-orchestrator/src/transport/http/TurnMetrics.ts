/**
 * How many turns there are, by what they are doing.
 *
 * They are counted when somebody asks, from the record itself, so the figures cannot drift from it.
 */
import { Effect, Metric } from "effect"
import type { Conversations } from "../../conversation/Conversations.ts"
import type { Store } from "../../storage/Store.ts"

const STATUSES = ["running", "retrying", "queued"] as const

const turns = Metric.gauge("holdfast_turns", {
  description: "Turns that are not sealed, by status: running, retrying (waiting for a provider), queued."
})

const gaugeOf = (status: (typeof STATUSES)[number]) => Metric.withAttributes(turns, { status })

/** Counts anew. Where the record cannot be read there is no figure, rather than an old one. */
export const refresh = Effect.fnUntraced(
  function* (store: Store["Service"], conversations: Conversations["Service"]) {
    const counts = { running: 0, retrying: 0, queued: 0 }
    const unsealed = yield* store.unsealedTurns
    for (const id of new Set(unsealed.map(({ conversationId }) => conversationId))) {
      const { queued, status } = yield* conversations.state(id)
      counts.queued += queued.length
      if (status !== "idle") counts[status]++
    }
    for (const status of STATUSES) yield* Metric.update(gaugeOf(status), counts[status])
  },
  Effect.catch(() => Effect.forEach(STATUSES, (status) => Metric.remove(gaugeOf(status)), { discard: true }))
)
