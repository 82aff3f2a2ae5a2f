/** Stores conversations, and reads their turns. What turns write is in `TurnLog`. */
import type { StorageError } from "@holdfast/journal"
import type { SqlDatabase, TableError } from "@holdfast/journal/sql"
import { defined, type Ids } from "@holdfast/wire"
import { Context, Effect, Option } from "effect"
import type { SqlClient } from "effect/sql"
import * as DatabaseCheck from "./sql/DatabaseCheck.ts"
import type { Histories } from "./sql/Histories.ts"
import type * as Damage from "./sqlite/Damage.ts"
import { type Conversation, promptOf, type Resumption, type Turn } from "./Stored.ts"
import * as ConversationTable from "./tables/ConversationTable.ts"
import * as EventTable from "./tables/EventTable.ts"
import * as RecordTable from "./tables/RecordTable.ts"
import * as TurnTable from "./tables/TurnTable.ts"

/** Stores conversations, and reads their turns. */
export class Store extends Context.Service<Store, Effect.Success<ReturnType<typeof make>>>()(
  "@holdfast/session-orchestrator/storage/Store"
) {}

/** Makes the port; `refuse` refuses new conversations. */
export const make = Effect.fnUntraced(function* (
  database: SqlDatabase.SqlDatabase,
  { refuse }: Pick<Damage.Damage, "refuse">,
  history: Histories
) {
  const { each, failed, read, reads, sql, together, writes } = database
  const create = writes(
    ({ conversationId }: Conversation) => `create conversation ${conversationId}`,
    ConversationTable.insert(sql)
  )
  const beginning = yield* together(AT_ONCE, beginnings(sql))
  // A prompt with files is read by itself, as a long message is.
  const prompt = yield* together(1, (ids: ReadonlyArray<Ids.TurnId>) => TurnTable.findWhole(sql, ids))
  const resumption = Effect.fnUntraced(function* (
    id: Ids.TurnId,
    of: Ids.ConversationId
  ): Effect.fn.Return<Resumption | undefined, TableError> {
    const [found, messages] = yield* Effect.zip(beginning(id), history(of, id), { concurrent: true })
    if (found === undefined) return undefined
    const { hasFiles, turn, ...others } = found
    const content = hasFiles ? (yield* prompt(id))?.content : undefined
    return { ...others, turn: { ...turn, ...defined({ content }) }, history: messages }
  })
  const outline = yield* reads(
    (id) => `the journal of turn ${id}`,
    (ids: ReadonlyArray<Ids.TurnId>) => RecordTable.outlines(sql, ids)
  )
  const eventsOf = (id: Ids.TurnId) => read(`the events of turn ${id}`)
  return {
    /** Adds a conversation. Fails if its id is taken. */
    createConversation: (conversation: Conversation) => Effect.andThen(refuse, create(conversation)),
    /** A conversation by its id. */
    conversation: yield* reads(
      (id) => `conversation ${id}`,
      (ids: ReadonlyArray<Ids.ConversationId>) => ConversationTable.find(sql, ids)
    ),
    /** Changes a conversation; the turns that it has by then keep their model (`Turn.model`). Returns whether there is such a conversation. */
    change: each((id) => `change conversation ${id}`, ConversationTable.change(sql)),
    /** A turn by its id. */
    turn: yield* reads(
      (id) => `turn ${id}`,
      (ids: ReadonlyArray<Ids.TurnId>) => TurnTable.find(sql, ids)
    ),
    /** The whole prompt of a turn, with its files; none on a manual retry, and for an unknown turn. */
    prompt: (id: Ids.TurnId) =>
      TurnTable.findWhole(sql, [id]).pipe(
        read(`the prompt of turn ${id}`),
        Effect.map((found) => promptOf(found.get(id) ?? { prompt: undefined }))
      ),
    /** Everything that a turn of a conversation needs to run; none for an unknown turn. */
    resumption: (id: Ids.TurnId, of: Ids.ConversationId): Effect.Effect<Option.Option<Resumption>, StorageError> =>
      Effect.map(resumption(id, of), Option.fromUndefinedOr).pipe(failed(`read what turn ${id} goes on with`)),
    /** The newest turn of a conversation, in the order of acceptance, without those that were aborted in the queue. */
    lastTurn: yield* reads(
      (id) => `the last turn of conversation ${id}`,
      (ids: ReadonlyArray<Ids.ConversationId>) => TurnTable.findLast(sql, ids)
    ),
    /** The events of one turn, oldest first. */
    turnEvents: (id: Ids.TurnId) => eventsOf(id)(EventTable.ofTurn(sql, id)),
    /** Without its messages but the last answer of a turn that has ended: what its state and its course need of its events. */
    turnDigest: (id: Ids.TurnId) => eventsOf(id)(EventTable.digestOf(sql, id)),
    /** The records of a turn without the results of tools and the content of long answers; the journal has them whole. */
    recordOutline: (id: Ids.TurnId) =>
      Effect.map(
        outline(id),
        Option.getOrElse(() => [])
      ),
    /** Whether a turn of a conversation has a command on record. */
    hasCommand: (id: Ids.ConversationId, commandId: string) =>
      RecordTable.hasCommand(sql, id, commandId).pipe(read(`the commands of conversation ${id}`)),
    /** Records that the process before this one died, and when this one found that, in epoch milliseconds. */
    noteDeath: each("record that the last process died", (at: number) =>
      Effect.asVoid(sql`INSERT INTO deaths ${sql.insert({ found_at: at })} ON CONFLICT DO NOTHING`)
    ),
    /** The deaths that were found from a moment on, in epoch milliseconds, earliest first. */
    deaths: (since: number) =>
      sql<{ readonly at: number }>`SELECT found_at AS at FROM deaths WHERE found_at >= ${since} ORDER BY found_at`.pipe(
        read("the deaths of the service"),
        Effect.map((rows) => rows.map(({ at }) => at))
      ),
    /** Succeeds when the database can be read and written, and no damage of it is known; `/readyz` calls it. */
    check: Effect.andThen(refuse, failed("read and write")(yield* DatabaseCheck.make(database)))
  }
})

// --- internal

/** Turns of one query. */
const AT_ONCE = 64

interface Row extends TurnTable.Row, ConversationTable.Row {
  readonly conversationId: Ids.ConversationId
  readonly types: string | null
  readonly files: number
}

/** What turns need to start or resume, without what is long. */
const beginnings = (sql: SqlClient.SqlClient) => (ids: ReadonlyArray<Ids.TurnId>) =>
  // Texts are joined in the order of the inner query, which both databases keep.
  sql<Row>`
    SELECT ${sql.literal(TurnTable.COLUMNS)}, ${sql.literal(ConversationTable.COLUMNS)},
      CASE WHEN EXISTS (SELECT 1 FROM turn_prompts p WHERE p.turn = t.number) THEN 1 ELSE 0 END AS files,
      (SELECT string_agg(type, ',') FROM (
        SELECT o.type FROM events o
        WHERE o.conversation = t.conversation AND o.event_id > t.after_event_id AND o.turn = t.number
        ORDER BY o.event_id) AS own) AS types
    FROM ${sql.literal(TurnTable.TABLES)} WHERE ${TurnTable.hasId(sql, ids)}`.pipe(
    Effect.flatMap(
      Effect.forEach((row) =>
        Effect.zipWith(TurnTable.read(row), ConversationTable.read(row), (turn, conversation) => {
          const persisted = row.types?.split(",") ?? []
          return [
            turn.turnId,
            { turn, conversation: asOf(turn, conversation), persisted, hasFiles: row.files === 1 }
          ] as const
        })
      )
    ),
    Effect.map((rows) => new Map(rows))
  )

/** The conversation that a turn was accepted in: the turn's own model is older than the conversation's. */
const asOf = ({ model }: Turn, conversation: Conversation): Conversation =>
  model === undefined ? conversation : { ...conversation, model, modelSince: undefined }
