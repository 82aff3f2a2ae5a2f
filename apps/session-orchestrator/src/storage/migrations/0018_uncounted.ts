/** A mark on failed turns that no notice has counted yet, written with their end (X12). Turns that failed before have none. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Adds the mark and its index. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE turns ADD COLUMN uncounted INTEGER`
  yield* sql`CREATE INDEX turns_uncounted ON turns (ended_at) WHERE uncounted IS NOT NULL`
})
