/** Reads the record of turns (`Recording`). */
import { JournalTable, type TableError } from "@holdfast/journal/sql"
import { Records } from "@holdfast/kernel"
import { Ids, Target } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { RecordedTurn, Recording } from "../Recording.ts"
import * as ConversationTable from "./ConversationTable.ts"
import * as SealTable from "./SealTable.ts"
import * as TurnTable from "./TurnTable.ts"

/** Reads the record since a moment, in epoch milliseconds; of `most` turns at most. */
export const read = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  since: number,
  most: number
): Effect.fn.Return<Recording, TableError> {
  const ids = yield* decodeIds(
    yield* sql`SELECT t.turn_id FROM turns t
      WHERE t.accepted_at >= ${since} OR t.ended_at >= ${since} OR t.end_event_id IS NULL
      ORDER BY t.number DESC LIMIT ${most + 1}`
  )
  const newest = ids
    .slice(0, most)
    .map(({ turn_id }) => turn_id)
    .toReversed()
  const turns: Array<RecordedTurn> = []
  for (let n = 0; n < newest.length; n += BATCH) {
    const some = newest.slice(n, n + BATCH)
    const found = yield* TurnTable.findAll(sql, some)
    const conversations = yield* ConversationTable.findAll(
      sql,
      Array.from(new Set(found.map((turn) => turn.conversationId)))
    )
    const journals = yield* JournalTable.load(sql, SealTable.TABLES)(found.map(({ turnId }) => turnId))
    for (const [i, { acceptedAt, conversationId, end, isSubmitted = false, model, turnId }] of found.entries()) {
      const conversation = conversations.get(conversationId)
      const target = conversation && Target.parse(model ?? conversation.model)
      const records = recordsOf(journals[i] ?? [])
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

const decodeIds = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ turn_id: Ids.TurnId })))

/** `undefined`: a record of a known kind cannot be read. Kinds of newer versions are skipped (Records.R2). */
const recordsOf = (stored: ReadonlyArray<Records.Stored>): ReadonlyArray<Records.TurnRecord> | undefined => {
  const records: Array<Records.TurnRecord> = []
  for (const one of stored) {
    const record = Records.parse(one)
    if (record !== undefined) records.push(record)
    else if (Records.positionOf(one.name) !== undefined) return undefined
  }
  return records
}
