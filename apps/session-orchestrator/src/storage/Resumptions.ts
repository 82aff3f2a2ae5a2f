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
import { padded } from "./GroupRead.ts"
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
const joined = (sql: SqlClient.SqlClient, column: string, order: string) =>
  sql.onDialectOrElse({
    pg: () => sql.literal(`string_agg(${column}, ',' ORDER BY ${order})`),
    orElse: () => sql.literal(`group_concat(${column}, ',' ORDER BY ${order})`)
  })

const historiesOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.ConversationId>
): Effect.fn.Return<ReadonlyMap<Ids.ConversationId, ReadonlyArray<Message.Message>>, Failure> {
  const rows = yield* sql<{ readonly id: Ids.ConversationId; readonly events: string }>`
    SELECT conversation_id AS id, ${joined(sql, "payload", "event_id")} AS events FROM events
    WHERE ${sql.in("conversation_id", padded(ids))} AND type = 'message' GROUP BY conversation_id`
  const histories = new Map<Ids.ConversationId, ReadonlyArray<Message.Message>>()
  for (const { events, id } of rows) {
    // Where the JSON is damaged, each event is decoded by itself, which says what is wrong with which.
    histories.set(id, parse(events)?.map(({ message }) => message) ?? (yield* EventTable.messages(sql, id)))
  }
  return histories
})

const parse = (events: string): ReadonlyArray<TurnEvent.MessageEvent> | undefined => {
  try {
    return JSON.parse(`[${events}]`) as ReadonlyArray<TurnEvent.MessageEvent> // what `EventTable.append` wrote
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
      SELECT turn_id AS id, ${joined(sql, "type", "position")} AS types FROM events
      WHERE ${sql.in("turn_id", padded(ids))} GROUP BY turn_id`,
    (rows) => new Map(rows.map(({ id, types }) => [id, types.split(",")]))
  )
