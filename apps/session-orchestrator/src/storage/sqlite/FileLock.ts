/**
 * A lock on a file that goes with the process that holds it, however that ends.
 *
 * Node has no file locks; SQLite has, on every system, and takes them from the operating system. So the file is a SQLite
 * database of one row, and holding the lock is a write transaction on it that is begun and never ended. The row is a note of
 * the holder's that everybody can read meanwhile, because such a transaction keeps out writers alone.
 *
 * L1. At most one process holds the lock. `kill -9` gives it up; no file has to be deleted.
 * L2. The note that can be read beside a held lock is its holder's.
 * L3. Who gives the lock up takes the file away. So a lock counts only while the file under its name is the one that is
 *     locked: whoever waited on one that was taken away begins anew.
 *
 * **Gotchas**
 *
 * The file must be on a disk of this machine: network file systems promise locks and do not keep them. So does the database
 * beside it need one, for its write-ahead log.
 *
 * Read: https://www.sqlite.org/lockingv3.html (a RESERVED lock lets readers in).
 */
import { Predicate } from "effect"
import * as fs from "node:fs"
import type { DatabaseSync } from "node:sqlite"
import * as DatabaseFile from "./DatabaseFile.ts"
import * as NodeSqlite from "./NodeSqlite.ts"

export type Attempt =
  | {
      readonly _tag: "Held"
      readonly release: () => void
      /** The note of a holder that died with the lock; `undefined` where the last one gave it up. */
      readonly left: string | undefined
    }
  /** Somebody else has it; the note is missing if there was no reading it. */
  | { readonly _tag: "Taken"; readonly note: string | undefined }

/** Takes the lock if it is free. The note must differ from every other holder's. Throws what the system says of the file. */
export const acquireUnsafe = (filename: string, note: string): Attempt => {
  for (let round = 0; round < ROUNDS; round++) {
    DatabaseFile.createMissing(filename)
    const database = open(filename, ACQUIRE_TIMEOUT_MS)
    try {
      const left = readNote(database)
      const holds = hold(database, note)
      if (holds && noteUnder(filename) === note)
        return { _tag: "Held", release: () => giveUp(filename, database), left }
      const taken = holds ? undefined : ({ _tag: "Taken", note: readNote(database) } as const)
      database.close()
      if (taken !== undefined) return taken
      // L3
    } catch (error) {
      database.close()
      throw error
    }
  }
  return { _tag: "Taken", note: undefined }
}

/** The note of whoever holds a lock; `undefined` when nobody does. Throws as `acquireUnsafe` does. */
export const holderUnsafe = (filename: string): { readonly note: string | undefined } | undefined => {
  if (!fs.existsSync(filename)) return undefined
  const database = open(filename, LOOK_TIMEOUT_MS)
  try {
    return begin(database) ? undefined : { note: readNote(database) }
  } finally {
    database.close()
  }
}

// --- internal

/** Looking whether a lock is held takes it for a moment; who wants it in that moment waits this long. */
const ACQUIRE_TIMEOUT_MS = 250

/** Who only looks takes a lock that somebody else is looking at for held no sooner than after this. */
const LOOK_TIMEOUT_MS = 20

/** Two rounds are one acquisition; the rest is for others who come at the same moment. */
const ROUNDS = 8

const open = (filename: string, busyTimeoutMs: number): DatabaseSync => {
  const { DatabaseSync } = NodeSqlite.load()
  const database = new DatabaseSync(filename)
  database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
  return database
}

/** Holds the lock, with the note in place; whether it could be had. */
const hold = (database: DatabaseSync, note: string): boolean => {
  // Between writing the note and holding the lock somebody else may come in; then his note is there, and both go again.
  for (let round = 0; round < ROUNDS; round++) {
    if (!begin(database)) return false
    if (readNote(database) === note) return true // L2
    writeNote(database, note)
  }
  return false
}

/** The note of the file that has the name now. */
const noteUnder = (filename: string): string | undefined => {
  if (!fs.existsSync(filename)) return undefined
  const database = open(filename, LOOK_TIMEOUT_MS)
  try {
    return readNote(database)
  } finally {
    database.close()
  }
}

const giveUp = (filename: string, database: DatabaseSync): void => {
  try {
    fs.rmSync(filename, { force: true }) // L3
  } catch {
    // Where an open file cannot be taken away it stays, and is as good as none.
  }
  database.close()
}

/** Begins to write; whether nobody else does. */
const begin = (database: DatabaseSync): boolean => unlessBusy(() => database.exec("BEGIN IMMEDIATE"))

/** Ends the transaction with the note in place, or without it while somebody reads. */
const writeNote = (database: DatabaseSync, note: string): void => {
  database.exec("CREATE TABLE IF NOT EXISTS holder (holder_id INTEGER PRIMARY KEY, note TEXT NOT NULL)")
  database.prepare("INSERT OR REPLACE INTO holder (holder_id, note) VALUES (1, ?)").run(note)
  if (!unlessBusy(() => database.exec("COMMIT"))) database.exec("ROLLBACK")
}

const readNote = (database: DatabaseSync): string | undefined => {
  let note: unknown
  unlessBusy(() => {
    const [table] = database.prepare("SELECT name FROM sqlite_schema WHERE name = 'holder'").all()
    note = table === undefined ? undefined : database.prepare("SELECT note FROM holder").get()?.["note"]
  })
  return typeof note === "string" ? note : undefined
}

/** SQLITE_BUSY, with whatever is in its higher bits: https://www.sqlite.org/rescode.html. */
const BUSY = 5

/** Whether it was done; `false` means that another connection was in the way. */
const unlessBusy = (act: () => void): boolean => {
  try {
    act()
    return true
  } catch (error) {
    if (
      Predicate.hasProperty(error, "errcode") &&
      Predicate.isNumber(error.errcode) &&
      (error.errcode & 0xff) === BUSY
    ) {
      return false
    }
    throw error
  }
}
