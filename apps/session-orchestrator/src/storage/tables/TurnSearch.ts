/**
 * Finds turns by a text in their prompt or in an answer.
 *
 * TurnSearch.S1. A message is on disk as JSON. The database finds all messages that contain the text, and some that have it elsewhere, in
 *     a key or an id; `confirm` drops these, for the rows of a page alone.
 */
import { Rows, type TableError } from "@holdfast/journal/sql"
import { Message } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { TurnRow } from "../Lists.ts"
import * as EventTable from "./EventTable.ts"
import * as EventText from "./EventText.ts"
import * as Keyset from "./Keyset.ts"

/** Whether a turn `t` may contain the text (TurnSearch.S1). */
export const condition = (sql: SqlClient.SqlClient, search: string): Statement.Fragment =>
  // With a limit PostgreSQL steps into the index for each row, and does not read the whole table once.
  sql`(${Keyset.containsText(sql, "t.prompt", search)} OR (
    SELECT 1 FROM events m WHERE ${messagesOf(sql)} AND ${Keyset.containsJson(sql, "m.payload", search)} LIMIT 1) = 1)`

/** Those of some rows whose prompt or answer contains the text: tool calls and their results are neither. */
export const confirm = Effect.fnUntraced(function* (
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
