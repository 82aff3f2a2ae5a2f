/**
 * What turns that are about to run need of the disk, for several of them at once.
 *
 * Every turn comes by here each time it is taken up, with all the messages of its conversation. So a history is one row, put
 * together by the database, and its JSON is parsed in one go; it was written from the type that it is read as.
 */
import type { Ids, Message, TurnEvent } from "@holdfast/wire"
import { Effect, type Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import * as ConversationTable from "../tables/ConversationTable.ts"
import * as EventTable from "../tables/EventTable.ts"
import * as EventText from "../tables/EventText.ts"
import * as IdList from "../tables/IdList.ts"
import type { Resumption, Turn } from "../Store.ts"
import * as TurnTable from "../tables/TurnTable.ts"

type Failure = SqlError.SqlError | Schema.SchemaError

/** Conversations whose messages are read in one query: some ten milliseconds of the thread when they have a hundred each. */
export const AT_ONCE = 64

/** What each of these turns goes on with; `undefined` for one that was never accepted. */
export const find =
  (sql: SqlClient.SqlClient) =>
  (ids: ReadonlyArray<Ids.TurnId>): Effect.Effect<ReadonlyArray<Resumption | undefined>, Failure> =>
    Effect.gen(function* () {
      const rows = yield* select(sql, ids)
      const turns = yield* TurnTable.read(rows)
      const conversations = yield* ConversationTable.read(rows)
      const hasHistory = rows.some(({ history }) => history !== null)
      const speakers = hasHistory
        ? yield* speakersOf(
            sql,
            conversations.map(({ conversationId }) => conversationId)
          )
        : new Map<string, Speaker>()
      const found = new Map<Ids.TurnId, Resumption>()
      for (const [i, { history, said }] of rows.entries()) {
        const [turn, conversation] = [turns[i], conversations[i]]
        if (turn === undefined || conversation === undefined) continue // there is one for each row
        found.set(turn.turnId, {
          turn,
          conversation,
          history: parse(history, speakers) ?? (yield* readOneByOne(sql, turn)),
          persisted: said?.split(",") ?? []
        })
      }
      return ids.map((id) => found.get(id))
    })

/** The messages of each of some conversations, oldest first. */
export const histories =
  (sql: SqlClient.SqlClient) =>
  (ids: ReadonlyArray<Ids.ConversationId>): Effect.Effect<ReadonlyArray<ReadonlyArray<Message.Message>>, Failure> =>
    Effect.gen(function* () {
      const rows = yield* sql<Said>`
        SELECT c.conversation_id AS "conversationId", (SELECT ${joined(sql, "line", LINE)} FROM (
          SELECT ${sql.literal(LINES)} WHERE m.conversation = c.number AND m.type = 'message' ORDER BY m.event_id
        ) AS lines) AS history
        FROM conversations c WHERE ${IdList.has(sql, "c.conversation_id", ids)}`
      const said = rows.filter(({ history }) => history !== null)
      if (said.length === 0) return ids.map(() => [])
      const speakers = yield* speakersOf(
        sql,
        said.map(({ conversationId }) => conversationId)
      )
      const found = yield* Effect.forEach(said, ({ conversationId, history }) => {
        const messages = parse(history, speakers)
        const read = messages === undefined ? EventTable.messages(sql, conversationId) : Effect.succeed(messages)
        return Effect.map(read, (messages) => [conversationId, messages] as const)
      })
      const byId = new Map(found)
      return ids.map((id) => byId.get(id) ?? [])
    })

// --- internal

/** A turn and its conversation, and the rest as texts that the database has put together. */
interface Row {
  /** The types of what it has said. */
  readonly said: string | null
  /** A line for each message of the others, the number of its turn before it. */
  readonly history: string | null
}

interface Said extends Pick<Row, "history"> {
  readonly conversationId: Ids.ConversationId
}

/** A line for each message, the number of its turn before it. */
const LINES = "CAST(m.turn AS TEXT) || ' ' || m.payload AS line FROM events m"

/** Ends a line in SQL. JSON has none within. */
const LINE = "'\n'"

/** Texts are joined in the order of the inner query, which both databases keep. One in the call would sort all of the text once more. */
const select = (sql: SqlClient.SqlClient, ids: ReadonlyArray<Ids.TurnId>) => sql<Row>`
  SELECT ${sql.literal(TurnTable.COLUMNS)}, ${sql.literal(ConversationTable.COLUMNS)},
    (SELECT ${joined(sql, "type", "','")} FROM (
      SELECT o.type FROM events o
      WHERE o.conversation = t.conversation AND o.event_id > t.after_event_id AND o.turn = t.number
      ORDER BY o.event_id) AS own) AS said,
    (SELECT ${joined(sql, "line", LINE)} FROM (
      SELECT ${sql.literal(LINES)}
      WHERE m.conversation = t.conversation AND m.type = 'message' AND m.turn <> t.number
      ORDER BY m.event_id) AS lines) AS history
  FROM ${sql.literal(TurnTable.TABLES)} WHERE ${IdList.has(sql, "t.turn_id", ids)}`

/** Several texts as one. Both databases have it, under different names. */
const joined = (sql: SqlClient.SqlClient, column: string, by: string) =>
  sql.onDialectOrElse({
    pg: () => sql.literal(`string_agg(${column}, ${by})`),
    orElse: () => sql.literal(`group_concat(${column}, ${by})`)
  })

/** What the messages of a turn leave to its row. */
interface Speaker {
  readonly number: string
  readonly turnId: Ids.TurnId
  readonly acceptedAt: number
  readonly prompt: string | null
}

/** The turns of conversations, by their numbers. */
const speakersOf = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.ConversationId>
): Effect.Effect<ReadonlyMap<string, Speaker>, Failure> =>
  Effect.map(
    sql<Speaker>`
      SELECT CAST(number AS TEXT) AS number, turn_id AS "turnId", accepted_at AS "acceptedAt", prompt FROM turns
      WHERE conversation IN (SELECT number FROM conversations WHERE ${IdList.has(sql, "conversation_id", ids)})`,
    (rows) => new Map(rows.map((row) => [row.number, row]))
  )

/** `undefined` where it is damaged. */
const parse = (
  history: string | null,
  speakers: ReadonlyMap<string, Speaker>
): ReadonlyArray<Message.Message> | undefined => {
  if (history === null) return []
  const events = history.split("\n").map((line) => eventOf(line, speakers))
  try {
    const parsed = JSON.parse(`[${events.join(",")}]`) as ReadonlyArray<TurnEvent.MessageEvent> // what `EventTable` wrote
    return parsed.map(({ message }) => message)
  } catch {
    return undefined
  }
}

const eventOf = (line: string, speakers: ReadonlyMap<string, Speaker>): string => {
  const space = line.indexOf(" ")
  const speaker = speakers.get(line.slice(0, space))
  // Its row refers to that turn, so it is there.
  return speaker === undefined ? "" : EventText.unpackMessage(line.slice(space + 1), speaker.turnId, speaker)
}

/** Each event decoded by itself, which says what is wrong with which. */
const readOneByOne = (
  sql: SqlClient.SqlClient,
  { conversationId, turnId }: Turn
): Effect.Effect<ReadonlyArray<Message.Message>, Failure> =>
  Effect.map(EventTable.messages(sql, conversationId), (messages) =>
    messages.filter((message) => message.turnId !== turnId)
  )
