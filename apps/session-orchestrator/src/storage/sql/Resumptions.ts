/**
 * Reads everything that turns need to start or resume, for several turns at once.
 *
 * Every turn is read here each time it is taken up, with all messages of its conversation. So the database joins a history into one row,
 * and its JSON is parsed at once; it was written from the type that it is read as.
 */
import { IdList, type TableError } from "@holdfast/journal/sql"
import type { Ids, Message } from "@holdfast/wire"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import * as ConversationTable from "../tables/ConversationTable.ts"
import * as EventTable from "../tables/EventTable.ts"
import * as EventText from "../tables/EventText.ts"
import type { Conversation, Resumption, ResumptionOutline, Turn } from "../Store.ts"
import * as PromptTable from "../tables/PromptTable.ts"
import * as TurnTable from "../tables/TurnTable.ts"

/** Conversations whose messages are read in one query: some ten milliseconds of the thread when they have a hundred each. */
export const AT_ONCE = 64

/** The data of each turn, in the order of the ids; `undefined` for a turn that was never accepted. */
export const find =
  (sql: SqlClient.SqlClient) =>
  (ids: ReadonlyArray<Ids.TurnId>): Effect.Effect<ReadonlyArray<Resumption | undefined>, TableError> =>
    Effect.gen(function* () {
      const rows = yield* select(sql, ids)
      const turns = yield* TurnTable.read(rows)
      const conversations = yield* ConversationTable.read(rows)
      const hasHistory = rows.some(({ history }) => history !== null)
      const facts = hasHistory
        ? yield* turnFactsOf(
            sql,
            conversations.map(({ conversationId }) => conversationId)
          )
        : new Map<string, TurnFacts>()
      const found = new Map<Ids.TurnId, Resumption>()
      for (const [i, { history, types }] of rows.entries()) {
        const [turn, conversation] = [turns[i], conversations[i]]
        if (turn === undefined || conversation === undefined) continue // there is one for each row
        found.set(turn.turnId, {
          turn,
          conversation: asOf(turn, conversation),
          history: parse(history, facts) ?? (yield* readOneByOne(sql, turn)),
          persisted: types?.split(",") ?? []
        })
      }
      return ids.map((id) => found.get(id))
    })

/** The same without messages and files. */
export const outlines =
  (sql: SqlClient.SqlClient) =>
  (ids: ReadonlyArray<Ids.TurnId>): Effect.Effect<ReadonlyArray<ResumptionOutline | undefined>, TableError> =>
    Effect.gen(function* () {
      const rows = yield* sql<Pick<Row, "types">>`
        SELECT ${sql.literal(TurnTable.COLUMNS)}, ${sql.literal(ConversationTable.COLUMNS)}, ${types(sql)}
        FROM ${sql.literal(TurnTable.TABLES)} WHERE ${IdList.has(sql, "t.turn_id", ids)}`
      const turns = yield* TurnTable.read(rows)
      const conversations = yield* ConversationTable.read(rows)
      const found = new Map<Ids.TurnId, ResumptionOutline>()
      for (const [i, { types }] of rows.entries()) {
        const [turn, conversation] = [turns[i], conversations[i]]
        if (turn === undefined || conversation === undefined) continue // there is one for each row
        found.set(turn.turnId, { turn, conversation: asOf(turn, conversation), persisted: types?.split(",") ?? [] })
      }
      return ids.map((id) => found.get(id))
    })

/** The messages of each of some conversations, oldest first. */
export const histories =
  (sql: SqlClient.SqlClient) =>
  (ids: ReadonlyArray<Ids.ConversationId>): Effect.Effect<ReadonlyArray<ReadonlyArray<Message.Message>>, TableError> =>
    Effect.gen(function* () {
      const rows = yield* sql<JoinedHistory>`
        SELECT c.conversation_id AS "conversationId", (SELECT ${joined(sql, "line", LINE)} FROM (
          SELECT ${sql.literal(LINES)} WHERE m.conversation = c.number AND m.type = 'message' ORDER BY m.event_id
        ) AS lines) AS history
        FROM conversations c WHERE ${IdList.has(sql, "c.conversation_id", ids)}`
      const nonEmpty = rows.filter(({ history }) => history !== null)
      if (nonEmpty.length === 0) return ids.map(() => [])
      const facts = yield* turnFactsOf(
        sql,
        nonEmpty.map(({ conversationId }) => conversationId)
      )
      const found = yield* Effect.forEach(nonEmpty, ({ conversationId, history }) => {
        const messages = parse(history, facts)
        const read = messages === undefined ? EventTable.messages(sql, conversationId) : Effect.succeed(messages)
        return Effect.map(read, (messages) => [conversationId, messages] as const)
      })
      const byId = new Map(found)
      return ids.map((id) => byId.get(id) ?? [])
    })

// --- internal

/** The texts that the database joins, beside the columns of the turn and its conversation. */
interface Row {
  /** The types of the turn's events. */
  readonly types: string | null
  /** A line for each message of the other turns, after the number of its turn. */
  readonly history: string | null
}

interface JoinedHistory extends Pick<Row, "history"> {
  readonly conversationId: Ids.ConversationId
}

/** The conversation that a turn was accepted in: the turn's own model is older than the conversation's. */
const asOf = ({ model }: Turn, conversation: Conversation): Conversation =>
  model === undefined ? conversation : { ...conversation, model, modelSince: undefined }

/** A line for each message, after the number of its turn. */
const LINES = "CAST(m.turn AS TEXT) || ' ' || m.payload AS line FROM events m"

/** Ends a line in SQL. JSON contains no line break. */
const LINE = "'\n'"

/** Texts are joined in the order of the inner query, which both databases keep. An order in the call would sort all of the text again. */
const select = (sql: SqlClient.SqlClient, ids: ReadonlyArray<Ids.TurnId>) => sql<Row>`
  SELECT ${sql.literal(TurnTable.COLUMNS)}, ${sql.literal(TurnTable.CONTENT)}, ${sql.literal(ConversationTable.COLUMNS)},
    ${types(sql)},
    (SELECT ${joined(sql, "line", LINE)} FROM (
      SELECT ${sql.literal(LINES)}
      WHERE m.conversation = t.conversation AND m.type = 'message' AND m.turn <> t.number
      ORDER BY m.event_id) AS lines) AS history
  FROM ${sql.literal(TurnTable.TABLES)} WHERE ${IdList.has(sql, "t.turn_id", ids)}`

/** The types of a turn's events, in order. */
const types = (sql: SqlClient.SqlClient) => sql`(SELECT ${joined(sql, "type", "','")} FROM (
  SELECT o.type FROM events o
  WHERE o.conversation = t.conversation AND o.event_id > t.after_event_id AND o.turn = t.number
  ORDER BY o.event_id) AS own) AS types`

/** Joins texts; the function has a different name in each database. */
const joined = (sql: SqlClient.SqlClient, column: string, by: string) =>
  sql.onDialectOrElse({
    pg: () => sql.literal(`string_agg(${column}, ${by})`),
    orElse: () => sql.literal(`group_concat(${column}, ${by})`)
  })

/** The facts of a turn's row that its messages leave out. */
interface TurnFacts {
  readonly number: string
  readonly turnId: Ids.TurnId
  readonly acceptedAt: number
  readonly prompt: string | null
  readonly content: string | null
}

/** The turns of conversations, by their numbers. */
const turnFactsOf = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.ConversationId>
): Effect.Effect<ReadonlyMap<string, TurnFacts>, TableError> =>
  Effect.map(
    sql<TurnFacts>`
      SELECT CAST(number AS TEXT) AS number, turn_id AS "turnId", accepted_at AS "acceptedAt", prompt,
        ${sql.literal(PromptTable.COLUMN)} AS content
      FROM turns t
      WHERE conversation IN (SELECT number FROM conversations WHERE ${IdList.has(sql, "conversation_id", ids)})`,
    (rows) => new Map(rows.map((row) => [row.number, row]))
  )

/** The messages of a history; `undefined` if it is damaged. */
const parse = (
  history: string | null,
  facts: ReadonlyMap<string, TurnFacts>
): ReadonlyArray<Message.Message> | undefined => {
  if (history === null) return []
  const messages: Array<EventText.PackedMessage> = []
  for (const line of history.split("\n")) {
    const space = line.indexOf(" ")
    const opening = facts.get(line.slice(0, space))
    if (opening === undefined) return undefined // Its row refers to that turn, so it is there.
    messages.push({ packed: line.slice(space + 1), turnId: opening.turnId, opening })
  }
  try {
    return EventText.parseMessages(messages)
  } catch {
    return undefined
  }
}

/** Decodes each event by itself, so that the error names the damaged event. */
const readOneByOne = (
  sql: SqlClient.SqlClient,
  { conversationId, turnId }: Turn
): Effect.Effect<ReadonlyArray<Message.Message>, TableError> =>
  Effect.map(EventTable.messages(sql, conversationId), (messages) =>
    messages.filter((message) => message.turnId !== turnId)
  )
