/**
 * Locks a file until the process that holds the lock ends, in any way.
 *
 * Node has no file locks; SQLite has, on every system, and uses those of the operating system. So the lock file is a SQLite database of
 * one row, and holding the lock is a write transaction on it that is begun and never ended. The row is a note by the holder. Every
 * process can read it meanwhile, because such a transaction excludes writers only.
 * Read: https://www.sqlite.org/lockingv3.html (a RESERVED lock lets readers in).
 *
 * FileLock.L1. At most one process holds the lock, until it releases it or ends. `kill -9` releases it; no file has to be deleted.
 * FileLock.L2. A note that is read beside a held lock is its holder's.
 * FileLock.L3. Releasing the lock deletes the file. So a lock counts only while its name belongs to the locked file: a process that
 *     waited on a deleted file starts again.
 */
import { DatabaseFile, NodeSqlite, SqliteError } from "@holdfast/journal/sqlite"
import * as fs from "node:fs"
import type { DatabaseSync } from "node:sqlite"

/** The outcome of an attempt to take the lock. */
export type Attempt =
  | {
      readonly _tag: "Held"
      readonly release: () => void
      /** The note of a holder that died with the lock; `undefined` if the last holder released it. */
      readonly left: string | undefined
    }
  /** Another process has it; the note is missing if it could not be read. */
  | { readonly _tag: "Taken"; readonly note: string | undefined }

/**
 * Takes the lock if it is free. The note must differ from every other holder's. Throws the system's error about the file.
 *
 * **Gotchas**
 *
 * The file must be on a disk of this machine: network file systems offer locks that do not work. The database beside it needs a local
 * disk too, for its write-ahead log.
 */
export const acquireUnsafe = (filename: string, note: string): Attempt => {
  for (let round = 0; round < ROUNDS; round++) {
    DatabaseFile.createMissing(filename)
    const database = new (NodeSqlite.load().DatabaseSync)(filename, { timeout: ACQUIRE_TIMEOUT_MS })
    try {
      const left = readNote(database)
      const holds = hold(database, note)
      if (holds && noteUnder(filename) === note) {
        held.add(database)
        return { _tag: "Held", release: () => giveUp(filename, database), left }
      }
      const taken = holds ? undefined : ({ _tag: "Taken", note: readNote(database) } as const)
      database.close()
      if (taken !== undefined) return taken
      // FileLock.L3
    } catch (error) {
      database.close()
      throw error
    }
  }
  return { _tag: "Taken", note: undefined }
}

/** The note of the lock's holder; `undefined` when the lock is free. Throws as `acquireUnsafe` does. */
export const holderUnsafe = (filename: string): { readonly note: string | undefined } | undefined =>
  looked(filename, (database) => (begin(database) ? undefined : { note: readNote(database) }))

// --- internal

/** Keeps the databases that hold locks from the garbage collector, which would close them and so release their locks (FileLock.L1). */
const held = new Set<DatabaseSync>()

/** `holderUnsafe` takes the lock for a moment; an acquisition in that moment waits this long. */
const ACQUIRE_TIMEOUT_MS = 250

/** `holderUnsafe` reports a lock as held only after this time, because another process may be in `holderUnsafe` too. */
const LOOK_TIMEOUT_MS = 20

/** One acquisition needs two rounds; the others are for processes that come at the same moment. */
const ROUNDS = 8

const looked = <A>(filename: string, look: (database: DatabaseSync) => A): A | undefined =>
  fs.existsSync(filename) ? NodeSqlite.using(filename, { timeout: LOOK_TIMEOUT_MS }, look) : undefined

/** Takes the lock, with the note in place; `false` if another process holds it. */
const hold = (database: DatabaseSync, note: string): boolean => {
  // Between writing the note and holding the lock another process may write its own note; then both start again.
  for (let round = 0; round < ROUNDS; round++) {
    if (!begin(database)) return false
    if (readNote(database) === note) return true // FileLock.L2
    writeNote(database, note)
  }
  return false
}

/** The note in the file that has the name now. */
const noteUnder = (filename: string): string | undefined => looked(filename, readNote)

const giveUp = (filename: string, database: DatabaseSync): void => {
  try {
    fs.rmSync(filename, { force: true }) // FileLock.L3
  } catch {
    // Some systems cannot delete an open file. It stays, and counts as no lock.
  }
  held.delete(database)
  database.close()
}

/** Begins a write transaction; `false` if another process has one. */
const begin = (database: DatabaseSync): boolean => unlessBusy(() => database.exec("BEGIN IMMEDIATE"))

/** Ends the transaction with the note in place, or without it while another process reads. */
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

/** SQLITE_BUSY, in the lower bits of the code: https://www.sqlite.org/rescode.html. */
const BUSY = 5

/** `true` if it was done; `false` if another connection held a lock. */
const unlessBusy = (act: () => void): boolean => {
  try {
    act()
    return true
  } catch (error) {
    if (SqliteError.thrownCodeOf(error) === BUSY) return false
    throw error
  }
}
