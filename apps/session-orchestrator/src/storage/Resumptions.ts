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

/** Several texts as one. Both databases have it, under different names. */
const joined = (sql: SqlClient.SqlClient, column: string, by: string) =>
  sql.onDialectOrElse({
    pg: () => sql.literal(`string_agg(${column}, ${by})`),
    orElse: () => sql.literal(`group_concat(${column}, ${by})`)
  })

/** Ends a line in SQL. JSON has none within. */
const LINE = "'\n'"

/** A history as it is on disk: a line for each message, the number of its turn before it. */
interface HistoryRow {
  readonly id: Ids.ConversationId
  readonly messages: string | null
}

/** What the messages of a turn leave to its row. */
interface SpeakerRow {
  readonly number: string
  readonly turnId: Ids.TurnId
  readonly acceptedAt: number
  readonly prompt: string | null
}

const historiesOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.ConversationId>
): Effect.fn.Return<ReadonlyMap<Ids.ConversationId, ReadonlyArray<Message.Message>>, Failure> {
  const wanted = IdList.has(sql, "conversation_id", ids)
  const speakers = yield* sql<SpeakerRow>`
    SELECT CAST(number AS TEXT) AS number, turn_id AS "turnId", accepted_at AS "acceptedAt", prompt FROM turns
    WHERE conversation IN (SELECT number FROM conversations WHERE ${wanted})`
  // Joined in the order of the inner query, which both databases keep. One in the call would sort all of the text once more.
  const rows = yield* sql<HistoryRow>`
    SELECT c.conversation_id AS id,
      (SELECT ${joined(sql, "line", LINE)} FROM (
        SELECT CAST(e.turn AS TEXT) || ' ' || e.payload AS line FROM events e
        WHERE e.conversation = c.number AND e.type = 'message' ORDER BY e.event_id) AS lines) AS messages
    FROM conversations c WHERE ${wanted}`
  const known = new Map(speakers.map((speaker) => [speaker.number, speaker]))
  const histories = new Map<Ids.ConversationId, ReadonlyArray<Message.Message>>()
  for (const { id, messages } of rows) {
    if (messages === null) continue
    const events = messages.split("\n").map((line) => eventOf(line, known))
    // Where the JSON is damaged, each event is decoded by itself, which says what is wrong with which.
    histories.set(id, parse(events)?.map(({ message }) => message) ?? (yield* EventTable.messages(sql, id)))
  }
  return histories
})

const eventOf = (line: string, speakers: ReadonlyMap<string, SpeakerRow>): string => {
  const space = line.indexOf(" ")
  const speaker = speakers.get(line.slice(0, space))
  // Its row refers to that turn, so it is there.
  return speaker === undefined ? "" : EventText.unpackMessage(line.slice(space + 1), speaker.turnId, speaker)
}

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
    sql<{ readonly id: Ids.TurnId; readonly types: string | null }>`
      SELECT t.turn_id AS id,
        (SELECT ${joined(sql, "type", "','")} FROM (
          SELECT e.type FROM events e
          WHERE e.conversation = t.conversation AND e.event_id > t.after_event_id AND e.turn = t.number
          ORDER BY e.event_id) AS said) AS types
      FROM turns t WHERE ${IdList.has(sql, "t.turn_id", ids)}`,
    (rows) => new Map(rows.map(({ id, types }) => [id, types?.split(",") ?? []]))
  )
