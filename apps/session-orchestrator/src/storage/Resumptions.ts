/**
 * What turns that are about to run need of the disk, for several of them at once.
 *
 * Every turn comes by here each time it is taken up, with all the messages of its conversation. So a history is one row, put
 * together by the database, and its JSON is parsed in one go; it was written from the type that it is read as.
 */
import type { Ids, Message, TurnEvent } from "@holdfast/wire"
import { Effect, type Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import * as ConversationTable from "./ConversationTable.ts"
import * as EventTable from "./EventTable.ts"
import * as EventText from "./EventText.ts"
import * as IdList from "./IdList.ts"
import type { Resumption } from "./Store.ts"
import * as TurnTable from "./TurnTable.ts"

type Failure = SqlError.SqlError | Schema.SchemaError

/** Conversations whose messages are read in one query: some ten milliseconds of the thread when they have a hundred each. */
export const AT_ONCE = 64

/** What each of these turns goes on with; `undefined` for one that was never accepted. */
export const find =
  (sql: SqlClient.SqlClient) =>
  (ids: ReadonlyArray<Ids.TurnId>): Effect.Effect<ReadonlyArray<Resumption | undefined>, Failure> =>
    Effect.gen(function* () {
      const turns = yield* TurnTable.findAll(sql, ids)
      const conversationIds = turns.map(({ conversationId }) => conversationId)
      const conversations = yield* ConversationTable.findAll(sql, conversationIds)
      const histories = yield* historiesOf(sql, conversationIds)
      const persisted = yield* persistedOf(sql, ids)
      const known = new Map(turns.map((turn) => [turn.turnId, turn]))
      return ids.map((id) => {
        const turn = known.get(id)
        const conversation = turn && conversations.get(turn.conversationId)
        if (turn === undefined || conversation === undefined) return undefined
        const messages = histories.get(turn.conversationId) ?? []
        return {
          turn,
          conversation,
          history: messages.filter((message) => message.turnId !== id),
          persisted: persisted.get(id) ?? []
        }
      })
    })

// --- internal

/** Several texts as one, in an order. Both databases have it, under different names. */
const joined = (sql: SqlClient.SqlClient, column: string, by: string, order: string) =>
  sql.onDialectOrElse({
    pg: () => sql.literal(`string_agg(${column}, ${by} ORDER BY ${order})`),
    orElse: () => sql.literal(`group_concat(${column}, ${by} ORDER BY ${order})`)
  })

/** Ends a line in SQL. JSON has none within. */
const LINE = "'\n'"

/** Messages of turns, as they are on disk; those of one turn in one row. */
interface HistoryRow {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  readonly acceptedAt: number
  readonly prompt: string | null
  /** A line each. */
  readonly messages: string
}

const historiesOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.ConversationId>
): Effect.fn.Return<ReadonlyMap<Ids.ConversationId, ReadonlyArray<Message.Message>>, Failure> {
  const rows = yield* sql<HistoryRow>`
    SELECT c.conversation_id AS "conversationId", t.turn_id AS "turnId", t.accepted_at AS "acceptedAt", t.prompt, m.messages
    FROM (
      SELECT e.conversation, e.turn, min(e.event_id) AS first, ${joined(sql, "e.payload", LINE, "e.event_id")} AS messages
      FROM events e
      WHERE e.conversation IN (SELECT number FROM conversations WHERE ${IdList.has(sql, "conversation_id", ids)})
        AND e.type = 'message'
      GROUP BY e.conversation, e.turn
    ) AS m JOIN conversations c ON c.number = m.conversation JOIN turns t ON t.number = m.turn
    ORDER BY m.conversation, m.first`
  const texts = new Map<Ids.ConversationId, Array<string>>()
  for (const { acceptedAt, conversationId, messages, prompt, turnId } of rows) {
    const opening = { acceptedAt, prompt: prompt ?? undefined }
    let known = texts.get(conversationId)
    if (known === undefined) texts.set(conversationId, (known = []))
    for (const line of messages.split("\n")) known.push(EventText.unpackMessage(line, turnId, opening))
  }
  const histories = new Map<Ids.ConversationId, ReadonlyArray<Message.Message>>()
  for (const [id, events] of texts) {
    // Where the JSON is damaged, each event is decoded by itself, which says what is wrong with which.
    histories.set(id, parse(events)?.map(({ message }) => message) ?? (yield* EventTable.messages(sql, id)))
  }
  return histories
})

const parse = (events: ReadonlyArray<string>): ReadonlyArray<Pick<TurnEvent.MessageEvent, "message">> | undefined => {
  try {
    return JSON.parse(`[${events.join(",")}]`) as ReadonlyArray<TurnEvent.MessageEvent> // what `EventTable.append` wrote
  } catch {
    return undefined
  }
}

const persistedOf = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.TurnId>
): Effect.Effect<ReadonlyMap<Ids.TurnId, ReadonlyArray<string>>, Failure> =>
  Effect.map(
    sql<{ readonly id: Ids.TurnId; readonly types: string }>`
      SELECT t.turn_id AS id, ${joined(sql, "e.type", "','", "e.event_id")} AS types FROM turns t
      JOIN events e ON e.conversation = t.conversation AND e.event_id > t.after_event_id AND e.turn = t.number
      WHERE ${IdList.has(sql, "t.turn_id", ids)} GROUP BY t.turn_id`,
    (rows) => new Map(rows.map(({ id, types }) => [id, types.split(",")]))
  )
