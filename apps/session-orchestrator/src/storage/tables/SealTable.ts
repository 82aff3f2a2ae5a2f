/** Reads which turns have a seal, across the tables of turns, events and journals. */
import { InterruptionTable, JournalTable, Rows, type TableError } from "@holdfast/journal/sql"
import type { Ids } from "@holdfast/wire"
import { Effect } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import type { Unsealed } from "../Stored.ts"
import * as RecordTable from "./RecordTable.ts"

/** The next turns after an id that have records and an end, with that end in epoch milliseconds. */
export const sealed = (
  sql: SqlClient.SqlClient,
  after: Ids.TurnId | undefined
): Effect.Effect<ReadonlyArray<JournalTable.SealedTurn>, SqlError.SqlError> =>
  sql<JournalTable.SealedTurn>`
    SELECT t.turn_id AS "turnId", t.ended_at AS "endedAt" FROM journal j JOIN turns t ON t.number = j.turn
    WHERE j.seq = 0 AND t.end_event_id IS NOT NULL AND j.turn > COALESCE((SELECT number FROM turns WHERE turn_id = ${after ?? ""}), 0)
    ORDER BY j.turn LIMIT ${JournalTable.FORGOTTEN_AT_ONCE}`

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
      new Map(rows.map(({ name, turnId, value }) => [turnId, name === null || value === null ? [] : [{ name, value }]]))
    )
    return rows.map(({ conversationId, model, name: _name, seq, turnId, value: _value, ...row }) => ({
      turnId,
      conversationId,
      model,
      tail: tails.get(turnId)?.[0],
      records: (seq ?? -1) + 1,
      interruption: isPresent(row) ? InterruptionTable.read(row) : undefined
    }))
  })

/** The same of the conversations that are meant: a runner has some of many. The ids of all come as one text, a third of the work of a row each. */
export const unsealedOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  isMeant?: (id: Ids.ConversationId) => boolean
): Effect.fn.Return<ReadonlyArray<Unsealed>, TableError> {
  if (isMeant === undefined) return yield* unsealed(sql)
  const [row] = yield* sql<{ readonly ids: string | null }>`
    SELECT string_agg(c.conversation_id, ' ') AS ids FROM turns t JOIN conversations c ON c.number = t.conversation WHERE t.end_event_id IS NULL`
  // No id has a space.
  const meant = (row?.ids?.split(" ") ?? []).filter((id): id is Ids.ConversationId => isMeant(id as Ids.ConversationId))
  return meant.length === 0 ? [] : yield* unsealed(sql, meant)
})

/** The query of `unsealed`. */
export const unsealedStatement = (
  sql: SqlClient.SqlClient,
  of: ReadonlyArray<Ids.ConversationId> | undefined
): Statement.Statement<UnsealedRow> => sql<UnsealedRow>`
  SELECT t.turn_id AS "turnId", c.conversation_id AS "conversationId", COALESCE(t.model, c.model) AS model,
    j.seq, j.name, j.value, ${sql.literal(InterruptionTable.SELECTED)}
  FROM turns t
  JOIN conversations c ON c.number = t.conversation
  LEFT JOIN interruptions i ON i.turn = t.number
  LEFT JOIN journal j ON j.turn = t.number AND j.seq = (SELECT max(seq) FROM journal WHERE turn = t.number)
  WHERE t.end_event_id IS NULL ${of === undefined ? sql`` : sql`AND ${Rows.have(sql, "c.conversation_id", of)}`} ORDER BY t.number`

// --- internal

interface UnsealedRow extends Pick<Unsealed, "turnId" | "conversationId" | "model">, Nullable<InterruptionTable.Row> {
  readonly seq: number | null
  readonly name: string | null
  readonly value: string | null
}

/** The columns of a row that may be missing. */
type Nullable<Row> = { readonly [Column in keyof Row]: Row[Column] | null }

const isPresent = (row: Nullable<InterruptionTable.Row>): row is InterruptionTable.Row => row.life !== null
