/**
 * Reads and writes the records of turns, an answer's content without a copy of its own.
 *
 * The record of an answered attempt is written with the `message` event that has the same content. It is stored as a reference: `=`, the
 * position of that event, and the text behind the content. Both directions only cut and join text, so a record comes back as it was, to the
 * byte. A record without such an event is stored whole.
 */
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

/** The records of each turn, oldest first, in the order of the ids. */
export const load =
  (sql: SqlClient.SqlClient) =>
  (ids: ReadonlyArray<Ids.TurnId>): Effect.Effect<ReadonlyArray<ReadonlyArray<Records.Stored>>, TableError> =>
    Effect.flatMap(JournalTable.load(sql, TABLES)(ids), (turns) => restored(sql, ids, turns, Number.MAX_SAFE_INTEGER))

/** The same without long results of tools and the content of long answers: enough for a turn's state, attempts, waits and usage. */
export const outlines =
  (sql: SqlClient.SqlClient) =>
  (ids: ReadonlyArray<Ids.TurnId>): Effect.Effect<ReadonlyArray<ReadonlyArray<Records.Stored>>, TableError> =>
    Effect.flatMap(
      // The columns are text and NOT NULL, so there is nothing to decode.
      sql<Records.Stored & { readonly turnId: Ids.TurnId }>`
        SELECT t.turn_id AS "turnId", j.name, j.value FROM turns t JOIN journal j ON j.turn = t.number
        WHERE ${Rows.have(sql, "t.turn_id", ids)}
          AND NOT (j.name LIKE 'step/%/tool/%' AND octet_length(j.value) > ${sql.literal(String(LONG))})
        ORDER BY j.turn, j.seq`,
      (rows) => {
        const found = Map.groupBy(rows, ({ turnId }) => turnId)
        const turns = ids.map((id) => (found.get(id) ?? []).map(({ name, value }) => ({ name, value })))
        return restored(sql, ids, turns, LONG)
      }
    )

/**
 * Restores the content of answers in records of turns, in the order of the ids.
 *
 * @param most content in longer events becomes an empty list
 */
export const restored = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.TurnId>,
  turns: ReadonlyArray<ReadonlyArray<Records.Stored>>,
  most: number = LONG
): Effect.Effect<ReadonlyArray<ReadonlyArray<Records.Stored>>, SqlError.SqlError> => {
  const referring = ids.filter((_, i) => turns[i]?.some(({ value }) => value.startsWith(REFERENCE)))
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
      return turns.map((records, i) =>
        records.map((record) => {
          const [reference, position] = POSITION.exec(record.value) ?? []
          if (reference === undefined) return record
          const content = contents.get(`${ids[i]}/${position}`)
          // Without its event the database is damaged, and so is the record for its reader.
          if (content === undefined) return record
          return { name: record.name, value: `${HEAD}${content}${record.value.slice(reference.length)}` }
        })
      )
    }
  )
}

// --- internal

/** Bytes of a value that an outline leaves out: those of most texts are fewer. */
const LONG = 8 * 1024

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
