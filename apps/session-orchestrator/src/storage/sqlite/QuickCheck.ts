/**
 * Reads a SQLite file from end to end, and names what is damaged in it. It takes the whole time: `Integrity` runs it in a thread.
 *
 * Read: https://www.sqlite.org/pragma.html#pragma_quick_check.
 */
import * as NodeSqlite from "./NodeSqlite.ts"

/** Faults that a person reads before giving up. */
const MOST = 3

/** SQLITE_CORRUPT and SQLITE_NOTADB. Another error says nothing of the file. */
const DAMAGED: ReadonlySet<number> = new Set([11, 26])

/** What is damaged in a file, in SQLite's words; `undefined` where nothing is. Throws where the file cannot be opened. */
export const faultsIn = (file: string): string | undefined => {
  const { DatabaseSync } = NodeSqlite.load()
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const found = database
      .prepare(`PRAGMA quick_check(${MOST})`)
      .all()
      .map((row) => Object.values(row).join(" "))
      .join("; ")
    return found === "ok" ? undefined : found.replaceAll("\n", " ")
  } catch (error) {
    const isDamage = error instanceof Error && "errcode" in error && DAMAGED.has(Number(error.errcode) & 0xff)
    return isDamage ? error.message : undefined
  } finally {
    database.close()
  }
}
