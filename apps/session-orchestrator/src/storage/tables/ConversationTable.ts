/** Reads and writes the rows of conversations. */
import { Rows } from "@holdfast/journal/sql"
import { ConversationState, defined, type Ids } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import * as LabelTable from "./LabelTable.ts"
import * as TurnTable from "./TurnTable.ts"
import type { Conversation } from "../Stored.ts"

/** Adds conversations. Fails if an id is taken. It returns as many outcomes, as a group of writes has. */
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

/** Changes of a conversation; what is absent stays. */
export type Changes = Partial<Pick<Conversation, "autoRetryEnabled" | "model" | "modelSince" | "title" | "toolAnswers">>

/** Changes a conversation, whose turns keep the model that they were accepted with. Returns whether there is such a conversation. */
export const change = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (
    id: Ids.ConversationId,
    { autoRetryEnabled, model, modelSince, title, toolAnswers }: Changes
  ): Effect.fn.Return<boolean, SqlError.SqlError> {
    if (model !== undefined)
      yield* sql`
        UPDATE turns SET model = (SELECT c.model FROM conversations c WHERE c.number = turns.conversation)
        WHERE conversation = (SELECT number FROM conversations WHERE conversation_id = ${id}) AND model IS NULL`
    const columns = defined({
      auto_retry_enabled: autoRetryEnabled === undefined ? undefined : autoRetryEnabled ? 1 : 0,
      model,
      model_since: modelSince,
      title,
      tool_answers: toolAnswers && (Object.keys(toolAnswers).length === 0 ? null : JSON.stringify(toolAnswers))
    })
    const rows =
      yield* sql`UPDATE conversations SET ${sql.update(columns)} WHERE conversation_id = ${id} RETURNING 1 AS found`
    return rows.length > 0
  })

/** The number, last event and state of some conversations; unknown ids are left out. Each takes one step into an index, for any length. */
export const tails = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.ConversationId>
): Effect.Effect<ReadonlyMap<Ids.ConversationId, TurnTable.Tail>, SqlError.SqlError> =>
  Effect.map(
    // Keys and numbers, so there is nothing to decode.
    sql<TurnTable.Tail>`
      SELECT c.conversation_id AS "conversationId", ${Rows.number(sql, "c.number")} AS "conversation",
        COALESCE((SELECT max(e.event_id) FROM events e WHERE e.conversation = c.number), 0) AS "lastEventId",
        (SELECT CASE WHEN t.end_event_id IS NULL THEN 1 ELSE 0 END FROM turns t
          WHERE t.number = ${sql.literal(TurnTable.lastOf("c.number"))}) AS "isTaken"
      FROM conversations c WHERE ${Rows.have(sql, "c.conversation_id", ids)}`,
    (rows) => new Map(rows.map((row) => [row.conversationId, row]))
  )

/** The conversations with these ids. */
export const find = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.ConversationId>
): Effect.Effect<ReadonlyMap<Ids.ConversationId, Conversation>, SqlError.SqlError | Schema.SchemaError> =>
  Effect.map(
    Effect.flatMap(
      sql<Row>`SELECT ${sql.literal(COLUMNS)} FROM conversations c WHERE ${Rows.have(sql, "c.conversation_id", ids)}`,
      Effect.forEach(read)
    ),
    (found) => new Map(found.map((each) => [each.conversationId, each]))
  )

/** The columns for `read`: all but the title, which lists alone have. */
export const COLUMNS = `c.conversation_id AS "conversationId", c.model, c.system_prompt AS "system", c.retry,
  c.auto_retry_enabled AS "autoRetryEnabled", c.created_at AS "createdAt", c.tools, c.model_since AS "modelSince",
  c.tool_answers AS "toolAnswers"`

/** A row with these columns, which were written from these types. */
export interface Row extends Pick<Conversation, "conversationId" | "model" | "createdAt"> {
  readonly system: string | null
  readonly autoRetryEnabled: number
  readonly modelSince: number | null
  /** JSON, as the next two. */
  readonly retry: string | null
  readonly tools: string | null
  readonly toolAnswers: string | null
}

/** The conversation in a row that has these columns. */
export const read = ({
  autoRetryEnabled,
  conversationId,
  createdAt,
  model,
  modelSince,
  system,
  ...json
}: Row): Effect.Effect<Conversation, Schema.SchemaError> =>
  Effect.map(decodeJson(json), ({ retry, toolAnswers, tools }) => ({
    conversationId,
    model,
    system: system ?? undefined,
    retry: retry ?? undefined,
    autoRetryEnabled: autoRetryEnabled === 1,
    createdAt,
    ...defined({
      tools: tools ?? undefined,
      modelSince: modelSince ?? undefined,
      toolAnswers: toolAnswers ?? undefined
    })
  }))

// --- internal

const decodeJson = Schema.decodeUnknownEffect(
  Schema.Struct({
    retry: Schema.NullOr(Schema.fromJsonString(Schema.Json)),
    tools: Schema.NullOr(Schema.fromJsonString(Schema.Array(Schema.String))),
    toolAnswers: Schema.NullOr(Schema.fromJsonString(ConversationState.ToolAnswers))
  })
)
