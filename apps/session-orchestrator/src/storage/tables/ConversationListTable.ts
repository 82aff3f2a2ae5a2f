/** Pages of conversations, by the index of their creation (`Lists`). */
import { Rows, type TableError } from "@holdfast/journal/sql"
import type { Ids } from "@holdfast/wire"
import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { ConversationFilter, ConversationRow, Page, Position } from "../ListPage.ts"
import * as HeldCallIds from "../HeldCallIds.ts"
import * as Keyset from "./Keyset.ts"
import * as LabelTable from "./LabelTable.ts"
import * as TurnTable from "./TurnTable.ts"

/** A page of conversations. */
export const page = (...asked: Parameters<typeof keys>): Effect.Effect<Page<ConversationRow>, TableError> =>
  Effect.flatMap(keys(...asked), ({ next, rows }) => Effect.map(rowsOf(asked[0], rows), (rows) => ({ rows, next })))

/** The statement that reads them, up to its limit: what tests ask the plan of. */
export const keysOf = (
  sql: SqlClient.SqlClient,
  filter: ConversationFilter,
  after: Position | undefined
): Statement.Fragment => {
  const { ids, isBusy, tag } = filter
  const matches = matching(sql, filter)
  if (isBusy === true) {
    return sql`SELECT ${Keyset.columns(sql, "t.number", "t.conversation", matches)}
      FROM turns t JOIN conversations c ON c.number = t.conversation
      WHERE t.end_event_id IS NULL AND ${Keyset.below(sql, "t.number", after && { at: 0, number: after.at })}
      ORDER BY t.number DESC`
  }
  if (ids !== undefined) {
    return sql`SELECT ${Keyset.columns(sql, "c.created_at", "c.number", matches)} FROM conversations c
      WHERE ${Rows.have(sql, "c.conversation_id", ids)} AND ${Keyset.behind(sql, "c.created_at", "c.number", after)}
      ORDER BY c.created_at DESC, c.number DESC`
  }
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

/** What no index of the statement answers. */
const matching = (
  sql: SqlClient.SqlClient,
  { ids, isBusy, model, search, since, tag }: ConversationFilter
): Statement.Fragment | undefined => {
  const isApart = isBusy === true || ids !== undefined
  return Keyset.matching(sql, [
    isApart &&
      tag !== undefined &&
      sql`EXISTS (SELECT 1 FROM conversation_tags g WHERE g.conversation = c.number AND g.tag = ${tag})`,
    isBusy === true && ids !== undefined && Rows.have(sql, "c.conversation_id", ids),
    isBusy === true &&
      sql`c.conversation_id NOT LIKE ${`${HeldCallIds.PREFIX}%`} AND NOT EXISTS (
        SELECT 1 FROM turns n WHERE n.conversation = t.conversation AND n.number > t.number AND n.end_event_id IS NULL)`,
    model !== undefined && Keyset.ofModel(sql, "c.model", model),
    since !== undefined && (tag !== undefined || isApart) && sql`c.created_at >= ${since}`,
    // With a limit PostgreSQL steps into the index for each row, and does not read the whole table once.
    search !== undefined &&
      sql`(${Keyset.containsText(sql, "COALESCE(c.title, '')", search)} OR (
        SELECT 1 FROM turns t WHERE t.conversation = c.number AND ${Keyset.containsText(sql, "t.prompt", search)} LIMIT 1) = 1)`
  ])
}

/** The keys of a page. */
export const keys = Keyset.pages({ keysOf, matching })

// --- internal

/** The columns were written from these types. */
interface Row extends LabelTable.Columns {
  readonly number: number
  readonly conversationId: Ids.ConversationId
  readonly model: string
  readonly createdAt: number
  readonly title: string | null
  readonly lastTurnId: Ids.TurnId | null
  readonly lastEndedAt: number | null
  readonly isBusy: number
}

/** The rows of keys, in their order. */
const rowsOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  keys: ReadonlyArray<Keyset.Key>
): Effect.fn.Return<ReadonlyArray<ConversationRow>, TableError> {
  const numbers = keys.map(({ number }) => number)
  const found = yield* sql<Row>`
    SELECT ${Rows.number(sql, "c.number")} AS "number", c.conversation_id AS "conversationId", c.model, c.created_at AS "createdAt",
      COALESCE(c.title, (SELECT substr(t.prompt, 1, ${Keyset.PROMPT_CHARACTERS}) FROM turns t
        WHERE t.conversation = c.number AND t.prompt IS NOT NULL ORDER BY t.number LIMIT 1)) AS title,
      last.turn_id AS "lastTurnId", last.ended_at AS "lastEndedAt", l.metadata, l.tags,
      -- Turns end in their order, but for those that are aborted in the queue: the newest other one is the last that is open.
      CASE WHEN last.number IS NOT NULL AND last.end_event_id IS NULL THEN 1 ELSE 0 END AS "isBusy"
    FROM conversations c LEFT JOIN conversation_labels l ON l.conversation = c.number
      LEFT JOIN turns last ON last.number = ${sql.literal(TurnTable.lastOf("c.number"))}
    WHERE ${Rows.have(sql, "c.number", numbers)}`
  const rows = yield* Effect.forEach(found, (row) =>
    Effect.map(LabelTable.read(row), (labels) => {
      const { conversationId, createdAt, model, number } = row
      const title = row.title ?? undefined
      const [lastTurnId, lastEndedAt] = [row.lastTurnId ?? undefined, row.lastEndedAt ?? undefined]
      const conversation = { conversationId, model, createdAt }
      return [number, { conversation, title, lastTurnId, lastEndedAt, isBusy: row.isBusy === 1, labels }] as const
    })
  )
  return Keyset.rowsOf(keys, new Map(rows))
})
