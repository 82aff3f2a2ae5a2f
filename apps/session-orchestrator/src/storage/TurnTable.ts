/**
 * The rows of turns. How a turn ended is in its `turn-end` event, to which the row points (W3).
 *
 * `seq` is the order of acceptance over all conversations; no clock is asked for it.
 */
import { Ids, TurnEvent } from "@holdfast/wire"
import { Effect, Option, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import { padded } from "./GroupRead.ts"
import { insertAll } from "./Inserts.ts"
import type { Acceptance, Turn } from "./Store.ts"

type Failure = SqlError.SqlError | Schema.SchemaError

/** A turn as it comes in. */
export type NewTurn = Omit<Turn, "end">

/** What becomes of its row. */
export type Entry = Exclude<Acceptance, { readonly _tag: "Accepted" }> | { readonly _tag: "Accepted" }

/** Records turns whose ids are free, and says of each what became of it. The first of a group with an id has it. */
export const accept =
  (sql: SqlClient.SqlClient) =>
  (turns: ReadonlyArray<NewTurn>): Effect.Effect<ReadonlyArray<Entry>, Failure> =>
    Effect.gen(function* () {
      const ids = turns.map((turn) => turn.turnId)
      const known = new Map((yield* select(sql, sql.in("t.turn_id", ids))).map((turn) => [turn.turnId, turn]))
      const added: Array<NewTurn> = []
      const acceptances = turns.map((turn): Entry => {
        const first = known.get(turn.turnId)
        if (first !== undefined) return { _tag: isSame(first, turn) ? "Known" : "Conflict", turn: first }
        known.set(turn.turnId, { ...turn, end: undefined })
        added.push(turn)
        return { _tag: "Accepted" }
      })
      yield* insertAll(
        sql,
        "turns",
        added.map((turn) => ({
          turn_id: turn.turnId,
          conversation_id: turn.conversationId,
          prompt: turn.prompt ?? null,
          accepted_at: turn.acceptedAt
        }))
      )
      return acceptances
    })

export const find = (sql: SqlClient.SqlClient, id: Ids.TurnId): Effect.Effect<Option.Option<Turn>, Failure> =>
  Effect.map(select(sql, sql`t.turn_id = ${id}`), ([turn]) => Option.fromUndefinedOr(turn))

/** Those of some turns that are there. */
export const findAll = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<Ids.TurnId>
): Effect.Effect<ReadonlyArray<Turn>, Failure> => select(sql, sql.in("t.turn_id", padded(ids)))

/** The newest turn of a conversation. */
export const last = (sql: SqlClient.SqlClient, id: Ids.ConversationId): Effect.Effect<Option.Option<Turn>, Failure> =>
  Effect.map(select(sql, sql`t.seq = (SELECT max(seq) FROM turns WHERE conversation_id = ${id})`), ([turn]) =>
    Option.fromUndefinedOr(turn)
  )

/** The turns without an end, oldest first. */
export const unsealed = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyArray<Turn>, Failure> =>
  select(sql, sql`t.end_event_id IS NULL`)

/** Every turn, oldest first. */
export const all = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyArray<Turn>, Failure> =>
  select(sql, sql`t.seq > 0`)

/** Seals a turn with the event that ended it. A turn that is sealed stays as it is (E3). */
export const seal = (
  sql: SqlClient.SqlClient,
  id: Ids.TurnId,
  endEventId: number
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(sql`UPDATE turns SET end_event_id = ${endEventId} WHERE turn_id = ${id} AND end_event_id IS NULL`)

// --- internal

const Row = Schema.Struct({
  turn_id: Ids.TurnId,
  conversation_id: Ids.ConversationId,
  prompt: Schema.NullOr(Schema.String),
  accepted_at: Schema.Finite,
  end_event: Schema.NullOr(Schema.fromJsonString(TurnEvent.TurnEnd))
})

const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))

/** Turns, oldest first, each with the event that ended it. */
const select = (sql: SqlClient.SqlClient, where: Statement.Fragment): Effect.Effect<ReadonlyArray<Turn>, Failure> =>
  sql`
    SELECT t.turn_id, t.conversation_id, t.prompt, t.accepted_at, e.payload AS end_event
    FROM turns t
    LEFT JOIN events e ON e.conversation_id = t.conversation_id AND e.event_id = t.end_event_id
    WHERE ${where}
    ORDER BY t.seq`.pipe(
    Effect.flatMap((rows) => decodeRows(rows)),
    Effect.map((rows) => rows.map(turnOf))
  )

const turnOf = (row: typeof Row.Type): Turn => ({
  turnId: row.turn_id,
  conversationId: row.conversation_id,
  prompt: row.prompt ?? undefined,
  acceptedAt: row.accepted_at,
  end: row.end_event ?? undefined
})

const isSame = (known: NewTurn, turn: NewTurn): boolean =>
  known.conversationId === turn.conversationId && known.prompt === turn.prompt
