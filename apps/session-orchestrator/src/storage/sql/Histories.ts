/**
 * Reads the messages of conversations, of several at once: a history is read at every wake, with a hundred messages and more.
 *
 * - Messages of more than `LONG` bytes are read by themselves, one at a time over all turns: one query for sixty turns would have
 *   the files of all their conversations in memory.
 */
import { Rows, type SqlDatabase, type TableError } from "@holdfast/journal/sql"
import type { Ids, Message, TurnEvent } from "@holdfast/wire"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import * as EventTable from "../tables/EventTable.ts"
import * as EventText from "../tables/EventText.ts"

/** Reads the messages of a conversation, oldest first, without those of a turn. */
export type Histories = (
  id: Ids.ConversationId,
  except?: Ids.TurnId
) => Effect.Effect<ReadonlyArray<Message.Message>, TableError>

/** Makes the read, with its queues. */
export const make = Effect.fnUntraced(function* ({
  sql,
  together
}: Pick<SqlDatabase.SqlDatabase, "sql" | "together">): Effect.fn.Return<Histories> {
  const entries = yield* together(AT_ONCE, entriesOf(sql))
  const long = yield* together(1, (of: ReadonlyArray<Entry>) =>
    Effect.map(
      Effect.forEach(of, (entry) => EventTable.at(sql, entry)),
      (found) => new Map(of.map((entry, i) => [entry, found[i] ?? []]))
    )
  )
  return (id, except) =>
    Effect.flatMap(entries(id), (entries = []) => {
      const wanted = entries.filter(({ turnId }) => turnId !== except)
      const found = wanted.flatMap(({ message }) => message ?? [])
      if (found.length === wanted.length) return Effect.succeed(found)
      // A long one may have been deleted with its conversation.
      const whole = Effect.forEach(wanted, (entry) =>
        entry.message === undefined
          ? Effect.map(long(entry), (events = []) =>
              events.flatMap(({ event }) => (event.type === "message" ? [event.message] : []))
            )
          : Effect.succeed([entry.message])
      )
      return Effect.map(whole, (messages) => messages.flat())
    })
})

// --- internal

/** Conversations whose messages are read in one query: some ten milliseconds of the thread when they have a hundred each. */
const AT_ONCE = 64

/** Bytes of a message, or of the prompt that it stands for: most messages of text are shorter. */
const LONG = 64 * 1024

const NO_MESSAGE = "A stored text is not that of a message"

/** A message of a history, by the event that it is in; `undefined`: it is long. */
interface Entry {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  readonly id: number
  readonly message: Message.Message | undefined
}

/** The columns were written from these types; null where the message is long. */
interface Row extends Omit<Entry, "message">, EventText.Opening {
  readonly payload: string | null
}

const entriesOf =
  (sql: SqlClient.SqlClient) =>
  (
    ids: ReadonlyArray<Ids.ConversationId>
  ): Effect.Effect<ReadonlyMap<Ids.ConversationId, ReadonlyArray<Entry>>, TableError> => {
    // The length of a column is read without its text.
    const size =
      "CASE octet_length(e.payload) WHEN 0 THEN COALESCE(octet_length(p.content), octet_length(t.prompt), 0) ELSE octet_length(e.payload) END"
    const short = (column: string) => sql.literal(`CASE WHEN ${size} <= ${LONG} THEN ${column} END`)
    const rows = sql<Row>`
      SELECT c.conversation_id AS "conversationId", t.turn_id AS "turnId", e.event_id AS id, t.accepted_at AS "acceptedAt",
        ${short("e.payload")} AS payload, ${short("CASE e.payload WHEN '' THEN t.prompt END")} AS prompt, ${short("p.content")} AS content
      FROM conversations c JOIN events e ON e.conversation = c.number JOIN turns t ON t.number = e.turn
        LEFT JOIN turn_prompts p ON p.turn = e.turn AND octet_length(e.payload) = 0
      WHERE ${Rows.have(sql, "c.conversation_id", ids)} AND e.type = 'message' ORDER BY e.conversation, e.event_id`
    return Effect.flatMap(rows, (rows) => {
      const entries: Array<Entry> = []
      for (const row of rows) {
        const { conversationId, id, payload, turnId } = row // to spread a row of SQLite costs more than its query
        const json =
          payload === null ? undefined : EventText.unpack(payload, { conversationId, turnId, type: "message" }, row)
        const message = json === undefined ? undefined : parsed(json)
        if (message === null) return Effect.flatMap(EventTable.decode(json), () => Effect.die(new Error(NO_MESSAGE)))
        entries.push({ conversationId, turnId, id, message })
      }
      return Effect.succeed(Map.groupBy(entries, ({ conversationId }) => conversationId))
    })
  }

/** The message of an event, as it was written; null: it cannot be parsed. */
const parsed = (json: string): Message.Message | null => {
  try {
    const { message }: Partial<TurnEvent.MessageEvent> = JSON.parse(json)
    return message ?? null
  } catch {
    return null
  }
}
