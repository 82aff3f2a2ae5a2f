/**
 * Reads everything that turns need to start or resume, for several turns at once: each time they are taken up.
 *
 * A prompt with files is read by itself, as a long message is (`Histories.H1`).
 */
import type { SqlDatabase, TableError } from "@holdfast/journal/sql"
import { defined, type Ids } from "@holdfast/wire"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import * as ConversationTable from "../tables/ConversationTable.ts"
import type { Conversation, Resumption, Turn } from "../Stored.ts"
import type { Histories } from "./Histories.ts"
import * as TurnTable from "../tables/TurnTable.ts"

/** Makes the read, with its queues; `undefined` for a turn that was never accepted. */
export const make = Effect.fnUntraced(function* (
  { sql, together }: Pick<SqlDatabase.SqlDatabase, "sql" | "together">,
  history: Histories
) {
  const outline = yield* together(AT_ONCE, outlines(sql))
  const prompt = yield* together(1, (ids: ReadonlyArray<Ids.TurnId>) => TurnTable.findWhole(sql, ids))
  return Effect.fnUntraced(function* (id: Ids.TurnId): Effect.fn.Return<Resumption | undefined, TableError> {
    const found = yield* outline(id)
    if (found === undefined) return undefined
    const { hasFiles, turn, ...outlined } = found
    const content = hasFiles ? (yield* prompt(id))?.content : undefined
    return { ...outlined, turn: { ...turn, ...defined({ content }) }, history: yield* history(turn.conversationId, id) }
  })
})

// --- internal

/** Turns of one query. */
const AT_ONCE = 64

/** A turn without what is long. */
interface Outline extends Omit<Resumption, "history"> {
  readonly hasFiles: boolean
}

interface Row extends TurnTable.Row, ConversationTable.Row {
  readonly conversationId: Ids.ConversationId
  readonly types: string | null
  readonly files: number
}

const outlines =
  (sql: SqlClient.SqlClient) =>
  (ids: ReadonlyArray<Ids.TurnId>): Effect.Effect<ReadonlyMap<Ids.TurnId, Outline>, TableError> =>
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
            const outline = { turn, conversation: asOf(turn, conversation), persisted, hasFiles: row.files === 1 }
            return [turn.turnId, outline] as const
          })
        )
      ),
      Effect.map((outlines) => new Map(outlines))
    )

/** The conversation that a turn was accepted in: the turn's own model is older than the conversation's. */
const asOf = ({ model }: Turn, conversation: Conversation): Conversation =>
  model === undefined ? conversation : { ...conversation, model, modelSince: undefined }
