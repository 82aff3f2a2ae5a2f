/**
 * Pages of turns, each by the index of its order (`Lists`).
 *
 * | asked for | index | ordered by |
 * |---|---|---|
 * | `completed`, `failed` or `aborted` | `turns_by_end` | end |
 * | `open` | `turns_unsealed` | acceptance |
 * | all | `turns_by_acceptance` | acceptance |
 * | a conversation, and anything else | `turns_by_conversation` | acceptance |
 * | a tag, and anything else | the key of `turn_tags` | acceptance |
 */
import { Rows, type TableError } from "@holdfast/journal/sql"
import { type Ids, type Labels, Message } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import { type Page, type Position, PROMPT_CHARACTERS, type TurnFilter, type TurnRow } from "../Lists.ts"
import * as EventTable from "./EventTable.ts"
import * as EventText from "./EventText.ts"
import * as Keyset from "./Keyset.ts"
import * as LabelTable from "./LabelTable.ts"
import * as TurnTable from "./TurnTable.ts"

/** A page of turns. */
export const page = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  filter: TurnFilter,
  after: Position | undefined,
  limit: number
): Effect.fn.Return<Page<TurnRow>, TableError> {
  const found = yield* keys(sql, filter, after, limit)
  const rows = yield* rowsOf(sql, found.rows)
  const { search } = filter
  return { rows: search === undefined ? rows : yield* confirm(sql, rows, search), next: found.next }
})

/** The labels of one turn. */
export const labelsOf = (sql: SqlClient.SqlClient, turnId: Ids.TurnId): Effect.Effect<Labels.Labels, TableError> =>
  Effect.gen(function* () {
    const rows = yield* sql<{ readonly number: number }>`
      SELECT ${Rows.number(sql, "number")} AS "number" FROM turns WHERE turn_id = ${turnId}`
    const [labels = {}] = (yield* LabelTable.find(sql, "turn", rows)).values()
    return labels
  })

/** The keys of a page. */
export const keys = (
  sql: SqlClient.SqlClient,
  filter: TurnFilter,
  after: Position | undefined,
  limit: number
): Effect.Effect<Page<Keyset.Key>, SqlError.SqlError> =>
  Keyset.page(sql, (after) => keysOf(sql, filter, after), matching(sql, filter) !== undefined, after, limit)

/** The statement that reads them, up to its limit: what tests ask the plan of. */
export const keysOf = (
  sql: SqlClient.SqlClient,
  filter: TurnFilter,
  after: Position | undefined
): Statement.Fragment => {
  const { since, status } = filter
  const matches = matching(sql, filter)
  if (filter.tag !== undefined) {
    return sql`SELECT ${Keyset.columns(sql, "t.accepted_at", "g.turn", matches)}
      ${LabelTable.tagged(sql, "turn", filter.tag, after)} ORDER BY g.turn DESC`
  }
  const select = (at: string) => sql`SELECT ${Keyset.columns(sql, at, "t.number", matches)} FROM turns t`
  if (filter.conversationId !== undefined) {
    return sql`${select("t.accepted_at")}
      WHERE t.conversation = (SELECT c.number FROM conversations c WHERE c.conversation_id = ${filter.conversationId})
        AND ${Keyset.below(sql, "t.number", after)} ORDER BY t.number DESC`
  }
  if (status === "open") {
    // Those that have not ended are few, and read in the order of their numbers alone.
    const lately = since === undefined ? sql.literal("") : sql`AND t.accepted_at >= ${since}`
    return sql`${select("t.accepted_at")} WHERE t.end_event_id IS NULL AND ${Keyset.below(sql, "t.number", after)} ${lately}
      ORDER BY t.number DESC`
  }
  if (status !== undefined) {
    const lately = since === undefined ? sql.literal("") : sql`AND t.ended_at >= ${since}`
    return sql`${select("t.ended_at")} WHERE t.status = ${status} AND ${Keyset.behind(sql, "t.ended_at", "t.number", after)}
      ${lately} ORDER BY t.ended_at DESC, t.number DESC`
  }
  const lately = since === undefined ? sql.literal("") : sql`AND t.accepted_at >= ${since}`
  return sql`${select("t.accepted_at")} WHERE ${Keyset.behind(sql, "t.accepted_at", "t.number", after)} ${lately}
    ORDER BY t.accepted_at DESC, t.number DESC`
}

/**
 * Whether a turn `t` may contain the text. A message is on disk as JSON: the database finds all messages that contain the text, and some that have
 * it elsewhere, in a key or an id. `confirm` drops these, for the rows of a page alone.
 */
const contains = (sql: SqlClient.SqlClient, search: string): Statement.Fragment =>
  // With a limit PostgreSQL steps into the index for each row, and does not read the whole table once.
  sql`(${Keyset.containsText(sql, "t.prompt", search)} OR (
    SELECT 1 FROM events m WHERE ${messagesOf(sql)} AND ${Keyset.containsJson(sql, "m.payload", search)} LIMIT 1) = 1)`

/** Those of some rows whose prompt or answer contains the text: tool calls and their results are neither. */
const confirm = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  rows: ReadonlyArray<TurnRow>,
  search: string
): Effect.fn.Return<ReadonlyArray<TurnRow>, TableError> {
  // Without events a turn has its prompt alone.
  const isClear = ({ hasEvents, turn }: TurnRow) => !hasEvents || Keyset.isWithin(turn.prompt ?? "", search)
  const unclear = new Map(rows.flatMap((row) => (isClear(row) ? [] : [[row.position.number, row.turn] as const])))
  if (unclear.size === 0) return rows
  const found = yield* decodeRows(yield* candidates(sql, [...unclear.keys()], search))
  const confirmed = new Set<number>()
  for (const { number, payload } of found) {
    const turn = unclear.get(number)
    if (turn === undefined || confirmed.has(number)) continue
    // An empty text stands for the prompt, in which the database has found it.
    if (payload === "") confirmed.add(number)
    else {
      const { message } = yield* decodeMessage(
        EventText.unpackMessage(payload, turn.turnId, { ...turn, content: null })
      )
      if (Keyset.isWithin(textOf(message), search)) confirmed.add(number)
    }
  }
  return rows.filter((row) => isClear(row) || confirmed.has(row.position.number))
})

/** Reads the messages of turns that may contain the text: what tests ask the plan of. */
export const candidates = (
  sql: SqlClient.SqlClient,
  numbers: ReadonlyArray<number>,
  search: string
): Statement.Statement<object> => {
  const keys = numbers.map((number) => ({ number }))
  return sql`SELECT ${Rows.number(sql, "t.number")} AS "number", m.payload
    FROM turns t JOIN events m ON ${messagesOf(sql)}
    WHERE t.number IN (${Keyset.numbers(sql, keys)})
      AND (${Keyset.containsJson(sql, "m.payload", search)} OR (m.payload = '' AND ${Keyset.containsText(sql, "t.prompt", search)}))`
}

// --- internal

/** What no index answers: a row to be looked at by its key, at most `SCAN` of them. */
const matching = (sql: SqlClient.SqlClient, filter: TurnFilter): Statement.Fragment | undefined => {
  const conditions = [ofRow(sql, filter), ofModel(sql, filter), ofSearch(sql, filter)].filter(
    (condition) => condition !== undefined
  )
  return conditions.length === 0 ? undefined : sql.and(conditions)
}

/** Of a list by tag or by conversation, what the other indexes would answer. */
const ofRow = (
  sql: SqlClient.SqlClient,
  { conversationId, since, status, tag }: TurnFilter
): Statement.Fragment | undefined => {
  if ((tag === undefined && conversationId === undefined) || (since === undefined && status === undefined))
    return undefined
  if (status === undefined) return sql`t.accepted_at >= ${since ?? 0}`
  return status === "open"
    ? sql`(t.end_event_id IS NULL AND t.accepted_at >= ${since ?? 0})`
    : sql`(t.status = ${status} AND t.ended_at >= ${since ?? 0})`
}

const ofModel = (sql: SqlClient.SqlClient, { model, status }: TurnFilter): Statement.Fragment | undefined => {
  if (model === undefined || status === "open") return undefined
  const to = (name: string) => sql`last.change LIKE ${`%"to":"${Keyset.escaped(name)}%`} ESCAPE '!'`
  const ofConversation = Keyset.ofModel(
    sql,
    "COALESCE(t.model, (SELECT c.model FROM conversations c WHERE c.number = t.conversation))",
    model
  )
  // With a limit the change is read once a row, not once for each comparison.
  return sql`(SELECT 1 FROM (SELECT COALESCE(${changeOf(sql)}, '') AS change LIMIT 1) AS last
    WHERE CASE last.change WHEN '' THEN ${ofConversation} ELSE ${to(`${model}"`)} OR ${to(`${model}/`)} END) = 1`
}

const ofSearch = (sql: SqlClient.SqlClient, { search }: TurnFilter): Statement.Fragment | undefined =>
  search === undefined ? undefined : contains(sql, search)

/** The last change of the model that a turn made, as it is on disk: by `events_model_change`, however long its conversation is. */
const changeOf = (sql: SqlClient.SqlClient): Statement.Fragment => sql`(
  SELECT m.payload FROM events m WHERE m.turn = t.number AND m.type = 'model-change' ORDER BY m.event_id DESC LIMIT 1)`

const Extra = Schema.Struct({
  at: Schema.Finite,
  number: Schema.Finite,
  model: Schema.String,
  change: Schema.NullOr(Schema.String),
  has_events: Schema.Finite,
  ...LabelTable.COLUMNS
})
const decodeExtras = Schema.decodeUnknownEffect(Schema.Array(Extra))

/** The rows of keys, in their order. */
const rowsOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  keys: ReadonlyArray<Keyset.Key>
): Effect.fn.Return<ReadonlyArray<TurnRow>, TableError> {
  if (keys.length === 0) return []
  const found = yield* sql`
    SELECT t.turn_id, c.conversation_id, substr(t.prompt, 1, ${PROMPT_CHARACTERS}) AS prompt, t.accepted_at,
      e.payload AS end_event, ${Rows.number(sql, "t.number")} AS "number", 0 AS "at", COALESCE(t.model, c.model) AS model,
      ${changeOf(sql)} AS change,
      CASE WHEN EXISTS (
        SELECT 1 FROM events f WHERE f.conversation = t.conversation AND f.event_id > t.after_event_id AND f.turn = t.number
      ) THEN 1 ELSE 0 END AS has_events, l.metadata, l.tags
    FROM ${sql.literal(TurnTable.TABLES)} LEFT JOIN turn_labels l ON l.turn = t.number
    WHERE t.number IN (${Keyset.numbers(sql, keys)})`
  const turns = yield* TurnTable.read(found)
  const extras = yield* decodeExtras(found)
  const rows = new Map(extras.map(({ number, ...extra }, i) => [number, { ...extra, turn: turns[i] }]))
  return keys.flatMap(({ at, number }): ReadonlyArray<TurnRow> => {
    const row = rows.get(number)
    if (row?.turn === undefined) return []
    return [
      {
        position: { at, number },
        turn: row.turn,
        model: row.change === null ? row.model : (changedTo(row.change) ?? row.model),
        hasChangedModel: row.change !== null,
        hasEvents: row.has_events === 1,
        labels: LabelTable.labelsOf(row)
      }
    ]
  })
})

/** Where a change went to. What was written of it has `to` behind everything that could look like it. */
const changedTo = (payload: string): string | undefined => {
  const text = payload.startsWith("{") ? payload : `{"type":"model-change"${payload}`
  const event: unknown = JSON.parse(text)
  return typeof event === "object" && event !== null && "to" in event && typeof event.to === "string"
    ? event.to
    : undefined
}

/** The messages `m` of a turn `t` that are not results of tools. In a long conversation many events may follow the turn. */
const messagesOf = (sql: SqlClient.SqlClient): Statement.Fragment =>
  sql`m.conversation = t.conversation AND m.event_id > t.after_event_id
    AND m.event_id <= COALESCE(t.end_event_id, ${EventTable.MAX_ID}) AND m.turn = t.number AND m.type = 'message'
    AND substr(m.payload, 1, 5) <> 'tool.'`

/** What a person or a model wrote in a message. */
const textOf = (message: Message.Message): string =>
  message.role === "tool" ? "" : message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")

const Row = Schema.Struct({ number: Schema.Finite, payload: Schema.String })
const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))
const decodeMessage = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Struct({ message: Message.Message })))
