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
import { Records } from "@holdfast/kernel"
import { Rows, type TableError } from "@holdfast/journal/sql"
import { type Ids, type Labels, Message, Target, type TurnEvent } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { Page, Position, TurnFilter, TurnRow } from "../ListPage.ts"
import * as ProviderName from "../../base/text/ProviderName.ts"
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
  Effect.flatMap(
    sql<LabelTable.Columns>`
      SELECT l.metadata, l.tags FROM turns t JOIN turn_labels l ON l.turn = t.number WHERE t.turn_id = ${turnId}`,
    ([row]) => (row === undefined ? Effect.succeed({}) : LabelTable.read(row))
  )

/** The statement that reads them, up to its limit: what tests ask the plan of. */
export const keysOf = (
  sql: SqlClient.SqlClient,
  filter: TurnFilter,
  after: Position | undefined
): Statement.Fragment => {
  const { conversationId, since, status, tag } = filter
  const matches = matching(sql, filter)
  if (tag !== undefined) {
    return sql`SELECT ${Keyset.columns(sql, "t.accepted_at", "g.turn", matches)}
      ${LabelTable.tagged(sql, "turn", tag, after)} ORDER BY g.turn DESC`
  }
  const isOfOne = conversationId !== undefined
  // Those that have not ended are few, and read in the order of their numbers alone.
  const isByNumber = isOfOne || status === "open"
  const at = isByNumber || status === undefined ? "t.accepted_at" : "t.ended_at"
  const of = isOfOne
    ? sql`t.conversation = (SELECT c.number FROM conversations c WHERE c.conversation_id = ${conversationId}) AND`
    : status === undefined
      ? sql``
      : sql`${withStatus(sql, status)} AND`
  const behind = isByNumber ? Keyset.below(sql, "t.number", after) : Keyset.behind(sql, at, "t.number", after)
  const lately = isOfOne || since === undefined ? sql`` : sql`AND ${sql.literal(at)} >= ${since}`
  return sql`SELECT ${Keyset.columns(sql, at, "t.number", matches)} FROM turns t WHERE ${of} ${behind} ${lately}
    ORDER BY ${sql.literal(isByNumber ? "" : `${at} DESC, `)} t.number DESC`
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
  const found = yield* candidates(sql, [...unclear.keys()], search)
  const confirmed = new Set<number>()
  for (const { number, payload } of found) {
    const turn = unclear.get(number)
    if (turn === undefined || confirmed.has(number)) continue
    // An empty text stands for the prompt, in which the database has found it.
    if (payload === "") confirmed.add(number)
    else {
      const json = EventText.unpack(payload, { ...turn, type: "message" }, undefined)
      const { message } = yield* decodeMessage(json)
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
): Statement.Statement<{ readonly number: number; readonly payload: string }> =>
  sql`SELECT ${Rows.number(sql, "t.number")} AS "number", m.payload
    FROM turns t JOIN events m ON ${messagesOf(sql)}
    WHERE ${Rows.have(sql, "t.number", numbers)}
      AND (${Keyset.containsJson(sql, "m.payload", search)} OR (m.payload = '' AND ${Keyset.containsText(sql, "t.prompt", search)}))`

/** What no index answers: a row to be looked at by its key, at most `SCAN` of them. */
const matching = (sql: SqlClient.SqlClient, filter: TurnFilter): Statement.Fragment | undefined =>
  Keyset.matching(sql, [
    ofRow(sql, filter),
    ofModel(sql, filter),
    filter.search !== undefined && contains(sql, filter.search)
  ])

/** The keys of a page. */
export const keys = Keyset.pages({ keysOf, matching })

// --- internal

/** Of a list by tag or by conversation, what the other indexes would answer. */
const ofRow = (
  sql: SqlClient.SqlClient,
  { conversationId, since, status, tag }: TurnFilter
): Statement.Fragment | undefined => {
  if ((tag === undefined && conversationId === undefined) || (since === undefined && status === undefined))
    return undefined
  if (status === undefined) return sql`t.accepted_at >= ${since ?? 0}`
  const at = sql.literal(status === "open" ? "t.accepted_at" : "t.ended_at")
  return sql`(${withStatus(sql, status)} AND ${at} >= ${since ?? 0})`
}

const withStatus = (sql: SqlClient.SqlClient, status: NonNullable<TurnFilter["status"]>): Statement.Fragment => {
  if (status === "open") return sql`t.end_event_id IS NULL`
  return status === "uncounted" ? sql`t.uncounted IS NOT NULL` : sql`t.status = ${status}`
}

const ofModel = (sql: SqlClient.SqlClient, { model, status }: TurnFilter): Statement.Fragment | undefined => {
  if (model === undefined || status === "open") return undefined
  const has = (text: string) => sql`last.place LIKE ${`%${Keyset.escaped(text)}%`} ESCAPE '!'`
  const ofConversation = Keyset.ofModel(
    sql,
    "COALESCE(t.model, (SELECT c.model FROM conversations c WHERE c.number = t.conversation))",
    model
  )
  const isThere = sql.or(
    ProviderName.namesOf(model).flatMap((name) => {
      const target = JSON.stringify(Target.parse(name) ?? { provider: name })
      return ['"', "/"].flatMap((end) => [has(`"to":"${name}${end}`), has(`"target":${target.slice(0, -2)}${end}`)])
    })
  )
  // With a limit the place is read once a row, not once for each comparison.
  return sql`(SELECT 1 FROM (SELECT COALESCE(${changeOf(sql)}, ${beginningOf(sql)}, '') AS place LIMIT 1) AS last
    WHERE CASE last.place WHEN '' THEN ${ofConversation} ELSE ${isThere} END) = 1`
}

/** The last change of the model that a turn made, as it is on disk: by `events_model_change`, however long its conversation is. */
const changeOf = (sql: SqlClient.SqlClient): Statement.Fragment => sql`(
  SELECT m.payload FROM events m WHERE m.turn = t.number AND m.type = 'model-change' ORDER BY m.event_id DESC LIMIT 1)`

/** Where a turn began: its first record, or the one behind the announcement of its last step. Null where it began at its own model, and without records. */
const beginningOf = (sql: SqlClient.SqlClient): Statement.Fragment => sql`(
  SELECT CASE j.name WHEN ${ROUTE} THEN j.value WHEN ${FINAL} THEN (
    SELECT k.value FROM journal k WHERE k.turn = t.number AND k.seq = 1 AND k.name = ${ROUTE}) END
  FROM journal j WHERE j.turn = t.number AND j.seq = 0)`

const [FINAL, ROUTE] = [Records.nameOf("Final", 0), Records.nameOf("Route", 0)]

/** The columns were written from these types. */
interface Row extends TurnTable.Row, LabelTable.Columns {
  readonly number: number
  /** What the turn was accepted with, whether or not its conversation has another one now. */
  readonly ownModel: string
  readonly change: string | null
  readonly beginning: string | null
  readonly hasEvents: number
}

/** The rows of keys, in their order. */
const rowsOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  keys: ReadonlyArray<Keyset.Key>
): Effect.fn.Return<ReadonlyArray<TurnRow>, TableError> {
  const numbers = keys.map(({ number }) => number)
  const found = yield* sql<Row>`
    SELECT t.turn_id AS "turnId", c.conversation_id AS "conversationId", substr(t.prompt, 1, ${Keyset.PROMPT_CHARACTERS}) AS prompt,
      t.accepted_at AS "acceptedAt", e.payload AS "endEvent", ${Rows.number(sql, "t.number")} AS "number",
      COALESCE(t.model, c.model) AS "ownModel", ${changeOf(sql)} AS change, ${beginningOf(sql)} AS beginning,
      CASE WHEN EXISTS (
        SELECT 1 FROM events f WHERE f.conversation = t.conversation AND f.event_id > t.after_event_id AND f.turn = t.number
      ) THEN 1 ELSE 0 END AS "hasEvents", l.metadata, l.tags
    FROM ${sql.literal(TurnTable.TABLES)} LEFT JOIN turn_labels l ON l.turn = t.number
    WHERE ${Rows.have(sql, "t.number", numbers)}`
  const rows = yield* Effect.forEach(found, (row) =>
    Effect.zipWith(TurnTable.read(row), LabelTable.read(row), (turn, labels) => {
      const { beginning, change, hasEvents, number } = row
      const model = beginning === null ? row.ownModel : begunAt(beginning)
      const changed = change === null ? {} : { model: changedTo(change, turn) ?? model, changedFrom: model }
      return [number, { turn, model, changedFrom: undefined, ...changed, hasEvents: hasEvents === 1, labels }] as const
    })
  )
  return Keyset.rowsOf(keys, new Map(rows))
})

/** Where a turn began. The record was written from this type. */
const begunAt = (json: string): string => {
  const { route }: Records.Beginning = JSON.parse(json)
  return Target.format(route.target)
}

/** Where a change went to. */
const changedTo = (payload: string, turn: TurnRow["turn"]): string | undefined => {
  const event: Partial<TurnEvent.ModelChange> = JSON.parse(
    EventText.unpack(payload, { ...turn, type: "model-change" }, undefined)
  )
  return event.to
}

/** The messages `m` of a turn `t` that are not results of tools. In a long conversation many events may follow the turn. */
const messagesOf = (sql: SqlClient.SqlClient): Statement.Fragment =>
  sql`m.conversation = t.conversation AND m.event_id > t.after_event_id
    AND m.event_id <= COALESCE(t.end_event_id, ${EventTable.MAX_ID}) AND m.turn = t.number AND m.type = 'message'
    AND substr(m.payload, 1, 5) <> 'tool.'`

/** What a person or a model wrote in a message. */
const textOf = (message: Message.Message): string =>
  message.role === "tool" ? "" : message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")

const decodeMessage = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Struct({ message: Message.Message })))
