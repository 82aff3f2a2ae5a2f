/**
 * The rows of events, of which messages are some: `append` numbers and writes those of a group of turns, for `TurnLog`; the other functions
 * read a page of a conversation, a turn, or one event. A payload leaves out what columns of the event and of its turn have (`EventText`).
 *
 * EventTable.E1. No two events of a turn have one position, though no index enforces it. The ids of a conversation have no gap, and one
 *     query reads the next id and the turn's last position. A process that has not seen another's event would use that event's id
 *     again, and the key refuses that.
 * EventTable.E2. A turn's positions have no gap (`EventSink` of the kernel), so its newest event has the last of them.
 * EventTable.E3. The ids of a conversation are 1, 2, 3 … in the order of its appends. An event whose (turn, position) is taken, on disk or
 *     earlier in the group, is dropped; the earlier event is returned instead, with its id (`TurnLog.W3`).
 */
import { Rows, type TableError } from "@holdfast/journal/sql"
import { type Ids, LongJson, TurnEvent } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import { type SqlClient, SqlError, type Statement } from "effect/sql"
import type { StoredEvent } from "../Stored.ts"
import * as EventText from "./EventText.ts"
import * as TurnTable from "./TurnTable.ts"

/** Events of one turn from a position on, encoded. */
export interface Append {
  readonly turnId: Ids.TurnId
  /** The position of the first of them among the events of the turn, 0-based. */
  readonly position: number
  readonly events: ReadonlyArray<EncodedEvent>
}

/** An event and its JSON. */
export type EncodedEvent = Pick<StoredEvent, "event" | "json">

/** An event with its position in its turn and its id in its conversation. */
export interface NumberedEvent extends StoredEvent {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  readonly position: number
}

/**
 * What `JournalTable.ends` reads beside its own columns: those of `TurnTable.End`. Each subquery is one step into an index, for any length
 * (E2). PostgreSQL locks the turns' rows, so that no seal is written beside them.
 */
export const ends = (sql: SqlClient.SqlClient) => ({
  columns: sql`,
    (SELECT c.conversation_id FROM conversations c WHERE c.number = t.conversation) AS "conversationId",
    ${Rows.number(sql, "t.conversation")} AS "conversation", t.end_event_id AS "endEventId",
    COALESCE((SELECT max(e.event_id) FROM events e WHERE e.conversation = t.conversation), 0) AS "lastEventId",
    (SELECT e.position FROM events e
      WHERE e.conversation = t.conversation AND e.event_id > t.after_event_id AND e.turn = t.number
      ORDER BY e.event_id DESC LIMIT 1) AS "lastPosition"`,
  lock: Rows.locking(sql, "ORDER BY t.number FOR NO KEY UPDATE")
})

/** Writes the new events of a group, seals the turns whose end is among them (`TurnLog.W3`), and returns the events of each append; `accepted`: turns of the same transaction. */
export const append =
  (sql: SqlClient.SqlClient) =>
  (
    appends: ReadonlyArray<Append>,
    ends: ReadonlyMap<Ids.TurnId, TurnTable.End>,
    accepted: ReadonlyMap<Ids.TurnId, TurnTable.NewTurn> = new Map()
  ): Effect.Effect<ReadonlyArray<ReadonlyArray<StoredEvent>>, TableError> =>
    Effect.gen(function* () {
      const misplaced = findMisplaced(appends, ends)
      if (misplaced !== undefined) return yield* misplaced
      const lastOf = ({ turnId }: Append): number => ends.get(turnId)?.lastPosition ?? -1
      const repeated = appends.filter((append) => append.position <= lastOf(append))
      const stored = yield* Effect.forEach(repeated, (repeat) => findRepeated(sql, repeat))
      const isOpening = ({ turnId }: Append) => ends.get(turnId)?.lastPosition === null && !accepted.has(turnId)
      const opened = appends.filter(isOpening).map(({ turnId }) => turnId)
      const turns = opened.length === 0 ? accepted : yield* TurnTable.findWhole(sql, opened)
      const openings = new Map(Array.from(turns, ([id, turn]) => [id, rowsOf(turn)]))
      const lastIds = new Map(Array.from(ends.values(), (end) => [end.conversationId, end.lastEventId]))
      const { added, results } = plan(appends, stored.flat(), lastIds)
      const rows = added.map(({ conversationId, event: { type }, id, json, position, turnId }) => {
        // The table refuses null.
        const { conversation = null, number: turn = null } = ends.get(turnId) ?? {}
        const payload = EventText.pack(json, { conversationId, turnId, type }, openings.get(turnId))
        return { conversation, event_id: id, turn, position, type, payload }
      })
      yield* Rows.insertAll(sql, "events", rows)
      yield* TurnTable.sealAll(
        sql,
        added.flatMap(({ event, id }) => (event.type === "turn-end" ? [{ event, id }] : []))
      )
      return results
    })

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

/** The events of a turn without its messages, but with the last answer of a turn that has ended. */
export const digestOf = (
  sql: SqlClient.SqlClient,
  id: Ids.TurnId
): Effect.Effect<ReadonlyArray<StoredEvent>, TableError> =>
  select(
    sql,
    sql`${untilEnd(sql, id)} AND (e.type <> 'message' OR e.event_id = (
        SELECT o.event_id FROM events o
        WHERE o.conversation = t.conversation AND o.event_id > t.after_event_id AND o.event_id <= t.end_event_id
          AND o.turn = t.number AND o.type = 'message' AND ${isAnswer(sql, "o.payload")}
        ORDER BY o.event_id DESC LIMIT 1))
      ORDER BY e.event_id`
  )

/** One event of a conversation, or none. */
export const at = (
  sql: SqlClient.SqlClient,
  { conversationId, id }: { readonly conversationId: Ids.ConversationId; readonly id: number }
) => select(sql, sql`${ofConversation(sql, conversationId)} AND e.event_id = ${id}`)

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

/** A condition: a stored message is one of the model: those of the user and of tools begin with their role (EventText), or are empty. */
export const isAnswer = (sql: SqlClient.SqlClient, payload: string): Statement.Fragment =>
  sql`(${sql.literal(payload)} <> '' AND substr(${sql.literal(payload)}, 1, 5) NOT IN ('user.', 'tool.'))`

/** The result of numbering a group. */
interface Plan {
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
  const results = appends.map(({ turnId, position, events }) =>
    events.map(({ event, json }, offset): StoredEvent => {
      const { conversationId } = event
      const key = keyOf(turnId, position + offset)
      const first = taken.get(key)
      if (first !== undefined) return { id: first.id, event: first.event, json: first.json } // EventTable.E3
      const id = (ids.get(conversationId) ?? 0) + 1 // EventTable.E3
      ids.set(conversationId, id)
      const numbered: NumberedEvent = { id, event, json, conversationId, turnId, position: position + offset }
      taken.set(key, numbered)
      added.push(numbered)
      return { id, event, json }
    })
  )
  return { added, results }
}

// --- internal

/** What the rows of a turn hold of its first events. */
const rowsOf = ({ acceptedAt, content, prompt }: TurnTable.NewTurn): EventText.Opening => ({
  acceptedAt,
  prompt,
  content: content && TurnTable.jsonOfContent(content)
})

/** The error for the first append of a group whose turn is missing or in another conversation, or whose position leaves a gap (E2). */
const findMisplaced = (
  appends: ReadonlyArray<Append>,
  ends: ReadonlyMap<Ids.TurnId, TurnTable.End>
): SqlError.SqlError | undefined => {
  const next = new Map(Array.from(ends, ([id, { lastPosition }]) => [id, (lastPosition ?? -1) + 1]))
  for (const { events, position, turnId } of appends) {
    const at = next.get(turnId)
    const of = ends.get(turnId)?.conversationId
    const other = events.find(({ event }) => event.conversationId !== of)
    if (at === undefined || other !== undefined)
      return refused(`conversation ${other?.event.conversationId} has no turn ${turnId}`)
    if (position > at) return refused(`turn ${turnId} has ${at} events, and this would be its event ${position + 1}`)
    next.set(turnId, Math.max(at, position + events.length))
  }
  return undefined
}

const refused = (message: string): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.ConstraintError({ message, cause: new Error(message), operation: "append" })
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

/** The columns were written from these types. */
interface Stored extends EventText.Opening, Pick<NumberedEvent, "id" | "turnId" | "conversationId" | "position"> {
  readonly type: string
  readonly payload: string
}

/** Decodes the JSON of an event. */
export const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(TurnEvent.PersistedEvent))

const selectNumbered = (
  sql: SqlClient.SqlClient,
  from: Statement.Fragment
): Effect.Effect<Array<NumberedEvent>, TableError> =>
  Effect.flatMap(
    // `prompt` and `content` only for a turn's first events, whose payload leaves it out.
    sql<Stored>`
      SELECT e.event_id AS id, t.turn_id AS "turnId", c.conversation_id AS "conversationId", e.position, e.type, e.payload,
        t.accepted_at AS "acceptedAt", CASE e.payload WHEN '' THEN t.prompt END AS prompt,
        CASE WHEN e.payload = '' AND e.type = 'message' THEN ${sql.literal(TurnTable.PROMPT)} END AS content
      ${from}`,
    Effect.forEach((row) => {
      const { conversationId, id, position, turnId } = row
      const json = EventText.unpack(row.payload, row, row)
      const numbered = Effect.map(decode(json), (event) => ({ conversationId, turnId, id, position, event, json }))
      return LongJson.isLong(json) ? Effect.andThen(Effect.yieldNow, numbered) : numbered
    })
  )

const select = (sql: SqlClient.SqlClient, from: Statement.Fragment): Effect.Effect<Array<StoredEvent>, TableError> =>
  Effect.map(selectNumbered(sql, from), (rows) => rows.map(({ event, id, json }) => ({ id, event, json })))

/** No id has a slash. */
const keyOf = (turnId: Ids.TurnId, position: number): string => `${turnId}/${position}`
