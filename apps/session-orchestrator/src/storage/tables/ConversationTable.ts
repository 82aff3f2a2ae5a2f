/** Reads and writes the rows of conversations. */
import { Rows } from "@holdfast/journal/sql"
import { ConversationState, Ids } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import * as LabelTable from "./LabelTable.ts"
import type { Conversation } from "../Store.ts"

/** A change of a conversation's switch for automatic retries. */
export interface AutoRetry {
  readonly conversationId: Ids.ConversationId
  readonly enabled: boolean
}

/** Adds conversations. Fails if an id is taken. */
export const insert =
  (sql: SqlClient.SqlClient) =>
  (conversations: ReadonlyArray<Conversation>): Effect.Effect<ReadonlyArray<void>, SqlError.SqlError> =>
    Effect.gen(function* () {
      const rows = yield* Rows.insertAll<{ readonly conversation_id: string; readonly number: number }>(
        sql,
        "conversations",
        conversations.map((conversation) => ({
          conversation_id: conversation.conversationId,
          model: conversation.model,
          system_prompt: conversation.system ?? null,
          retry: conversation.retry === undefined ? null : JSON.stringify(conversation.retry),
          auto_retry_enabled: conversation.autoRetryEnabled ? 1 : 0,
          created_at: conversation.createdAt,
          title: conversation.title ?? null,
          tools: conversation.tools === undefined ? null : JSON.stringify(conversation.tools)
        })),
        sql`RETURNING conversation_id, ${Rows.number(sql, "number")} AS "number"`
      )
      const numbers = new Map(rows.map(({ conversation_id, number }) => [conversation_id, number]))
      yield* LabelTable.insert(
        sql,
        "conversation",
        conversations.map(({ conversationId, labels }) => ({ number: numbers.get(conversationId) ?? 0, labels }))
      )
      return conversations.map(() => undefined)
    })

/** Sets switches, in order. Does nothing for an unknown conversation. */
export const setAutoRetry =
  (sql: SqlClient.SqlClient) =>
  (switches: ReadonlyArray<AutoRetry>): Effect.Effect<ReadonlyArray<void>, SqlError.SqlError> =>
    Effect.forEach(switches, ({ conversationId, enabled }) =>
      Effect.asVoid(
        sql`UPDATE conversations SET auto_retry_enabled = ${enabled ? 1 : 0} WHERE conversation_id = ${conversationId}`
      )
    )

/** A change of a conversation's model. */
export interface NewModel {
  readonly conversationId: Ids.ConversationId
  readonly model: string
  /** In epoch milliseconds. */
  readonly at: number
}

/** Changes models, in order; a conversation's turns keep the model that they were accepted with. Does nothing for an unknown conversation. */
export const setModel =
  (sql: SqlClient.SqlClient) =>
  (changes: ReadonlyArray<NewModel>): Effect.Effect<ReadonlyArray<void>, SqlError.SqlError> =>
    Effect.forEach(changes, ({ at, conversationId, model }) =>
      Effect.gen(function* () {
        yield* sql`
          UPDATE turns SET model = (SELECT c.model FROM conversations c WHERE c.number = turns.conversation)
          WHERE conversation = (SELECT number FROM conversations WHERE conversation_id = ${conversationId}) AND model IS NULL`
        yield* sql`UPDATE conversations SET model = ${model}, model_since = ${at} WHERE conversation_id = ${conversationId}`
      })
    )

/** The answers of a conversation that hold for every call of a tool. */
export interface NewToolAnswers {
  readonly conversationId: Ids.ConversationId
  readonly answers: ConversationState.ToolAnswers
}

/** Replaces them, in order. Does nothing for an unknown conversation. */
export const setToolAnswers =
  (sql: SqlClient.SqlClient) =>
  (changes: ReadonlyArray<NewToolAnswers>): Effect.Effect<ReadonlyArray<void>, SqlError.SqlError> =>
    Effect.forEach(changes, ({ answers, conversationId }) => {
      const text = Object.keys(answers).length === 0 ? null : JSON.stringify(answers)
      return Effect.asVoid(
        sql`UPDATE conversations SET tool_answers = ${text} WHERE conversation_id = ${conversationId}`
      )
    })

/** A new title of a conversation. */
export interface NewTitle {
  readonly conversationId: Ids.ConversationId
  readonly title: string
}

/** Sets titles, in order. Returns for each whether there is such a conversation. */
export const setTitle =
  (sql: SqlClient.SqlClient) =>
  (titles: ReadonlyArray<NewTitle>): Effect.Effect<ReadonlyArray<boolean>, SqlError.SqlError> =>
    Effect.forEach(titles, ({ conversationId, title }) =>
      Effect.map(
        sql`UPDATE conversations SET title = ${title} WHERE conversation_id = ${conversationId} RETURNING 1 AS found`,
        (rows) => rows.length > 0
      )
    )

/** The row of a conversation that gets a turn, and its last event. */
export interface Tail {
  /** The row's number. */
  readonly number: number
  /** The id of its last event; 0 before the first. */
  readonly lastEventId: number
}

/** The rows of some conversations; unknown ids are left out. Each takes one step into an index, for any length. */
export const tails = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.ConversationId>
): Effect.Effect<ReadonlyMap<Ids.ConversationId, Tail>, SqlError.SqlError> =>
  Effect.map(
    // Keys and numbers, so there is nothing to decode.
    sql<Tail & { readonly id: Ids.ConversationId }>`
      SELECT c.conversation_id AS id, ${Rows.number(sql, "c.number")} AS "number",
        COALESCE((SELECT max(e.event_id) FROM events e WHERE e.conversation = c.number), 0) AS "lastEventId"
      FROM conversations c WHERE ${Rows.have(sql, "c.conversation_id", ids)}`,
    (rows) => new Map(rows.map((row) => [row.id, row]))
  )

/** The conversations with these ids; unknown ids are left out. */
export const findAll = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.ConversationId>
): Effect.Effect<ReadonlyMap<Ids.ConversationId, Conversation>, SqlError.SqlError | Schema.SchemaError> =>
  Effect.flatMap(
    sql`SELECT ${sql.literal(COLUMNS)} FROM conversations c WHERE ${Rows.have(sql, "c.conversation_id", ids)}`,
    (rows) => Effect.map(read(rows), (found) => new Map(found.map((each) => [each.conversationId, each])))
  )

/** The columns for `read`. */
export const COLUMNS =
  "c.conversation_id, c.model, c.system_prompt, c.retry, c.auto_retry_enabled, c.created_at, c.tools, c.model_since, c.tool_answers"

/** The conversations in rows that have these columns. */
export const read = (rows: ReadonlyArray<object>): Effect.Effect<ReadonlyArray<Conversation>, Schema.SchemaError> =>
  Effect.map(decodeRows(rows), (rows) => rows.map(conversationOf))

// --- internal

const Row = Schema.Struct({
  conversation_id: Ids.ConversationId,
  model: Schema.String,
  system_prompt: Schema.NullOr(Schema.String),
  retry: Schema.NullOr(Schema.fromJsonString(Schema.Json)),
  auto_retry_enabled: Schema.Literals([0, 1]),
  created_at: Schema.Finite,
  tools: Schema.NullOr(Schema.fromJsonString(Schema.Array(Schema.String))),
  model_since: Schema.NullOr(Schema.Finite),
  tool_answers: Schema.NullOr(Schema.fromJsonString(ConversationState.ToolAnswers))
})

const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))

const conversationOf = (row: typeof Row.Type): Conversation => ({
  conversationId: row.conversation_id,
  model: row.model,
  system: row.system_prompt ?? undefined,
  retry: row.retry ?? undefined,
  autoRetryEnabled: row.auto_retry_enabled === 1,
  createdAt: row.created_at,
  ...(row.tools === null ? undefined : { tools: row.tools }),
  ...(row.model_since === null ? undefined : { modelSince: row.model_since }),
  ...(row.tool_answers === null ? undefined : { toolAnswers: row.tool_answers })
})
