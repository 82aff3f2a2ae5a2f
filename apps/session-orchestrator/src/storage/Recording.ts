/**
 * The record of turns: what a replay follows (X10).
 *
 * - A turn belongs to the record from a moment on if it was accepted or ended since, or has not ended.
 * - A reader asks for a number of turns, and gets the newest: more would take longer to read than a person waits.
 */
import { Records } from "@holdfast/kernel"
import { type Ids, Target } from "@holdfast/wire"
import type { Conversation, Turn } from "./Stored.ts"
import { type TableError } from "@holdfast/journal/sql"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import * as ConversationTable from "./tables/ConversationTable.ts"
import * as RecordTable from "./tables/RecordTable.ts"
import * as TurnTable from "./tables/TurnTable.ts"

/** One turn of the record. */
export interface RecordedTurn
  extends
    Pick<Turn, "turnId" | "conversationId" | "acceptedAt" | "end">,
    Pick<Conversation, "retry" | "autoRetryEnabled"> {
  /** The model of its conversation. */
  readonly target: Target.Target
  /** Its client did not stay (X15). */
  readonly isSubmitted: boolean
  /** In the order in which they were written. */
  readonly records: ReadonlyArray<Records.TurnRecord>
}

/** The record since a moment. */
export interface Recording {
  /** In the order of acceptance. */
  readonly turns: ReadonlyArray<RecordedTurn>
  /** Turns whose records are gone (`database.retention`) or cannot be read. */
  readonly without: number
  /** There were more turns than were asked for; the oldest are left out. */
  readonly isCut: boolean
}

/** Reads the record since a moment, in epoch milliseconds; of `most` turns at most. */
export const read = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  since: number,
  most: number
): Effect.fn.Return<Recording, TableError> {
  const ids = yield* sql<{ readonly turnId: Ids.TurnId }>`SELECT t.turn_id AS "turnId" FROM turns t
    WHERE t.accepted_at >= ${since} OR t.ended_at >= ${since} OR t.end_event_id IS NULL
    ORDER BY t.number DESC LIMIT ${most + 1}`
  const newest = ids
    .slice(0, most)
    .map(({ turnId }) => turnId)
    .toReversed()
  const turns: Array<RecordedTurn> = []
  for (let n = 0; n < newest.length; n += BATCH) {
    const some = newest.slice(n, n + BATCH)
    const found = yield* TurnTable.find(sql, some)
    const ofTurns = Array.from(found.values(), ({ conversationId }) => conversationId)
    const conversations = yield* ConversationTable.find(sql, [...new Set(ofTurns)])
    const journals = yield* RecordTable.load(sql, some)
    for (const { acceptedAt, conversationId, end, isSubmitted = false, model, turnId } of found.values()) {
      const conversation = conversations.get(conversationId)
      const target = conversation && Target.parse(model ?? conversation.model)
      const records = recordsOf(journals.get(turnId) ?? [])
      if (conversation === undefined || target === undefined || records === undefined) continue
      // A turn that called a provider has records. A turn that was aborted in the queue has none.
      if (records.length === 0 && end !== undefined && end.attempts > 0) continue
      const { autoRetryEnabled, retry } = conversation
      turns.push({ turnId, conversationId, acceptedAt, target, retry, autoRetryEnabled, isSubmitted, records, end })
    }
  }
  return { turns, without: newest.length - turns.length, isCut: ids.length > most }
})

// --- internal

/** Turns of one query. */
const BATCH = 50

/** `undefined`: a record of a known kind cannot be read. Kinds of newer versions are skipped. */
const recordsOf = (stored: ReadonlyArray<Records.Stored>): ReadonlyArray<Records.TurnRecord> | undefined => {
  const records: Array<Records.TurnRecord> = []
  for (const one of stored) {
    const record = Records.parse(one)
    if (record !== undefined) records.push(record)
    else if (Records.positionOf(one.name) !== undefined) return undefined
  }
  return records
}
