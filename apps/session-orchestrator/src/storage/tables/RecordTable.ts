/**
 * Reads and writes the records of turns, an answer's content without a copy of its own.
 *
 * The record of an answered attempt is written with the `message` event that has the same content. It is stored as a reference: `=`, the
 * position of that event, and the text behind the content. Both directions only cut and join text, so a record comes back as it was, to the
 * byte. A record without such an event is stored whole.
 */
import { RecordedWait } from "@holdfast/journal"
import { JournalTable, Rows, type TableError } from "@holdfast/journal/sql"
import type { Records } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import * as EventTable from "./EventTable.ts"

/** The names of the journal's tables in the service's database. */
export const TABLES = { turns: "turns", journal: "journal", interruptions: "interruptions" } as const

/** A record as it is stored with these events. */
export const pack =
  ({ events, position }: Pick<EventTable.Append, "events" | "position">) =>
  (record: Records.Stored): Records.Stored => {
    const { name, value } = record
    if (!value.startsWith(HEAD)) return record
    for (const [i, { event, json }] of events.entries()) {
      const content = event.type === "message" ? contentOf(json) : undefined
      if (content !== undefined && value.startsWith(`${content},`, HEAD.length))
        return { name, value: `${REFERENCE}${position + i}${value.slice(HEAD.length + content.length)}` }
    }
    return record
  }

/** The records of turns, oldest first. */
export const load = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.TurnId>,
  where = sql.literal(""),
  most = ANY
): Effect.Effect<Loaded, TableError> =>
  Effect.flatMap(JournalTable.load(sql, TABLES, ids, where), (turns) => restored(sql, turns, most))

/** The same without long results of tools and the content of long answers: enough for a turn's state, attempts, waits and usage. */
export const outlines = (sql: SqlClient.SqlClient, ids: ReadonlyArray<Ids.TurnId>) =>
  load(
    sql,
    ids,
    sql`AND NOT (j.name LIKE 'step/%/tool/%' AND octet_length(j.value) > ${sql.literal(String(LONG))})`,
    LONG
  )

/** Whether a turn of a conversation has a command on record. */
export const hasCommand = (
  sql: SqlClient.SqlClient,
  conversationId: Ids.ConversationId,
  commandId: string
): Effect.Effect<boolean, SqlError.SqlError> =>
  Effect.map(
    sql<Records.Stored>`
      SELECT j.name, j.value FROM conversations c JOIN turns t ON t.conversation = c.number JOIN journal j ON j.turn = t.number
      WHERE c.conversation_id = ${conversationId} AND j.name LIKE 'step/%/sleep/%'
        AND j.value LIKE ${`%"commandId":"${commandId}"%`}`,
    // An underscore of an id stands for any character there.
    (rows) => RecordedWait.commandIdsOf(rows).includes(commandId)
  )

/** Restores the content of answers in records; content in events of more than `most` bytes becomes an empty list. */
export const restored = (
  sql: SqlClient.SqlClient,
  turns: Loaded,
  most: number = LONG
): Effect.Effect<Loaded, SqlError.SqlError> => {
  const refers = (records: ReadonlyArray<Records.Stored>) => records.some(({ value }) => value.startsWith(REFERENCE))
  const referring = Array.from(turns).flatMap(([id, records]) => (refers(records) ? [id] : []))
  if (referring.length === 0) return Effect.succeed(turns)
  return Effect.map(
    sql<Answer>`
      SELECT t.turn_id AS "turnId", e.position, CASE WHEN octet_length(e.payload) <= ${most} THEN e.payload END AS payload
      FROM turns t JOIN events e ON e.conversation = t.conversation AND e.event_id > t.after_event_id AND e.turn = t.number
      WHERE ${Rows.have(sql, "t.turn_id", referring)} AND e.event_id <= COALESCE(t.end_event_id, ${EventTable.MAX_ID})
        AND e.type = 'message' AND ${EventTable.isAnswer(sql, "e.payload")}`,
    (answers) => {
      const contents = new Map(
        answers.map(({ payload, position, turnId }) => [
          `${turnId}/${position}`,
          payload === null ? "[]" : contentOf(payload)
        ])
      )
      const whole = (id: Ids.TurnId, record: Records.Stored): Records.Stored => {
        const [reference, position] = POSITION.exec(record.value) ?? []
        const content = contents.get(`${id}/${position}`)
        // Without its event the database is damaged, and so is the record for its reader.
        if (reference === undefined || content === undefined) return record
        return { name: record.name, value: `${HEAD}${content}${record.value.slice(reference.length)}` }
      }
      return new Map(Array.from(turns, ([id, records]) => [id, records.map((record) => whole(id, record))]))
    }
  )
}

/** Records by their turns. */
type Loaded = ReadonlyMap<Ids.TurnId, ReadonlyArray<Records.Stored>>

// --- internal

/** Bytes of a value that an outline leaves out: those of most texts are fewer. */
const LONG = 8 * 1024

/** PostgreSQL's largest INTEGER: no value is longer. */
const ANY = 2_147_483_647

/** Begins a reference; no JSON does. */
const REFERENCE = "="
const POSITION = /^=(\d+)/

/** What an answered attempt has before its content (`Records.AttemptOutcome`). */
const HEAD = '{"_tag":"Completed","content":'

interface Answer {
  readonly turnId: Ids.TurnId
  readonly position: number
  readonly payload: string | null
}

/**
 * The content in the text of an assistant's message, whole or as `EventText` shortens it. Nothing before it has such a key, and nothing behind
 * the message's own target has another.
 */
const contentOf = (json: string): string | undefined => {
  const from = json.indexOf(CONTENT)
  const to = json.lastIndexOf(TARGET)
  return from < 0 || to < from ? undefined : json.slice(from + CONTENT.length, to)
}

const CONTENT = '"content":'
const TARGET = ',"target":{"provider":'
