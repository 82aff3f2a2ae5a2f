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

/** The turns of a call with any login, newest first: those that have not ended, and those that ended since a moment in epoch milliseconds. */
export const byCall = (
  sql: SqlClient.SqlClient,
  call: string,
  since: number
): Effect.Effect<ReadonlyArray<CallTurn>, TableError> =>
  Effect.flatMap(
    sql<Row>`
      SELECT c.conversation_id AS "conversationId", t.turn_id AS "turnId", e.payload
      FROM conversations c
      JOIN turns t ON t.conversation = c.number
      LEFT JOIN events e ON e.conversation = t.conversation AND e.event_id = t.end_event_id
      WHERE c.conversation_id LIKE 'holdfast-call-%' AND substr(c.conversation_id, 1, 25) = ${HeldCallIds.PREFIX + call}
        AND (t.end_event_id IS NULL OR t.ended_at >= ${since})
      ORDER BY t.number DESC`,
    Effect.forEach(({ payload, ...ids }) =>
      Effect.map(payload === null ? Effect.undefined : TurnTable.endOf(payload, ids), (end) => ({ ...ids, end }))
    )
  )

/** The conversations of the held calls that have not ended. */
export const open = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyArray<Ids.ConversationId>, SqlError.SqlError> =>
  Effect.map(
    sql<Pick<Row, "conversationId">>`
      SELECT c.conversation_id AS "conversationId" FROM turns t JOIN conversations c ON c.number = t.conversation
      WHERE t.end_event_id IS NULL AND c.conversation_id LIKE 'holdfast-call-%'`,
    (rows) => rows.map(({ conversationId }) => conversationId)
  )

// --- internal

interface Row extends Pick<CallTurn, "conversationId" | "turnId"> {
  readonly payload: string | null
}
