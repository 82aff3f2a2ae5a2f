/** What a database file holds of a turn, read by another connection: what is committed, and nothing else. */
import { type Directive, RetryStrategy } from "@holdfast/kernel"
import { Schema } from "effect"
import * as TurnRecord from "../../src/durable/TurnRecord.ts"
import * as NodeSqlite from "../../src/storage/NodeSqlite.ts"
import type { Record } from "../../src/storage/Journal.ts"

/** A turn's journal, in order. */
export const journalOf = (database: string, turnId: string): ReadonlyArray<Record> =>
  query(database, "SELECT name, value FROM journal WHERE turn_id = ? ORDER BY seq", turnId).map(({ name, value }) => ({
    name: String(name),
    value: String(value)
  }))

/** The ids of the commands in it. */
export const commandsOf = (database: string, turnId: string): ReadonlyArray<string> =>
  journalOf(database, turnId).flatMap((record) => TurnRecord.wakeOf(record)?.by?.commandId ?? [])

/** The waits that were decided in it. */
export const waitsOf = (
  database: string,
  turnId: string
): ReadonlyArray<Extract<Directive.Directive, { readonly _tag: "Retry" }>> =>
  journalOf(database, turnId).flatMap((record) => {
    const directive = TurnRecord.directiveOf(record)
    return directive?._tag === "Retry" ? [directive] : []
  })

/** How its waits came to their ends. */
export const endsOf = (database: string, turnId: string): ReadonlyArray<RetryStrategy.Wake> =>
  journalOf(database, turnId).flatMap((record) => {
    const wake = TurnRecord.wakeOf(record)
    return wake === undefined || !RetryStrategy.endsWait(wake) ? [] : [wake]
  })

/** How the turn ended; `undefined` while it has no seal. */
export const sealOf = (database: string, turnId: string): string | undefined => {
  const [row] = query(database, "SELECT payload FROM events WHERE turn_id = ? AND type = 'turn-end'", turnId)
  return row === undefined ? undefined : decodeEnd(row["payload"]).status
}

// --- internal

const decodeEnd = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ status: Schema.String })))

const query = (file: string, sql: string, turnId: string) => {
  const database = new (NodeSqlite.load().DatabaseSync)(file, { readOnly: true })
  try {
    return database.prepare(sql).all(turnId)
  } finally {
    database.close()
  }
}
