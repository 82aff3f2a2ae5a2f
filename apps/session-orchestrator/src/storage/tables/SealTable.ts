/** Reads which turns have a seal, across the tables of turns, events and journals; and the deaths of the service (`Store.noteDeath`). */
import { InterruptionTable, Rows, type SqlJournal, type TableError } from "@holdfast/journal/sql"
import type { Ids } from "@holdfast/wire"
import { Effect } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import type { Unsealed } from "../Store.ts"
import * as RecordTable from "./RecordTable.ts"
import * as TurnTable from "./TurnTable.ts"

/** The next turns after an id that have records and an end, with that end in epoch milliseconds; at most `limit`. */
export const sealed = (
  sql: SqlClient.SqlClient,
  after: Ids.TurnId | undefined,
  limit: number
): Effect.Effect<ReadonlyArray<SqlJournal.SealedTurn>, TableError> =>
  Effect.flatMap(
    sql<SealedRow>`
      SELECT t.turn_id AS "turnId", c.conversation_id AS "conversationId", e.payload FROM journal j
      JOIN turns t ON t.number = j.turn
      JOIN conversations c ON c.number = t.conversation
      JOIN events e ON e.conversation = t.conversation AND e.event_id = t.end_event_id
      WHERE j.seq = 0 AND j.turn > COALESCE((SELECT number FROM turns WHERE turn_id = ${after ?? ""}), 0)
      ORDER BY j.turn LIMIT ${limit}`,
    Effect.forEach((row) =>
      Effect.map(TurnTable.endOf(row.payload, row), ({ endedAt }) => ({ turnId: row.turnId, endedAt }))
    )
  )

/**
 * The turns without a seal, of all conversations or of some, oldest first, each with its newest record.
 *
 * A start waits for this query, with ten thousand rows and more. All columns are text that was written from these types.
 */
export const unsealed = (
  sql: SqlClient.SqlClient,
  of?: ReadonlyArray<Ids.ConversationId>
): Effect.Effect<ReadonlyArray<Unsealed>, TableError> =>
  Effect.gen(function* () {
    const rows = yield* unsealedStatement(sql, of)
    const tails = yield* RecordTable.restored(
      sql,
      rows.map(({ turn_id }) => turn_id),
      rows.map(({ name, value }) => (name === null || value === null ? [] : [{ name, value }]))
    )
    return rows.map((row, i) => ({
      turnId: row.turn_id,
      conversationId: row.conversation_id,
      model: row.model,
      tail: tails[i]?.[0],
      records: (row.seq ?? -1) + 1,
      interruption: isPresent(row) ? InterruptionTable.read(row) : undefined
    }))
  })

/** The turns without a seal of each of some conversations, oldest first. */
export const unsealedOfEach =
  (sql: SqlClient.SqlClient) =>
  (ids: ReadonlyArray<Ids.ConversationId>): Effect.Effect<ReadonlyArray<ReadonlyArray<Unsealed>>, TableError> =>
    Effect.map(unsealed(sql, ids), (turns) => {
      const found = Map.groupBy(turns, ({ conversationId }) => conversationId)
      return ids.map((id) => found.get(id) ?? [])
    })

/** The query of `unsealed`. */
export const unsealedStatement = (
  sql: SqlClient.SqlClient,
  of: ReadonlyArray<Ids.ConversationId> | undefined
): Statement.Statement<UnsealedRow> => sql<UnsealedRow>`
  SELECT t.turn_id, c.conversation_id, COALESCE(t.model, c.model) AS model, j.seq, j.name, j.value, ${sql.literal(InterruptionTable.COLUMNS)}
  FROM turns t
  JOIN conversations c ON c.number = t.conversation
  LEFT JOIN interruptions i ON i.turn = t.number
  LEFT JOIN journal j ON j.turn = t.number AND j.seq = (SELECT max(seq) FROM journal WHERE turn = t.number)
  WHERE t.end_event_id IS NULL ${of === undefined ? sql`` : sql`AND ${Rows.have(sql, "c.conversation_id", of)}`} ORDER BY t.number`

/** Adds deaths by the moments at which they were found, in epoch milliseconds. */
export const addDeaths =
  (sql: SqlClient.SqlClient) =>
  (foundAt: ReadonlyArray<number>): Effect.Effect<ReadonlyArray<void>, SqlError.SqlError> =>
    Effect.forEach(foundAt, (at) =>
      Effect.asVoid(sql`INSERT INTO deaths ${sql.insert({ found_at: at })} ON CONFLICT DO NOTHING`)
    )

/** The moments at which deaths were found, from `since` on, earliest first. */
export const deaths = (
  sql: SqlClient.SqlClient,
  since: number
): Effect.Effect<ReadonlyArray<number>, SqlError.SqlError> =>
  Effect.map(
    sql<{ readonly found_at: number }>`SELECT found_at FROM deaths WHERE found_at >= ${since} ORDER BY found_at`,
    (rows) => rows.map(({ found_at }) => found_at)
  )

// --- internal

interface UnsealedRow extends Nullable<InterruptionTable.Row> {
  readonly turn_id: Ids.TurnId
  readonly conversation_id: Ids.ConversationId
  readonly model: string
  readonly seq: number | null
  readonly name: string | null
  readonly value: string | null
}

/** The columns of a row that may be missing. */
type Nullable<Row> = { readonly [Column in keyof Row]: Row[Column] | null }

const isPresent = (row: Nullable<InterruptionTable.Row>): row is InterruptionTable.Row => row.life !== null

interface SealedRow {
  readonly turnId: Ids.TurnId
  readonly conversationId: Ids.ConversationId
  readonly payload: string
}
