/**
 * Reads and writes the rows of turns.
 *
 * A turn's end is in its `turn-end` event, to which the row points (`Store.W3`). `number` is the order of acceptance over all
 * conversations; it does not depend on a clock.
 */
import { Rows, type TableError } from "@holdfast/journal/sql"
import { Ids, Message, TurnEvent } from "@holdfast/wire"
import { Effect, Option, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import type { Tail } from "./ConversationTable.ts"
import type { Turn } from "../Store.ts"
import * as EventText from "./EventText.ts"

/** A turn that is being accepted. */
export type NewTurn = Omit<Turn, "end">

/**
 * Adds turns, in order, and returns the numbers of their rows. Fails if an id is taken.
 *
 * @param tails the row number and last event id of each conversation: a turn's events follow that event. An unknown conversation has no
 *   number, and the table refuses a turn without one
 */
export const insert = (
  sql: SqlClient.SqlClient,
  turns: ReadonlyArray<NewTurn>,
  tails: ReadonlyMap<Ids.ConversationId, Tail>
): Effect.Effect<ReadonlyMap<Ids.TurnId, number>, SqlError.SqlError> =>
  Rows.insertAll<{ readonly turn_id: Ids.TurnId; readonly number: number }>(
    sql,
    "turns",
    turns.map((turn) => {
      const tail = tails.get(turn.conversationId)
      return {
        turn_id: turn.turnId,
        conversation: tail?.number ?? null,
        prompt: turn.prompt ?? null,
        accepted_at: turn.acceptedAt,
        after_event_id: tail?.lastEventId ?? 0,
        submitted: turn.isSubmitted === true ? 1 : null
      }
    }),
    sql`RETURNING turn_id, ${Rows.number(sql, "number")} AS "number"`
  ).pipe(
    Effect.map((rows) => new Map(rows.map(({ number, turn_id }) => [turn_id, number]))),
    Effect.tap((numbers) => insertPrompts(sql, turns, numbers))
  )

/** A turn by its id. */
export const find = (sql: SqlClient.SqlClient, id: Ids.TurnId): Effect.Effect<Option.Option<Turn>, TableError> =>
  Effect.map(findEach(sql, [id]), ([turn]) => Option.fromUndefinedOr(turn))

/** Turns in the order of their ids; `undefined` for an unknown id. */
export const findEach = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.TurnId>
): Effect.Effect<ReadonlyArray<Turn | undefined>, TableError> =>
  Effect.map(select(sql, hasId(sql, ids)), (turns) => {
    const found = new Map(turns.map((turn) => [turn.turnId, turn]))
    return ids.map((id) => found.get(id))
  })

/** The turns with these ids and their parts (`Turn.content`), oldest first; unknown ids are left out. */
export const findAll = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.TurnId>
): Effect.Effect<ReadonlyArray<Turn>, TableError> =>
  select(sql, Rows.have(sql, "t.turn_id", ids), `${COLUMNS}, ${CONTENT}`)

/** The newest turn of each conversation, in the order of their ids; `undefined` where there is none. */
export const lastEach = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.ConversationId>
): Effect.Effect<ReadonlyArray<Turn | undefined>, TableError> =>
  Effect.map(select(sql, isLastOf(sql, ids)), (turns) => {
    const found = new Map(turns.map((turn) => [turn.conversationId, turn]))
    return ids.map((id) => found.get(id))
  })

/** The condition of `findEach`, for `statement`. */
export const hasId = (sql: SqlClient.SqlClient, ids: ReadonlyArray<Ids.TurnId>): Statement.Fragment =>
  Rows.have(sql, "t.turn_id", ids)

/** The condition of `lastEach`, for `statement`. */
export const isLastOf = (sql: SqlClient.SqlClient, ids: ReadonlyArray<Ids.ConversationId>): Statement.Fragment => sql`
  t.number IN (
    SELECT (SELECT max(o.number) FROM turns o WHERE o.conversation = k.number)
    FROM conversations k WHERE ${Rows.have(sql, "k.conversation_id", ids)})`

/** Selects turns, oldest first, each with the event that ended it. */
export const statement = (
  sql: SqlClient.SqlClient,
  where: Statement.Fragment,
  columns = COLUMNS
): Statement.Statement<object> =>
  sql`SELECT ${sql.literal(columns)} FROM ${sql.literal(TABLES)} WHERE ${where} ORDER BY t.number`

/** The turns without an end, oldest first. */
export const unsealed = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyArray<Turn>, TableError> =>
  select(sql, sql`t.end_event_id IS NULL`)

/** Every turn, oldest first. */
export const all = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyArray<Turn>, TableError> =>
  select(sql, sql`t.number > 0`)

/** The event that ended a turn, with its id. */
export interface Seal {
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
  const [only] = ends
  if (only === undefined) return Effect.void
  const list = JSON.stringify(ends)
  const seal = sql.onDialectOrElse({
    pg: () => {
      const { turn_id, ...end } = only
      return ends.length === 1
        ? sql`UPDATE turns SET ${sql.update(end)} WHERE turn_id = ${turn_id} AND end_event_id IS NULL`
        : sql`
            UPDATE turns SET end_event_id = s.end_event_id, status = s.status, ended_at = s.ended_at, uncounted = s.uncounted
            FROM json_populate_recordset(NULL::turns, ${list}::json) s
            WHERE turns.turn_id = s.turn_id AND turns.end_event_id IS NULL`
    },
    orElse: () => sql`
      UPDATE turns SET end_event_id = s.value ->> 'end_event_id', status = s.value ->> 'status',
        ended_at = s.value ->> 'ended_at', uncounted = s.value ->> 'uncounted'
      FROM json_each(${list}) s
      WHERE turns.turn_id = s.value ->> 'turn_id' AND turns.end_event_id IS NULL`
  })
  return Effect.asVoid(seal)
}

/** The columns for `read`. */
export const COLUMNS =
  "t.turn_id, c.conversation_id, t.prompt, t.accepted_at, t.submitted, t.model AS turn_model, e.payload AS end_event"
/** A column: the parts of the prompt of the turn `t`, or null. */
export const PROMPT = "(SELECT p.content FROM turn_prompts p WHERE p.turn = t.number)"

/** A further column, for the parts of prompts (`Turn.content`). */
export const CONTENT = `${PROMPT} AS content`
/** The tables for `COLUMNS`: turns with the events that ended them; a `WHERE` follows. */
export const TABLES = `turns t
  JOIN conversations c ON c.number = t.conversation
  LEFT JOIN events e ON e.conversation = t.conversation AND e.event_id = t.end_event_id`

/** The turns in rows that have these columns. */
export const read = (rows: ReadonlyArray<object>): Effect.Effect<ReadonlyArray<Turn>, Schema.SchemaError> =>
  Effect.flatMap(decodeRows(rows), Effect.forEach(turnOf))

/** The JSON of a prompt's parts, exactly as the turn's first message has it, so that the event of that message can leave it out (`EventText`). */
export const jsonOfContent = (content: NonNullable<Turn["content"]>): string => JSON.stringify(content)

/** Writes the parts of turns that were added in the same transaction. */
const insertPrompts = (
  sql: SqlClient.SqlClient,
  turns: ReadonlyArray<Pick<Turn, "turnId" | "content">>,
  numbers: ReadonlyMap<string, number>
): Effect.Effect<void, SqlError.SqlError> => {
  const rows = turns.flatMap(({ content, turnId }) =>
    content === undefined ? [] : [{ turn: numbers.get(turnId) ?? null, content: jsonOfContent(content) }]
  )
  return rows.length === 0 ? Effect.void : Effect.asVoid(Rows.insertAll(sql, "turn_prompts", rows))
}

/** Reads the column. */
const decodeContent = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.NonEmptyArray(Message.InputPart)))

// --- internal

const Row = Schema.Struct({
  turn_id: Ids.TurnId,
  conversation_id: Ids.ConversationId,
  prompt: Schema.NullOr(Schema.String),
  /** Absent where the query has no `CONTENT`. */
  content: Schema.optionalKey(Schema.NullOr(Schema.String)),
  accepted_at: Schema.Finite,
  /** Lists leave it out. */
  submitted: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
  /** Lists leave it out. */
  turn_model: Schema.optionalKey(Schema.NullOr(Schema.String)),
  end_event: Schema.NullOr(Schema.String)
})

const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))
const decodeEnd = Schema.decodeUnknownEffect(Schema.fromJsonString(TurnEvent.TurnEnd))

const select = (
  sql: SqlClient.SqlClient,
  where: Statement.Fragment,
  columns?: string
): Effect.Effect<ReadonlyArray<Turn>, TableError> =>
  Effect.flatMap(statement(sql, where, columns), (rows) => read(rows))

const turnOf = Effect.fnUntraced(function* (row: typeof Row.Type): Effect.fn.Return<Turn, Schema.SchemaError> {
  const turn: NewTurn = {
    turnId: row.turn_id,
    conversationId: row.conversation_id,
    prompt: row.prompt ?? undefined,
    ...(row.content == null ? undefined : { content: yield* decodeContent(row.content) }),
    acceptedAt: row.accepted_at,
    ...(row.turn_model == null ? undefined : { model: row.turn_model }),
    ...(row.submitted === 1 ? { isSubmitted: true } : undefined)
  }
  return { ...turn, end: row.end_event === null ? undefined : yield* endOf(row.end_event, turn) }
})

/** Decodes the event that ended a turn from its stored text. */
export const endOf = (
  payload: string,
  { conversationId, turnId }: Pick<Turn, "conversationId" | "turnId">
): Effect.Effect<TurnEvent.TurnEnd, Schema.SchemaError> =>
  decodeEnd(EventText.unpack(payload, { conversationId, turnId, type: "turn-end" }, undefined))
