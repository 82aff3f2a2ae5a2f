/**
 * An index by which runners of a PostgreSQL find the turns of a held call by its key (X13).
 *
 * A process that has its file alone keeps them in memory.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Adds the index. The key is in the id of the conversation, behind `holdfast-call-`. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.onDialectOrElse({
    pg: () =>
      Effect.asVoid(sql`
        CREATE INDEX conversations_call ON conversations (substr(conversation_id, 1, 36))
        WHERE conversation_id LIKE 'holdfast-call-%'`),
    orElse: () => Effect.void
  })
})
