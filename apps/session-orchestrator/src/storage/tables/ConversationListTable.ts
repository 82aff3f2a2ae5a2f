/** Pages of conversations, by the index of their creation (`Lists`). */
import { Rows, type TableError } from "@holdfast/journal/sql"
import { Ids } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import { type ConversationFilter, type ConversationRow, type Page, type Position, PROMPT_CHARACTERS } from "../Lists.ts"
import * as HeldCallIds from "../HeldCallIds.ts"
import * as Keyset from "./Keyset.ts"
import * as LabelTable from "./LabelTable.ts"

/** A page of conversations. */
export const page = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  filter: ConversationFilter,
  after: Position | undefined,
  limit: number
): Effect.fn.Return<Page<ConversationRow>, TableError> {
  const found = yield* keys(sql, filter, after, limit)
  return { rows: yield* rowsOf(sql, found.rows), next: found.next }
})

/** The keys of a page. */
export const keys = (
  sql: SqlClient.SqlClient,
  filter: ConversationFilter,
  after: Position | undefined,
  limit: number
): Effect.Effect<Page<Keyset.Key>, SqlError.SqlError> =>
  Keyset.page(sql, (after) => keysOf(sql, filter, after), matching(sql, filter) !== undefined, after, limit)

/** The statement that reads them, up to its limit: what tests ask the plan of. */
export const keysOf = (
  sql: SqlClient.SqlClient,
  filter: ConversationFilter,
  after: Position | undefined
): Statement.Fragment => {
  const { tag } = filter
  const matches = matching(sql, filter)
  if (tag !== undefined) {
    return sql`SELECT ${Keyset.columns(sql, "c.created_at", "g.conversation", matches)}
      ${LabelTable.tagged(sql, "conversation", tag, after)} ORDER BY g.conversation DESC`
  }
  const lately = filter.since === undefined ? sql.literal("") : sql`AND c.created_at >= ${filter.since}`
  return sql`SELECT ${Keyset.columns(sql, "c.created_at", "c.number", matches)} FROM conversations c
    WHERE ${Keyset.behind(sql, "c.created_at", "c.number", after)} ${lately}
      AND c.conversation_id NOT LIKE ${`${HeldCallIds.PREFIX}%`}
    ORDER BY c.created_at DESC, c.number DESC`
}

// --- internal

const matching = (
  sql: SqlClient.SqlClient,
  { model, search, since, tag }: ConversationFilter
): Statement.Fragment | undefined => {
  const conditions = [
    ...(model === undefined ? [] : [Keyset.ofModel(sql, "c.model", model)]),
    ...(tag === undefined || since === undefined ? [] : [sql`c.created_at >= ${since}`]),
    ...(search === undefined
      ? []
      : [
          // With a limit PostgreSQL steps into the index for each row, and does not read the whole table once.
          sql`(${Keyset.containsText(sql, "COALESCE(c.title, '')", search)} OR (
            SELECT 1 FROM turns t WHERE t.conversation = c.number AND ${Keyset.containsText(sql, "t.prompt", search)} LIMIT 1) = 1)`
        ])
  ]
  return conditions.length === 0 ? undefined : sql.and(conditions)
}

const Row = Schema.Struct({
  number: Schema.Finite,
  conversation_id: Ids.ConversationId,
  model: Schema.String,
  created_at: Schema.Finite,
  title: Schema.NullOr(Schema.String),
  last_turn_id: Schema.NullOr(Ids.TurnId),
  last_ended_at: Schema.NullOr(Schema.Finite),
  is_busy: Schema.Literals([0, 1])
})
const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))

/** The rows of keys, in their order. */
const rowsOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  keys: ReadonlyArray<Keyset.Key>
): Effect.fn.Return<ReadonlyArray<ConversationRow>, TableError> {
  if (keys.length === 0) return []
  const found = yield* decodeRows(
    yield* sql`
      SELECT ${Rows.number(sql, "c.number")} AS "number", c.conversation_id, c.model, c.created_at,
        COALESCE(c.title, (SELECT substr(t.prompt, 1, ${PROMPT_CHARACTERS}) FROM turns t
          WHERE t.conversation = c.number AND t.prompt IS NOT NULL ORDER BY t.number LIMIT 1)) AS title,
        (SELECT t.turn_id FROM turns t WHERE t.conversation = c.number ORDER BY t.number DESC LIMIT 1) AS last_turn_id,
        (SELECT t.ended_at FROM turns t WHERE t.conversation = c.number ORDER BY t.number DESC LIMIT 1) AS last_ended_at,
        -- Turns end in their order, so the newest one is the last that is open.
        CASE WHEN (SELECT t.end_event_id FROM turns t WHERE t.conversation = c.number ORDER BY t.number DESC LIMIT 1) IS NULL
          AND EXISTS (SELECT 1 FROM turns t WHERE t.conversation = c.number) THEN 1 ELSE 0 END AS is_busy
      FROM conversations c WHERE c.number IN (${Keyset.numbers(sql, keys)})`
  )
  const labels = yield* LabelTable.find(sql, "conversation", keys)
  const rows = new Map(found.map((row) => [row.number, row]))
  return keys.flatMap(({ at, number }): ReadonlyArray<ConversationRow> => {
    const row = rows.get(number)
    if (row === undefined) return []
    const { conversation_id: conversationId, created_at: createdAt, is_busy, last_turn_id, model } = row
    return [
      {
        position: { at, number },
        conversation: { conversationId, model, createdAt },
        title: row.title ?? undefined,
        lastTurnId: last_turn_id ?? undefined,
        lastEndedAt: row.last_ended_at ?? undefined,
        isBusy: is_busy === 1,
        labels: labels.get(number) ?? {}
      }
    ]
  })
})
