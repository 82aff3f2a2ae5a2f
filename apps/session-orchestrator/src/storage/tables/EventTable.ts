/**
 * Reads and writes the rows of events; a message is an event.
 *
 * EventTable.E1. No two events of a turn have one position, though no index enforces it. The ids of a conversation have no gap, and one
 *     query reads the next id and the turn's last position. A process that has not seen another's event would use that event's id
 *     again, and the key refuses that.
 * EventTable.E2. A turn's positions have no gap (`EventSink.S3` of the kernel), so its newest event has the last of them.
 * EventTable.E3. The ids of a conversation are 1, 2, 3 … in the order of its appends. An event whose (turn, position) is taken, on disk or
 *     earlier in the group, is dropped; the earlier event is returned instead, with its id (`Store.W2`).
 */
import { Rows, type TableError } from "@holdfast/journal/sql"
import { Ids, LongJson, type Message, TurnEvent } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import { type SqlClient, SqlError, type Statement } from "effect/sql"
import type { Tail } from "./ConversationTable.ts"
import type { StoredEvent } from "../Store.ts"
import * as EventText from "./EventText.ts"
import * as TurnTable from "./TurnTable.ts"

/** Writes the new events of a group, seals the turns whose end is among them (`Store.W3`), and returns the events of each append. */
export const append =
  (sql: SqlClient.SqlClient) =>
  (appends: ReadonlyArray<Append>): Effect.Effect<ReadonlyArray<ReadonlyArray<StoredEvent>>, TableError> =>
    Effect.gen(function* () {
      const ends = yield* findEnds(sql, appends)
      const misplaced = findMisplaced(appends, ends)
      if (misplaced !== undefined) return yield* misplaced
      const lastOf = ({ turnId }: Append): number => ends.get(turnId)?.lastPosition ?? -1
      const repeated = appends.filter((append) => append.position <= lastOf(append))
      const stored = yield* Effect.forEach(repeated, (repeat) => findRepeated(sql, repeat))
      const opened = appends.filter((append) => append.position === 0 && lastOf(append) < 0).map(({ turnId }) => turnId)
      const turns = opened.length === 0 ? [] : yield* TurnTable.findAll(sql, opened)
      const openings = new Map(turns.map((turn) => [turn.turnId, turn]))
      const lastIds = new Map([...ends.values()].map((end) => [end.conversationId, end.lastEventId]))
      const { added, results } = plan(appends, stored.flat(), lastIds)
      yield* insert(sql, added, (placed) => {
        const { conversation = null, number = null } = ends.get(placed.turnId) ?? {}
        const opened = openings.get(placed.turnId)
        return { conversation, number, opening: opened && rowsOf(opened) }
      })
      return results
    })

/** The first events of a turn that is being accepted, each with its JSON and the text that is stored. */
export type Opening = ReadonlyArray<{
  readonly event: TurnEvent.PersistedEvent
  readonly json: string
  readonly payload: string
}>

/** What the rows of a turn hold of its first events. */
export const rowsOf = ({ acceptedAt, content, prompt }: TurnTable.NewTurn): EventText.Opening => ({
  acceptedAt,
  prompt,
  content: content && TurnTable.jsonOfContent(content)
})

/**
 * Writes the first events of turns, in the transaction that accepts them, and returns the events of each turn that has some.
 *
 * @param tails the row number and last event id of each conversation
 * @param numbers the numbers of the turns' rows
 */
export const open = (
  sql: SqlClient.SqlClient,
  turns: ReadonlyArray<{ readonly turn: TurnTable.NewTurn; readonly opening: Opening | undefined }>,
  tails: ReadonlyMap<Ids.ConversationId, Tail>,
  numbers: ReadonlyMap<Ids.TurnId, number>
): Effect.Effect<ReadonlyMap<Ids.TurnId, ReadonlyArray<StoredEvent>>, SqlError.SqlError> => {
  const lastIds = new Map<Ids.ConversationId, number>()
  const rows: Array<Row> = []
  const opened = new Map<Ids.TurnId, ReadonlyArray<StoredEvent>>()
  for (const { opening, turn } of turns) {
    if (opening === undefined) continue
    const { conversationId, turnId } = turn
    // The table refuses null.
    const { lastEventId = 0, number: conversation = null } = tails.get(conversationId) ?? {}
    const after = lastIds.get(conversationId) ?? lastEventId
    lastIds.set(conversationId, after + opening.length)
    const number = numbers.get(turnId) ?? null
    opening.forEach(({ event: { type }, payload }, position) =>
      rows.push({ conversation, event_id: after + 1 + position, turn: number, position, type, payload })
    )
    opened.set(
      turnId,
      opening.map(({ event, json }, position) => ({ id: after + 1 + position, event, json }))
    )
  }
  return Effect.as(Rows.insertAll(sql, "events", rows), opened)
}

/** The next events of a conversation after an id, at most `limit`. */
export const page = (
  sql: SqlClient.SqlClient,
  id: Ids.ConversationId,
  after: number,
  limit: number
): Effect.Effect<ReadonlyArray<StoredEvent>, TableError> =>
  select(sql, sql`${ofConversation(sql, id)} AND e.event_id > ${after} ORDER BY e.event_id LIMIT ${limit}`)

/** The events of a turn, up to its end. */
export const ofTurn = (
  sql: SqlClient.SqlClient,
  id: Ids.TurnId
): Effect.Effect<ReadonlyArray<StoredEvent>, TableError> => select(sql, sql`${untilEnd(sql, id)} ORDER BY e.event_id`)

/** The events of a turn without the messages of the user and of tools, whose files stay in the database. */
export const outlineOf = (
  sql: SqlClient.SqlClient,
  id: Ids.TurnId
): Effect.Effect<ReadonlyArray<StoredEvent>, TableError> =>
  Effect.map(
    select(
      sql,
      sql`${untilEnd(sql, id)}
        AND NOT (e.type = 'message' AND NOT ${isAnswer(sql, "e.payload")})
        ORDER BY e.event_id`
    ),
    (events) => events.filter(({ event }) => event.type !== "message" || event.message.role === "assistant")
  )

/** What the state of a turn needs of its events: its start, changes of its model, and the last answer of a turn that has ended. */
export const digestOf = (
  sql: SqlClient.SqlClient,
  id: Ids.TurnId
): Effect.Effect<ReadonlyArray<StoredEvent>, TableError> =>
  Effect.flatMap(
    select(
      sql,
      sql`${untilEnd(sql, id)} AND (e.type IN ('turn-start', 'model-change') OR e.event_id = (
          SELECT o.event_id FROM events o
          WHERE o.conversation = t.conversation AND o.event_id > t.after_event_id AND o.event_id <= t.end_event_id
            AND o.turn = t.number AND o.type = 'message' AND ${isAnswer(sql, "o.payload")}
          ORDER BY o.event_id DESC LIMIT 1))
        ORDER BY e.event_id`
    ),
    (events) =>
      events.some(({ event }) => event.type === "message" && event.message.role !== "assistant")
        ? outlineOf(sql, id)
        : Effect.succeed(events)
  )

/** The messages of a conversation. */
export const messages = (
  sql: SqlClient.SqlClient,
  id: Ids.ConversationId
): Effect.Effect<ReadonlyArray<Message.Message>, TableError> =>
  Effect.map(select(sql, sql`${ofConversation(sql, id)} AND e.type = 'message' ORDER BY e.event_id`), (events) =>
    events.flatMap(({ event }) => (event.type === "message" ? [event.message] : []))
  )

/** The target that each turn changed to last, `provider/model`; turns without a change have no entry. */
export const modelChanges = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyMap<Ids.TurnId, string>, TableError> =>
  Effect.map(
    select(
      sql,
      sql`FROM events e JOIN turns t ON t.number = e.turn JOIN conversations c ON c.number = e.conversation
        WHERE e.type = 'model-change' ORDER BY e.conversation, e.event_id`
    ),
    (events) =>
      new Map(events.flatMap(({ event }) => (event.type === "model-change" ? [[event.turnId, event.to] as const] : [])))
  )

/** Reads the pages that the next event of the newest conversation would change: damage there is found before a prompt is accepted. */
export const probe = (sql: SqlClient.SqlClient): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(sql`
    SELECT (SELECT max(number) FROM turns) AS turns,
      (SELECT max(event_id) FROM events WHERE conversation = (SELECT max(number) FROM conversations)) AS events`)

/** PostgreSQL's largest INTEGER. */
export const MAX_ID = 2_147_483_647

/** Events of a turn, up to its end: in a long conversation many events may follow it. Tests ask the plan of it. */
export const untilEnd = (sql: SqlClient.SqlClient, id: Ids.TurnId): Statement.Fragment =>
  sql`${ofOne(sql, id)} AND e.event_id <= COALESCE(t.end_event_id, ${MAX_ID})`

/** A condition: a stored message is one of the model; a message may also be stored in a form that does not begin with its role (EventText). */
export const isAnswer = (sql: SqlClient.SqlClient, payload: string): Statement.Fragment =>
  sql`(${sql.literal(payload)} <> '' AND substr(${sql.literal(payload)}, 1, 5) NOT IN ${sql.in(EventText.INPUTS)})`

/** Events of one turn from a position on, encoded. */
export interface Append {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  /** The position of the first of them among the events of the turn, 0-based. */
  readonly position: number
  readonly events: ReadonlyArray<{ readonly event: TurnEvent.PersistedEvent; readonly json: string }>
}

/** An event with its position in its turn and its id in its conversation. */
export interface NumberedEvent extends StoredEvent {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  readonly position: number
}

/** The result of numbering a group. */
export interface Plan {
  /** The events to write. */
  readonly added: ReadonlyArray<NumberedEvent>
  /** The events of each append, in the order of the group. */
  readonly results: ReadonlyArray<ReadonlyArray<StoredEvent>>
}

/**
 * Numbers the events of a group: a pure function of the group and of the events on disk.
 *
 * @param stored the events on disk that have a (turn, position) of the group
 * @param lastIds the highest id of each conversation; absent where there is none
 */
export const plan = (
  appends: ReadonlyArray<Append>,
  stored: ReadonlyArray<NumberedEvent>,
  lastIds: ReadonlyMap<Ids.ConversationId, number>
): Plan => {
  const taken = new Map(stored.map((event) => [keyOf(event.turnId, event.position), event]))
  const ids = new Map(lastIds)
  const added: Array<NumberedEvent> = []
  const results = appends.map(({ conversationId, turnId, position, events }) =>
    events.map(({ event, json }, offset): StoredEvent => {
      const key = keyOf(turnId, position + offset)
      const first = taken.get(key)
      if (first !== undefined) return { id: first.id, event: first.event, json: first.json } // EventTable.E3
      const id = (ids.get(conversationId) ?? 0) + 1 // EventTable.E3
      ids.set(conversationId, id)
      const numbered: NumberedEvent = { conversationId, turnId, position: position + offset, id, event, json }
      taken.set(key, numbered)
      added.push(numbered)
      return { id, event, json }
    })
  )
  return { added, results }
}

// --- internal

/** The row numbers, last ids and last positions of the turns of a group. Each subquery is one step into an index, for any length (E2). */
const findEnds = (sql: SqlClient.SqlClient, appends: ReadonlyArray<Append>) => {
  const ids = [...new Set(appends.map((append) => append.turnId))]
  return Effect.map(
    // Keys and numbers, so there is nothing to decode.
    sql<End>`
      SELECT t.turn_id AS "turnId", ${Rows.number(sql, "t.number")} AS "number",
        c.conversation_id AS "conversationId", ${Rows.number(sql, "c.number")} AS "conversation",
        COALESCE((SELECT max(e.event_id) FROM events e WHERE e.conversation = t.conversation), 0) AS "lastEventId",
        (SELECT e.position FROM events e
          WHERE e.conversation = t.conversation AND e.event_id > t.after_event_id AND e.turn = t.number
          ORDER BY e.event_id DESC LIMIT 1) AS "lastPosition"
      FROM turns t JOIN conversations c ON c.number = t.conversation
      WHERE ${Rows.have(sql, "t.turn_id", ids)}`,
    (rows) => new Map(rows.map((row) => [row.turnId, row]))
  )
}

interface End {
  readonly turnId: Ids.TurnId
  readonly number: number
  readonly conversationId: Ids.ConversationId
  /** Its row's number. */
  readonly conversation: number
  readonly lastEventId: number
  readonly lastPosition: number | null
}

/** The error for the first append of a group whose turn is missing or in another conversation, or whose position leaves a gap (E2). */
const findMisplaced = (
  appends: ReadonlyArray<Append>,
  ends: ReadonlyMap<Ids.TurnId, End>
): SqlError.SqlError | undefined => {
  const next = new Map(Array.from(ends, ([id, { lastPosition }]) => [id, (lastPosition ?? -1) + 1]))
  for (const { conversationId, events, position, turnId } of appends) {
    const at = next.get(turnId)
    if (at === undefined || ends.get(turnId)?.conversationId !== conversationId) {
      return refused(`conversation ${conversationId} has no turn ${turnId}`)
    }
    if (position > at) return refused(`turn ${turnId} has ${at} events, and this would be its event ${position + 1}`)
    next.set(turnId, Math.max(at, position + events.length))
  }
  return undefined
}

const refused = (message: string): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.ConstraintError({ message, cause: new Error(message), operation: "append" })
  })

/** A type and no interface, so that it is a record of its columns. The table refuses null. */
type Row = {
  readonly conversation: number | null
  readonly event_id: number
  readonly turn: number | null
  readonly position: number
  readonly type: string
  readonly payload: string
}

/** Numbers of the rows that an event belongs to; the table refuses null. */
interface RowKeys {
  readonly conversation: number | null
  readonly number: number | null
  readonly opening: EventText.Opening | undefined
}

const insert = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  added: ReadonlyArray<NumberedEvent>,
  keysOf: (placed: NumberedEvent) => RowKeys
): Effect.fn.Return<void, SqlError.SqlError> {
  const rows = added.map((placed): Row => {
    const { conversationId, event, id, json, position, turnId } = placed
    const { conversation, number, opening } = keysOf(placed)
    const { type } = event
    const payload = EventText.pack(json, { conversationId, turnId, type }, opening)
    return { conversation, event_id: id, turn: number, position, type, payload }
  })
  yield* Rows.insertAll(sql, "events", rows)
  yield* TurnTable.sealAll(
    sql,
    added.flatMap(({ event, id }) => (event.type === "turn-end" ? [{ event, id }] : []))
  )
})

const findRepeated = (sql: SqlClient.SqlClient, { events, position, turnId }: Append) =>
  selectNumbered(
    sql,
    sql`${ofOne(sql, turnId)} AND e.position >= ${position} AND e.position < ${position + events.length} ORDER BY e.event_id`
  )

/** Events of a conversation: what follows `SELECT`, to go on with `AND`. */
const ofConversation = (sql: SqlClient.SqlClient, id: Ids.ConversationId): Statement.Fragment =>
  sql`FROM conversations c JOIN events e ON e.conversation = c.number JOIN turns t ON t.number = e.turn
    WHERE c.conversation_id = ${id}`

/**
 * Events of a turn.
 *
 * The sum hides from PostgreSQL that `c.number` is the conversation of the events too. Otherwise its plan reads all events of the
 * conversation, and drops those outside of the turn's ids.
 */
const ofOne = (sql: SqlClient.SqlClient, id: Ids.TurnId): Statement.Fragment =>
  sql`FROM turns t JOIN conversations c ON c.number = t.conversation + 0
    JOIN events e ON e.conversation = t.conversation AND e.event_id > t.after_event_id AND e.turn = t.number
    WHERE t.turn_id = ${id}`

const Stored = Schema.Struct({
  event_id: Schema.Int,
  turn_id: Ids.TurnId,
  conversation_id: Ids.ConversationId,
  position: Schema.Int,
  type: Schema.String,
  payload: Schema.String,
  accepted_at: Schema.Finite,
  /** Only for a turn's first events, whose payload leaves it out. */
  prompt: Schema.NullOr(Schema.String),
  content: Schema.NullOr(Schema.String)
})
const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Stored))
const decodeEvent = Schema.decodeUnknownEffect(Schema.fromJsonString(TurnEvent.PersistedEvent))

const selectNumbered = (
  sql: SqlClient.SqlClient,
  from: Statement.Fragment
): Effect.Effect<Array<NumberedEvent>, TableError> =>
  sql`
    SELECT e.event_id, t.turn_id, c.conversation_id, e.position, e.type, e.payload, t.accepted_at,
      CASE e.payload WHEN '' THEN t.prompt END AS prompt,
      CASE WHEN e.payload = '' AND e.type = 'message' THEN ${sql.literal(TurnTable.PROMPT)} END AS content
    ${from}`.pipe(
    Effect.flatMap((rows) => decodeRows(rows)),
    Effect.flatMap(Effect.forEach(numberedOf))
  )

const numberedOf = (row: typeof Stored.Type): Effect.Effect<NumberedEvent, Schema.SchemaError> => {
  const identity = { conversationId: row.conversation_id, turnId: row.turn_id }
  const opening = { acceptedAt: row.accepted_at, prompt: row.prompt, content: row.content }
  const json = EventText.unpack(row.payload, { ...identity, type: row.type }, opening)
  const placed = Effect.map(decodeEvent(json), (event) => ({
    ...identity,
    id: row.event_id,
    position: row.position,
    event,
    json
  }))
  return LongJson.isLong(json) ? Effect.andThen(Effect.yieldNow, placed) : placed
}

const select = (sql: SqlClient.SqlClient, from: Statement.Fragment): Effect.Effect<Array<StoredEvent>, TableError> =>
  Effect.map(selectNumbered(sql, from), (rows) => rows.map(({ event, id, json }) => ({ id, event, json })))

/** No id has a slash. */
const keyOf = (turnId: Ids.TurnId, position: number): string => `${turnId}/${position}`
