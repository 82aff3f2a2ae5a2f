/** The rows of events. A message is one of them. */
import { Ids, type Message, TurnEvent } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import { type Append, type Placed, plan } from "./EventNumbers.ts"
import { insertAll } from "./Inserts.ts"
import type { StoredEvent } from "./Store.ts"
import * as TurnTable from "./TurnTable.ts"

type Failure = SqlError.SqlError | Schema.SchemaError

/** Writes what is new of a group, with the ends of turns in it (W3), and gives each append its events. */
export const append =
  (sql: SqlClient.SqlClient) =>
  (appends: ReadonlyArray<Append>): Effect.Effect<ReadonlyArray<ReadonlyArray<StoredEvent>>, Failure> =>
    Effect.gen(function* () {
      const turns = new Map((yield* findEnds(sql, appends)).map((turn) => [turn.turn_id, turn]))
      const repeated = appends.filter(({ position, turnId }) => position <= (turns.get(turnId)?.last_position ?? -1))
      const stored = yield* Effect.forEach(repeated, (repeat) => findRepeated(sql, repeat))
      const lastIds = new Map([...turns.values()].map((turn) => [turn.conversation_id, turn.last_event_id ?? 0]))
      const { added, results } = plan(appends, stored.flat(), lastIds)
      yield* insertAll(sql, "events", added.map(eventRowOf))
      for (const { event, id, turnId } of added) if (event.type === "turn-end") yield* TurnTable.seal(sql, turnId, id)
      return results
    })

/** The next events of a conversation after an id, at most `limit`. */
export const page = (
  sql: SqlClient.SqlClient,
  id: Ids.ConversationId,
  after: number,
  limit: number
): Effect.Effect<ReadonlyArray<StoredEvent>, Failure> =>
  select(sql, sql`conversation_id = ${id} AND event_id > ${after} ORDER BY event_id LIMIT ${limit}`)

/** The events of a turn. */
export const ofTurn = (sql: SqlClient.SqlClient, id: Ids.TurnId): Effect.Effect<ReadonlyArray<StoredEvent>, Failure> =>
  select(sql, sql`turn_id = ${id} ORDER BY position`)

/** The messages of a conversation. */
export const messages = (
  sql: SqlClient.SqlClient,
  id: Ids.ConversationId
): Effect.Effect<ReadonlyArray<Message.Message>, Failure> =>
  Effect.map(select(sql, sql`conversation_id = ${id} AND type = 'message' ORDER BY event_id`), (events) =>
    events.flatMap(({ event }) => (event.type === "message" ? [event.message] : []))
  )

// --- internal

const Row = Schema.Struct({
  event_id: Schema.Int,
  turn_id: Ids.TurnId,
  position: Schema.Int,
  conversation_id: Ids.ConversationId,
  payload: Schema.String
})
const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))
const decodePayload = Schema.decodeUnknownEffect(Schema.fromJsonString(TurnEvent.PersistedEvent))

const TurnRow = Schema.Struct({
  turn_id: Ids.TurnId,
  conversation_id: Ids.ConversationId,
  last_event_id: Schema.NullOr(Schema.Int),
  last_position: Schema.NullOr(Schema.Int)
})
const decodeTurnRows = Schema.decodeUnknownEffect(Schema.Array(TurnRow))

/** Where the turns of a group stand. Each subquery is one step into an index, however long the conversation. */
const findEnds = (sql: SqlClient.SqlClient, appends: ReadonlyArray<Append>) => {
  const ids = [...new Set(appends.map((append) => append.turnId))]
  return Effect.flatMap(
    sql`
      SELECT t.turn_id, t.conversation_id,
        (SELECT max(e.event_id) FROM events e WHERE e.conversation_id = t.conversation_id) AS last_event_id,
        (SELECT max(e.position) FROM events e WHERE e.turn_id = t.turn_id) AS last_position
      FROM turns t WHERE ${sql.in("t.turn_id", ids)}`,
    (rows) => decodeTurnRows(rows)
  )
}

const findRepeated = (sql: SqlClient.SqlClient, { events, position, turnId }: Append) =>
  selectPlaced(
    sql,
    sql`turn_id = ${turnId} AND position >= ${position} AND position < ${position + events.length} ORDER BY position`
  )

const selectPlaced = (sql: SqlClient.SqlClient, where: Statement.Fragment): Effect.Effect<Array<Placed>, Failure> =>
  sql`SELECT event_id, turn_id, position, conversation_id, payload FROM events WHERE ${where}`.pipe(
    Effect.flatMap((rows) => decodeRows(rows)),
    Effect.flatMap(
      Effect.forEach((row) =>
        Effect.map(decodePayload(row.payload), (event): Placed => ({
          id: row.event_id,
          conversationId: row.conversation_id,
          turnId: row.turn_id,
          position: row.position,
          event,
          json: row.payload
        }))
      )
    )
  )

const select = (sql: SqlClient.SqlClient, where: Statement.Fragment): Effect.Effect<Array<StoredEvent>, Failure> =>
  Effect.map(selectPlaced(sql, where), (rows) => rows.map(({ event, id, json }) => ({ id, event, json })))

const eventRowOf = (placed: Placed) => ({
  conversation_id: placed.conversationId,
  event_id: placed.id,
  turn_id: placed.turnId,
  position: placed.position,
  type: placed.event.type,
  payload: placed.json
})
