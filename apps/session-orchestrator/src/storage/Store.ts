/** Stores conversations, and reads their turns. What turns write is in `TurnLog`. */
import type { StorageError } from "@holdfast/journal"
import type { SqlDatabase } from "@holdfast/journal/sql"
import type { Ids } from "@holdfast/wire"
import { Context, Effect, Option } from "effect"
import * as DatabaseCheck from "./sql/DatabaseCheck.ts"
import type { Histories } from "./sql/Histories.ts"
import * as Resumptions from "./sql/Resumptions.ts"
import type * as Damage from "./sqlite/Damage.ts"
import { type Conversation, promptOf, type Resumption } from "./Stored.ts"
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
  const { each, failed, read, reads, sql, writes } = database
  const create = writes(
    ({ conversationId }: Conversation) => `create conversation ${conversationId}`,
    ConversationTable.insert(sql)
  )
  const resumption = yield* Resumptions.make(database, history)
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
    /** Everything that a turn needs to run; none for an unknown turn. */
    resumption: (id: Ids.TurnId): Effect.Effect<Option.Option<Resumption>, StorageError> =>
      Effect.map(resumption(id), Option.fromUndefinedOr).pipe(failed(`read what turn ${id} goes on with`)),
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
