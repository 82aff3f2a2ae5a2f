/**
 * What SQLite alone takes to store one answer of 16 Mi characters: the least that the longest of all responses holds up others.
 *
 * A row is inserted in one call, and committed in another.
 */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as FigureTable from "../FigureTable.ts"

const TIMES = 9

const text = "word after word ".repeat(1024 * 1024)

/** In milliseconds, at the median. */
export interface Cost {
  readonly insertMs: number
  readonly commitMs: number
}

/** Stores the text some times into a new file of a folder, with the pragmas of the service. */
export const measure = (folder: string): Cost => {
  const database = new DatabaseSync(join(folder, "long-row.db"))
  database.exec("PRAGMA journal_mode = WAL")
  database.exec("PRAGMA synchronous = FULL")
  database.exec("PRAGMA cache_size = -32768")
  database.exec("PRAGMA wal_autocheckpoint = 0")
  database.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, payload TEXT)")
  const insert = database.prepare("INSERT INTO t (payload) VALUES (?)")
  const costs = Array.from({ length: TIMES }, () => {
    database.exec("BEGIN IMMEDIATE")
    const insertMs = timed(() => insert.run(text))
    const commitMs = timed(() => database.exec("COMMIT"))
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    return { insertMs, commitMs }
  })
  database.close()
  return {
    insertMs: FigureTable.median(costs.map(({ insertMs }) => insertMs)),
    commitMs: FigureTable.median(costs.map(({ commitMs }) => commitMs))
  }
}

// --- internal

const timed = (act: () => unknown): number => {
  const from = performance.now()
  act()
  return performance.now() - from
}
