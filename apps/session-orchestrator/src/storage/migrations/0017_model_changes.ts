/** An index of the few events that change the model of a turn, so that lists know a turn's model without its other events (X15). */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Adds the index. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE INDEX events_model_change ON events (turn, event_id) WHERE type = 'model-change'`
})
