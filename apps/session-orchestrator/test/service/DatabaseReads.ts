/** Reads a turn's committed data from a database file, by another connection. */
import { NodeSqlite } from "@holdfast/journal/sqlite"
import { type Directive, Records, RetryStrategy } from "@holdfast/kernel"
import { Ids } from "@holdfast/wire"
import { Schema } from "effect"
import * as EventText from "../../src/storage/tables/EventText.ts"

/** A turn's journal, in order. */
export const journalOf = (database: string, turnId: string): ReadonlyArray<Records.Stored> =>
  query(
    database,
    "SELECT j.name, j.value FROM journal j JOIN turns t ON t.number = j.turn WHERE t.turn_id = ? ORDER BY j.seq",
    turnId
  ).map(({ name, value }) => ({ name: String(name), value: String(value) }))

/** The ids of the commands in the journal. */
export const commandsOf = (database: string, turnId: string): ReadonlyArray<string> =>
  journalOf(database, turnId).flatMap((record) => Records.valueOf("Wake", record)?.by?.commandId ?? [])

/** The waits that were decided in the journal. */
export const waitsOf = (
  database: string,
  turnId: string
): ReadonlyArray<Extract<Directive.Directive, { readonly _tag: "Retry" }>> =>
  journalOf(database, turnId).flatMap((record) => {
    const directive = Records.valueOf("Decision", record)
    return directive?._tag === "Retry" ? [directive] : []
  })

/** The ends of its waits. */
export const endsOf = (database: string, turnId: string): ReadonlyArray<RetryStrategy.Wake> =>
  journalOf(database, turnId).flatMap((record) => {
    const wake = Records.valueOf("Wake", record)
    return wake === undefined || !RetryStrategy.endsWait(wake) ? [] : [wake]
  })

/** How the turn ended; `undefined` while it has no seal. */
export const sealOf = (database: string, turnId: string): string | undefined => {
  const [row] = query(
    database,
    `SELECT c.conversation_id AS conversationId, e.type, e.payload FROM turns t
     JOIN conversations c ON c.number = t.conversation JOIN events e ON e.turn = t.number
     WHERE t.turn_id = ? AND e.type = 'turn-end'`,
    turnId
  )
  if (row === undefined) return undefined
  const { conversationId, payload, type } = decodeRow(row)
  return decodeEnd(EventText.unpack(payload, { conversationId, turnId: Ids.TurnId.make(turnId), type }, undefined))
    .status
}

// --- internal

const decodeRow = Schema.decodeUnknownSync(
  Schema.Struct({ conversationId: Ids.ConversationId, type: Schema.String, payload: Schema.String })
)
const decodeEnd = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ status: Schema.String })))

const query = (file: string, sql: string, turnId: string) => {
  const database = new (NodeSqlite.load().DatabaseSync)(file, { readOnly: true })
  try {
    return database.prepare(sql).all(turnId)
  } finally {
    database.close()
  }
}
