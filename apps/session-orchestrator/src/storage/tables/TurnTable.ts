/**
 * Reads and writes the rows of turns.
 *
 * A turn's end is in its `turn-end` event, to which the row points (`TurnLog.W3`). `number` is the order of acceptance over all
 * conversations; it does not depend on a clock.
 */
import { type JournalTable, Rows, type TableError } from "@holdfast/journal/sql"
import { defined, type Ids, Message, TurnEvent } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import type { Turn } from "../Stored.ts"
import * as EventText from "./EventText.ts"

/** The facts in the tables about a turn that gets events. */
export interface End extends JournalTable.End {
  readonly conversationId: Ids.ConversationId
  /** Its row's number. */
  readonly conversation: number
  readonly lastEventId: number
  readonly lastPosition: number | null
  /** Null: the turn is not sealed. */
  readonly endEventId: number | null
}

/** The row of a conversation that gets a turn, and its last event. */
export interface Tail extends Pick<End, "conversationId" | "conversation" | "lastEventId"> {
  /** 1: its last turn that was not aborted in the queue is not sealed. Null: it has none. */
  readonly isTaken: 0 | 1 | null
}

/** A turn that is being accepted. */
export type NewTurn = Omit<Turn, "end">

/**
 * Adds turns, in order, and returns the ends of their logs. Fails if an id is taken.
 *
 * @param tails the row number and last event id of each conversation: a turn's events follow that event. An unknown conversation has no
 *   number, and the table refuses a turn without one
 */
export const insert = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  turns: ReadonlyArray<NewTurn>,
  tails: ReadonlyMap<Ids.ConversationId, Tail>
): Effect.fn.Return<ReadonlyMap<Ids.TurnId, End>, SqlError.SqlError> {
  const rows = yield* Rows.insertAll<{ readonly turn_id: Ids.TurnId; readonly number: number }>(
    sql,
    "turns",
    turns.map((turn) => {
      const tail = tails.get(turn.conversationId)
      return {
        turn_id: turn.turnId,
        conversation: tail?.conversation ?? null,
        prompt: turn.prompt ?? null,
        accepted_at: turn.acceptedAt,
        after_event_id: tail?.lastEventId ?? 0,
        submitted: turn.isSubmitted === true ? 1 : null
      }
    }),
    sql`RETURNING turn_id, ${Rows.number(sql, "number")} AS "number"`
  )
  const numbers = new Map(rows.map(({ number, turn_id }) => [turn_id, number]))
  const prompts = turns.flatMap(({ content, turnId }) =>
    content === undefined ? [] : [{ turn: numbers.get(turnId) ?? null, content: jsonOfContent(content) }]
  )
  yield* Rows.insertAll(sql, "turn_prompts", prompts)
  return new Map(
    turns.flatMap(({ conversationId, turnId }) => {
      const [number, tail] = [numbers.get(turnId), tails.get(conversationId)]
      if (number === undefined || tail === undefined) return []
      return [[turnId, { ...tail, turnId, number, lastSeq: null, lastPosition: null, endEventId: null }] as const]
    })
  )
})

/** The turns with these ids, oldest first. */
export const find = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.TurnId>,
  columns = COLUMNS
): Effect.Effect<ReadonlyMap<Ids.TurnId, Turn>, TableError> =>
  found(statement(sql, hasId(sql, ids), columns), ({ turnId }) => turnId)

/** The same with their parts (`Turn.content`). */
export const findWhole = (sql: SqlClient.SqlClient, ids: ReadonlyArray<Ids.TurnId>) =>
  find(sql, ids, `${COLUMNS}, ${PROMPT} AS content`)

/** The newest turn of each conversation that was not aborted in the queue. */
export const findLast = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.ConversationId>
): Effect.Effect<ReadonlyMap<Ids.ConversationId, Turn>, TableError> =>
  found(statement(sql, isLastOf(sql, ids)), ({ conversationId }) => conversationId)

/** The condition of `find`, for `statement`. */
export const hasId = (sql: SqlClient.SqlClient, ids: ReadonlyArray<Ids.TurnId>): Statement.Fragment =>
  Rows.have(sql, "t.turn_id", ids)

/** The condition of `findLast`, for `statement`. */
export const isLastOf = (sql: SqlClient.SqlClient, ids: ReadonlyArray<Ids.ConversationId>): Statement.Fragment => sql`
  t.number IN (
    SELECT ${sql.literal(lastOf("k.number"))} FROM conversations k WHERE ${Rows.have(sql, "k.conversation_id", ids)})`

/** The number of a conversation's newest turn, in SQL. A turn that was aborted in the queue has no event but its end: it is passed over. */
export const lastOf = (conversation: string): string => `(
  SELECT o.number FROM turns o
  LEFT JOIN events d ON o.status = 'aborted' AND d.conversation = o.conversation AND d.event_id = o.end_event_id
  WHERE o.conversation = ${conversation} AND COALESCE(d.position, 1) > 0 ORDER BY o.number DESC LIMIT 1)`

/** Selects turns, oldest first, each with the event that ended it. */
export const statement = (
  sql: SqlClient.SqlClient,
  where: Statement.Fragment,
  columns = COLUMNS
): Statement.Statement<Row> =>
  sql<Row>`SELECT ${sql.literal(columns)} FROM ${sql.literal(TABLES)} WHERE ${where} ORDER BY t.number`

/** The event that ended a turn, with its id. */
interface Seal {
  readonly id: number
  readonly event: TurnEvent.TurnEnd
}

/**
 * Seals turns with the events that ended them, in one statement. A sealed turn is not changed. A failed turn is uncounted until
 * its notice (`IncidentStates.S2`).
 */
export const sealAll = (
  sql: SqlClient.SqlClient,
  seals: ReadonlyArray<Seal>
): Effect.Effect<void, SqlError.SqlError> => {
  // Of two ends of a turn the first one counts.
  const first = new Map(seals.toReversed().map((seal) => [seal.event.turnId, seal]))
  const ends = Array.from(first.values(), ({ event: { endedAt, status, turnId }, id }) => ({
    turn_id: turnId,
    end_event_id: id,
    status,
    ended_at: endedAt,
    uncounted: status === "failed" ? 1 : null
  }))
  if (ends.length === 0) return Effect.void
  return Effect.asVoid(sql`
    UPDATE turns SET end_event_id = s.end_event_id, status = s.status, ended_at = s.ended_at, uncounted = s.uncounted
    FROM ${Rows.given(sql, "turns", ends)} WHERE turns.turn_id = s.turn_id AND turns.end_event_id IS NULL`)
}

/** The columns for `read`. */
export const COLUMNS = `t.turn_id AS "turnId", c.conversation_id AS "conversationId", t.prompt, t.accepted_at AS "acceptedAt",
  t.submitted, t.model AS "ownModel", e.payload AS "endEvent"`
/** A column: the parts of the prompt of the turn `t`, or null. */
export const PROMPT = "(SELECT p.content FROM turn_prompts p WHERE p.turn = t.number)"

/** The tables for `COLUMNS`: turns with the events that ended them; a `WHERE` follows. */
export const TABLES = `turns t
  JOIN conversations c ON c.number = t.conversation
  LEFT JOIN events e ON e.conversation = t.conversation AND e.event_id = t.end_event_id`

/** A row with these columns, which were written from these types. */
export interface Row extends Pick<Turn, "turnId" | "conversationId" | "acceptedAt"> {
  readonly prompt: string | null
  /** Absent where the query has no such column. */
  readonly content?: string | null
  /** Lists leave it out. */
  readonly submitted?: number | null
  readonly ownModel?: string | null
  readonly endEvent: string | null
}

/** The turn in a row that has these columns. */
export const read = Effect.fnUntraced(function* (row: Row): Effect.fn.Return<Turn, Schema.SchemaError> {
  return {
    turnId: row.turnId,
    conversationId: row.conversationId,
    prompt: row.prompt ?? undefined,
    acceptedAt: row.acceptedAt,
    ...defined({
      content: row.content == null ? undefined : yield* decodeContent(row.content),
      model: row.ownModel ?? undefined,
      isSubmitted: row.submitted === 1 ? (true as const) : undefined
    }),
    end: row.endEvent === null ? undefined : yield* endOf(row.endEvent, row)
  }
})

/** The JSON of a prompt's parts, exactly as the turn's first message has it, so that the event of that message can leave it out (`EventText`). */
export const jsonOfContent = (content: NonNullable<Turn["content"]>): string => JSON.stringify(content)

/** Reads the column. */
const decodeContent = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.NonEmptyArray(Message.InputPart)))

// --- internal

const found = <Key>(rows: Statement.Statement<Row>, keyOf: (turn: Turn) => Key) =>
  Effect.map(Effect.flatMap(rows, Effect.forEach(read)), (turns) => new Map(turns.map((turn) => [keyOf(turn), turn])))

const decodeEnd = Schema.decodeUnknownEffect(Schema.fromJsonString(TurnEvent.TurnEnd))

/** Decodes the event that ended a turn from its stored text. */
export const endOf = (
  payload: string,
  { conversationId, turnId }: Pick<Turn, "conversationId" | "turnId">
): Effect.Effect<TurnEvent.TurnEnd, Schema.SchemaError> =>
  decodeEnd(EventText.unpack(payload, { conversationId, turnId, type: "turn-end" }, undefined))
