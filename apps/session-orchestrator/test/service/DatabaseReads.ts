/** Reads a turn's committed data from a database file, by another connection. */
import { NodeSqlite } from "@holdfast/journal/sqlite"
import { type Directive, Records, RetryStrategy } from "@holdfast/kernel"

/** A turn's journal, in order. */
const journalOf = (database: string, turnId: string): ReadonlyArray<Records.Stored> =>
  query(
    database,
    "SELECT j.name, j.value FROM journal j JOIN turns t ON t.number = j.turn WHERE t.turn_id = ? ORDER BY j.seq",
    turnId
  ).map(({ name, value }) => ({ name: String(name), value: String(value) }))

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

// --- internal

const query = (file: string, sql: string, turnId: string) => {
  const database = new (NodeSqlite.load().DatabaseSync)(file, { readOnly: true })
  try {
    return database.prepare(sql).all(turnId)
  } finally {
    database.close()
  }
}
