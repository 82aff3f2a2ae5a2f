/**
 * Reads everything that turns need to start or resume, for several turns at once.
 *
 * Every turn is read here each time it is taken up. What is long is read by itself behind the others: messages (`Histories.H1`), and the
 * turn's own prompt.
 */
import { Rows, type SqlDatabase, type TableError } from "@holdfast/journal/sql"
import { defined, type Ids } from "@holdfast/wire"
import { Array as Arr, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import * as ConversationTable from "../tables/ConversationTable.ts"
import type { Conversation, Resumption, Turn } from "../Store.ts"
import * as TurnTable from "../tables/TurnTable.ts"
import * as Histories from "./Histories.ts"

/** Reads of one database. */
export interface Resumptions {
  /** Everything that a turn needs to run; `undefined` for a turn that was never accepted. */
  readonly find: (id: Ids.TurnId) => Effect.Effect<Resumption | undefined, TableError>
}

/** Makes the reads, with their queues. */
export const make = Effect.fnUntraced(function* (
  database: Pick<SqlDatabase.SqlDatabase, "sql" | "together">
): Effect.fn.Return<Resumptions> {
  const { sql, together } = database
  const turns = yield* together(AT_ONCE, findAll(sql))
  const prompt = yield* together(1, (ids: ReadonlyArray<Ids.TurnId>) => TurnTable.findAll(sql, ids))
  const complete = yield* Histories.complete(database)
  return {
    find: Effect.fnUntraced(function* (id) {
      const found = yield* turns(id)
      if (found === undefined) return undefined
      const { history, isLong, ...resumption } = found
      const { conversationId } = resumption.conversation
      const messages = yield* complete(conversationId, history)
      return {
        ...resumption,
        turn: isLong ? { ...resumption.turn, ...contentOf(yield* prompt(id)) } : resumption.turn,
        // A damaged history is read as a whole, with the turn's own messages.
        history: messages.filter(({ turnId }) => turnId !== id)
      }
    })
  }
})

// --- internal

/** Conversations whose messages are read in one query: some ten milliseconds of the thread when they have a hundred each. */
const AT_ONCE = 64

type Facts = Omit<Resumption, "history">

/** A turn without what is long. */
interface Outline extends Facts {
  readonly history: Histories.Outline
  /** Its prompt is left out. */
  readonly isLong: boolean
}

/** The texts that the database joins, beside the columns of the turn and its conversation. */
interface Row extends Histories.Row {
  readonly content: string | null
  /** Of the prompt's parts; null: it has no files. */
  readonly bytes: number | null
  /** The types of the turn's events. */
  readonly types: string | null
}

/** The turns, in the order of the ids; `undefined` for a turn that was never accepted. */
const findAll =
  (sql: SqlClient.SqlClient) =>
  (ids: ReadonlyArray<Ids.TurnId>): Effect.Effect<ReadonlyArray<Outline | undefined>, TableError> =>
    Effect.gen(function* () {
      const rows = yield* sql<Row>`
        SELECT ${sql.literal(TurnTable.COLUMNS)}, ${sql.literal(ConversationTable.COLUMNS)}, ${types(sql)},
          CASE WHEN octet_length(p.content) <= ${sql.literal(String(Histories.LONG))} THEN p.content END AS content,
          octet_length(p.content) AS bytes, c.conversation_id AS "conversationId",
          ${Histories.column(sql, sql`m.conversation = t.conversation AND m.turn <> t.number`)}
        FROM ${sql.literal(TurnTable.TABLES)} LEFT JOIN turn_prompts p ON p.turn = t.number
        WHERE ${Rows.have(sql, "t.turn_id", ids)}`
      const histories = yield* Histories.read(sql, rows)
      return inOrder(ids, yield* readRows(rows), (resumption, i) => ({
        ...resumption,
        history: histories[i],
        isLong: (rows[i]?.bytes ?? 0) > Histories.LONG
      }))
    })

/** The turns in rows with the columns of turns and conversations. */
const readRows = (rows: ReadonlyArray<Pick<Row, "types">>): Effect.Effect<ReadonlyArray<Facts>, TableError> =>
  Effect.zipWith(TurnTable.read(rows), ConversationTable.read(rows), (turns, conversations) =>
    Arr.zipWith(turns, conversations, (turn, conversation) => ({ turn, conversation: asOf(turn, conversation) })).map(
      (found, i) => ({ ...found, persisted: rows[i]?.types?.split(",") ?? [] })
    )
  )

const inOrder = <A>(
  ids: ReadonlyArray<Ids.TurnId>,
  found: ReadonlyArray<Facts>,
  make: (outline: Facts, i: number) => A
): ReadonlyArray<A | undefined> => {
  const byId = new Map(found.map((outline, i) => [outline.turn.turnId, make(outline, i)]))
  return ids.map((id) => byId.get(id))
}

/** The conversation that a turn was accepted in: the turn's own model is older than the conversation's. */
const asOf = ({ model }: Turn, conversation: Conversation): Conversation =>
  model === undefined ? conversation : { ...conversation, model, modelSince: undefined }

const contentOf = (turn: Turn | undefined): Pick<Turn, "content"> => defined({ content: turn?.content })

/** The types of a turn's events, in order. */
const types = (sql: SqlClient.SqlClient) => sql`(SELECT ${Histories.joined(sql, "type", "','")} FROM (
  SELECT o.type FROM events o
  WHERE o.conversation = t.conversation AND o.event_id > t.after_event_id AND o.turn = t.number
  ORDER BY o.event_id) AS own) AS types`
