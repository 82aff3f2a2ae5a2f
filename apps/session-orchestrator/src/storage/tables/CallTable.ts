/** Reads the turns of held calls by the key of the call, on a PostgreSQL that runners share. */
import type { TableError } from "@holdfast/journal/sql"
import type { Ids, TurnEvent } from "@holdfast/wire"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import * as HeldCallIds from "../HeldCallIds.ts"
import * as TurnTable from "./TurnTable.ts"

/** A turn of a held call. */
export interface CallTurn {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  /** Absent: it has not ended. */
  readonly end: TurnEvent.TurnEnd | undefined
}

/** The turns of one key, newest first: those that have not ended, and those that ended since a moment in epoch milliseconds. */
export const byKey = (
  sql: SqlClient.SqlClient,
  key: string,
  since: number
): Effect.Effect<ReadonlyArray<CallTurn>, TableError> =>
  Effect.flatMap(
    sql<Row>`
      SELECT c.conversation_id, t.turn_id, e.payload
      FROM conversations c
      JOIN turns t ON t.conversation = c.number
      LEFT JOIN events e ON e.conversation = t.conversation AND e.event_id = t.end_event_id
      WHERE c.conversation_id LIKE 'holdfast-call-%' AND substr(c.conversation_id, 1, 36) = ${HeldCallIds.PREFIX + key}
        AND (t.end_event_id IS NULL OR t.ended_at >= ${since})
      ORDER BY t.number DESC`,
    Effect.forEach(({ conversation_id: conversationId, payload, turn_id: turnId }) =>
      Effect.map(
        payload === null ? Effect.undefined : TurnTable.endOf(payload, { conversationId, turnId }),
        (end): CallTurn => ({ conversationId, turnId, end })
      )
    )
  )

/** The conversations of the held calls that have not ended. */
export const open = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyArray<Ids.ConversationId>, SqlError.SqlError> =>
  Effect.map(
    sql<Pick<Row, "conversation_id">>`
      SELECT c.conversation_id FROM turns t JOIN conversations c ON c.number = t.conversation
      WHERE t.end_event_id IS NULL AND c.conversation_id LIKE 'holdfast-call-%'`,
    (rows) => rows.map(({ conversation_id: id }) => id)
  )

// --- internal

interface Row {
  readonly conversation_id: Ids.ConversationId
  readonly turn_id: Ids.TurnId
  readonly payload: string | null
}
