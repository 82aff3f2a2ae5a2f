/** Reads a turn's committed data from a database file, by another connection. */
import { NodeSqlite } from "@holdfast/journal/sqlite"
import { type Directive, Records } from "@holdfast/kernel"

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

// --- internal

/** A turn's journal, in order. */
const journalOf = (database: string, turnId: string): ReadonlyArray<Records.Stored> =>
  query(
    database,
    "SELECT j.name, j.value FROM journal j JOIN turns t ON t.number = j.turn WHERE t.turn_id = ? ORDER BY j.seq",
    turnId
  ).map(({ name, value }) => ({
    name: String(name),
    value: String(value)
  }))

const query = (file: string, sql: string, turnId: string) => {
  const database = new (NodeSqlite.load().DatabaseSync)(file, { readOnly: true })
  try {
    return database.prepare(sql).all(turnId)
  } finally {
    database.close()
  }
}
