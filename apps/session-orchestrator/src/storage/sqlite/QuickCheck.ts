/**
 * Reads a SQLite file from end to end, and reports its damage. It is synchronous: `Damage` runs it in a thread.
 *
 * Read: https://www.sqlite.org/pragma.html#pragma_quick_check.
 */
import { NodeSqlite, SqliteError } from "@holdfast/journal/sqlite"
import type { DatabaseSync } from "node:sqlite"

/** The most faults in a report. */
const MOST = 3

/** SQLITE_CORRUPT and SQLITE_NOTADB. Another error is no evidence of damage. */
const DAMAGED: ReadonlySet<number | undefined> = new Set([11, 26])

/** What one of SQLite's checks finds in a database, in its words, on one line; `undefined` without damage. */
export const foundBy = (check: "quick_check" | "integrity_check", database: DatabaseSync): string | undefined => {
  const rows = database.prepare(`PRAGMA ${check}(${MOST})`).all()
  const found = rows.map((row) => Object.values(row).join(" ")).join("; ")
  return found === "ok" ? undefined : found.replaceAll("\n", " ")
}

/** The damage of a file, in SQLite's words; `undefined` without damage. Throws if the file cannot be opened. */
export const faultsIn = (file: string): string | undefined =>
  NodeSqlite.using(file, { readOnly: true }, (database) => {
    try {
      return foundBy("quick_check", database)
    } catch (error) {
      const isDamage = DAMAGED.has(SqliteError.thrownCodeOf(error))
      return isDamage && error instanceof Error ? error.message : undefined
    }
  })
