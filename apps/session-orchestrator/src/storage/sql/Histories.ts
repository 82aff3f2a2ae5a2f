/**
 * Reads the messages of conversations, of several at once.
 *
 * A history is read each time a turn is taken up. So the database joins its short messages into one row, and their JSON is parsed at once; it
 * was written from the type that it is read as.
 *
 * Histories.H1. Messages of more than `LONG` bytes are left out of the joined row: one string cannot hold the files of a long conversation.
 *     They are read in batches of at most `BATCH` bytes, one batch at a time over all turns; a longer message is a batch of its own.
 */
import { Rows, type SqlDatabase, type TableError } from "@holdfast/journal/sql"
import type { Ids, Message } from "@holdfast/wire"
import { Array as Arr, Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import * as EventTable from "../tables/EventTable.ts"
import * as EventText from "../tables/EventText.ts"
import * as TurnTable from "../tables/TurnTable.ts"

/** Bytes of a message, or of a prompt, that is read by itself: most messages of text are shorter. */
export const LONG = 64 * 1024

/** A history as it is read with others; `undefined`: its text is damaged. */
export type Outline = ReadonlyArray<Entry> | undefined

/** A history in a row; null: it has no messages. */
export interface Row {
  readonly conversationId: Ids.ConversationId
  readonly history: string | null
}

/** A column `history`: the messages that meet a condition on `m`, a line for each. */
export const column = (sql: SqlClient.SqlClient, where: Statement.Fragment): Statement.Fragment =>
  // Texts are joined in the order of the inner query, which both databases keep. An order in the call would sort all of the text again.
  sql`(SELECT ${joined(sql, "line", "'\n'")} FROM (
    SELECT CAST(m.turn AS TEXT) || ' ' || CASE WHEN octet_length(m.payload) BETWEEN 1 AND ${sql.literal(String(LONG))} THEN m.payload
      ELSE '@' || CAST(m.event_id AS TEXT) || ' ' || CAST(octet_length(m.payload) AS TEXT) END AS line
    FROM events m WHERE m.type = 'message' AND ${where} ORDER BY m.event_id) AS lines) AS history`

/** Joins texts; the function has a different name in each database. */
export const joined = (sql: SqlClient.SqlClient, column: string, by: string): Statement.Fragment =>
  sql.onDialectOrElse({
    pg: () => sql.literal(`string_agg(${column}, ${by})`),
    orElse: () => sql.literal(`group_concat(${column}, ${by})`)
  })

/** The histories in some rows. */
export const read = (
  sql: SqlClient.SqlClient,
  rows: ReadonlyArray<Row>
): Effect.Effect<ReadonlyArray<Outline>, TableError> => {
  const ids = rows.flatMap(({ conversationId, history }) => (history === null ? [] : [conversationId]))
  const facts = ids.length === 0 ? Effect.succeed(new Map<string, TurnFacts>()) : turnFactsOf(sql, ids)
  return Effect.map(facts, (facts) => rows.map(({ history }) => outlineOf(history, facts)))
}

/** Reads the messages that histories left out (Histories.H1). */
export const complete = Effect.fnUntraced(function* ({
  sql,
  together
}: Pick<SqlDatabase.SqlDatabase, "sql" | "together">) {
  const batch = yield* together(1, (batches: ReadonlyArray<Batch>) => Effect.forEach(batches, readBatch(sql)))
  const whole = yield* together(1, (ids: ReadonlyArray<Ids.ConversationId>) =>
    Effect.forEach(ids, (id) => EventTable.messages(sql, id))
  )
  return Effect.fnUntraced(function* (
    conversationId: Ids.ConversationId,
    outline: Outline
  ): Effect.fn.Return<ReadonlyArray<Message.Message>, TableError> {
    const found = new Map<number, Message.Message>()
    for (const eventIds of batchesOf(outline ?? [])) {
      const messages = yield* batch({ conversationId, eventIds })
      if (messages === undefined) return yield* whole(conversationId)
      for (const [eventId, message] of messages) found.set(eventId, message)
    }
    const messages = outline?.flatMap((entry) => messageOf(entry, found))
    // Decodes each event by itself, so that the error names the damaged event.
    return messages ?? (yield* whole(conversationId))
  })
})

// --- internal

/** Bytes of one batch: some ten milliseconds of the thread. */
const BATCH = 8 * 1024 * 1024

type Entry = { readonly message: Message.Message } | Omitted

/** A message that is read by itself. */
interface Omitted {
  readonly eventId: number
  readonly bytes: number
}

/** Messages of one conversation. */
interface Batch {
  readonly conversationId: Ids.ConversationId
  readonly eventIds: ReadonlyArray<number>
}

/** The facts of a turn's row that its messages leave out. */
interface TurnFacts {
  readonly number: string
  readonly turnId: Ids.TurnId
  readonly acceptedAt: number
  readonly prompt: string | null
  readonly content: string | null
  /** Of the prompt. A long one is left out. */
  readonly bytes: number
}

/** The turns of conversations, by their numbers. */
const turnFactsOf = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.ConversationId>
): Effect.Effect<ReadonlyMap<string, TurnFacts>, TableError> => {
  const short = (text: string) =>
    sql.literal(`CASE WHEN octet_length(${text}) <= ${LONG} THEN ${text} END AS ${text.slice(2)}`)
  return Effect.map(
    sql<TurnFacts>`
      SELECT CAST(t.number AS TEXT) AS number, t.turn_id AS "turnId", t.accepted_at AS "acceptedAt",
        ${short("t.prompt")}, ${short("p.content")}, COALESCE(octet_length(p.content), octet_length(t.prompt), 0) AS bytes
      FROM turns t LEFT JOIN turn_prompts p ON p.turn = t.number
      WHERE t.conversation IN (SELECT number FROM conversations WHERE ${Rows.have(sql, "conversation_id", ids)})`,
    (rows) => new Map(rows.map((row) => [row.number, row]))
  )
}

const outlineOf = (history: string | null, facts: ReadonlyMap<string, TurnFacts>): Outline => {
  if (history === null) return []
  const lines = history.split("\n").map((line) => lineOf(line, facts))
  try {
    const messages = EventText.parseMessages(
      lines.flatMap((line) => (line !== undefined && "packed" in line ? [line] : []))
    )
    let next = 0
    return lines.map((line): Entry => {
      if (line !== undefined && "eventId" in line) return line
      const message = messages[next++]
      if (message === undefined) throw new Error("A stored message has no turn.")
      return { message }
    })
  } catch {
    return undefined
  }
}

/** A message's stored text, or its place where that is left out; `undefined` without the row of its turn, which it refers to. */
const lineOf = (line: string, facts: ReadonlyMap<string, TurnFacts>): EventText.PackedMessage | Omitted | undefined => {
  const space = line.indexOf(" ")
  const turn = facts.get(line.slice(0, space))
  if (turn === undefined) return undefined
  const payload = line.slice(space + 1)
  const stored = (packed: string) => ({ packed, turnId: turn.turnId, opening: turn })
  const [, eventId, size] = OMITTED.exec(payload) ?? []
  if (eventId === undefined) return stored(payload)
  const bytes = size === "0" ? turn.bytes : Number(size)
  return bytes > LONG ? { eventId: Number(eventId), bytes } : stored("")
}

/** The place of a message in the joined row: its event and its bytes. A damaged text may begin with the sign alone. */
const OMITTED = /^@(\d+) (\d+)$/

function* batchesOf(entries: ReadonlyArray<Entry>): Generator<ReadonlyArray<number>> {
  let eventIds: Array<number> = []
  let sum = 0
  for (const entry of entries) {
    if ("message" in entry) continue
    if (eventIds.length > 0 && sum + entry.bytes > BATCH) {
      yield eventIds
      ;[eventIds, sum] = [[], 0]
    }
    eventIds.push(entry.eventId)
    sum += entry.bytes
  }
  if (eventIds.length > 0) yield eventIds
}

/** The messages of a batch, by their ids; `undefined`: one is damaged. */
const readBatch =
  (sql: SqlClient.SqlClient) =>
  ({
    conversationId,
    eventIds
  }: Batch): Effect.Effect<ReadonlyArray<readonly [number, Message.Message]> | undefined, TableError> =>
    Effect.map(
      sql<OmittedRow>`
        SELECT m.event_id AS "eventId", m.payload, t.turn_id AS "turnId", t.accepted_at AS "acceptedAt",
          CASE m.payload WHEN '' THEN t.prompt END AS prompt,
          CASE m.payload WHEN '' THEN ${sql.literal(TurnTable.PROMPT)} END AS content
        FROM conversations c JOIN events m ON m.conversation = c.number JOIN turns t ON t.number = m.turn
        WHERE c.conversation_id = ${conversationId} AND m.event_id IN ${sql.in(eventIds)}`,
      (rows) => {
        try {
          const messages = EventText.parseMessages(
            rows.map((row) => ({ packed: row.payload, turnId: row.turnId, opening: row }))
          )
          return Arr.zipWith(rows, messages, ({ eventId }, message) => [eventId, message])
        } catch {
          return undefined
        }
      }
    )

interface OmittedRow extends Omit<TurnFacts, "number" | "bytes"> {
  readonly eventId: number
  readonly payload: string
}

const messageOf = (entry: Entry, found: ReadonlyMap<number, Message.Message>): ReadonlyArray<Message.Message> => {
  const message = "message" in entry ? entry.message : found.get(entry.eventId)
  return message === undefined ? [] : [message] // It was deleted with its conversation between the two reads.
}
