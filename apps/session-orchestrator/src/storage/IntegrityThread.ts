/** The thread of `Integrity`: checks the file that it is given, and answers with what is damaged, or nothing. */
import { parentPort, workerData } from "node:worker_threads"
import * as NodeSqlite from "./NodeSqlite.ts"

/** Faults that a person reads before giving up. */
const MOST = 3

/** SQLITE_CORRUPT and SQLITE_NOTADB. Another error says nothing of the file. */
const DAMAGED: ReadonlySet<unknown> = new Set([11, 26])

const check = (file: string): string => {
  const { DatabaseSync } = NodeSqlite.load()
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const found = database
      .prepare(`PRAGMA quick_check(${MOST})`)
      .all()
      .map((row) => Object.values(row).join(" "))
    return found.length === 1 && found[0] === "ok" ? "" : found.join("; ").replaceAll("\n", " ")
  } catch (error) {
    if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") throw error
    return DAMAGED.has(error.errcode & 0xff) ? error.message : ""
  } finally {
    database.close()
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin.
parentPort?.postMessage(check(String(workerData)))
