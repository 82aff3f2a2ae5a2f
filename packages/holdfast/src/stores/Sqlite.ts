/**
 * Keeps turns in a SQLite file, by `node:sqlite` (Node 22.13 or newer, Deno, Bun).
 *
 * A write is on disk when `put` returns: the log is synchronised at each commit (`synchronous = FULL`).
 */
import { DatabaseSync } from "node:sqlite"
import { HoldfastError, messageOf } from "../HoldfastError.ts"
import type { Store } from "../KeyValueStore.ts"

/** A store on a file, and what closes the file. */
export interface SqliteStore extends Store {
  close(): void
}

/**
 * Opens a file, which is created if it does not exist. Throws a `HoldfastError` that names the file where it cannot be opened, or was changed by a
 * later version of this package.
 */
export const sqliteStore = (filename: string): SqliteStore => {
  const database = opened(filename)
  const get = database.prepare("SELECT value FROM holdfast WHERE key = ?")
  const put = database.prepare(
    "INSERT INTO holdfast (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
  )
  const list = database.prepare("SELECT key, value FROM holdfast WHERE key >= ? AND key < ? ORDER BY key")
  return {
    get: (key) => textOf(get.get(key)?.["value"]),
    put: (key, value) => void put.run(key, value),
    // No key of a turn has a character above U+FFFF.
    list: (prefix) =>
      list.all(prefix, `${prefix}\uffff`).map(({ key, value }) => [String(key), String(value)] as const),
    close: () => database.close()
  }
}

// --- internal

/** The version of the entries, under a key that no turn has. A file without it is of version 1. */
const VERSION = 1

/** The database, with its table. */
const opened = (filename: string): DatabaseSync => {
  const database = prepared(filename)
  const found = Number(database.prepare(VERSION_FOUND).get()?.["value"])
  if (found <= VERSION) return database
  database.close()
  throw new HoldfastError(
    "store-failed",
    `sqliteStore: ${filename} has version ${found}, and this version of holdfast reads up to ${VERSION}. Use the newer version that changed it, or another file. Nothing was changed.`
  )
}

const VERSION_FOUND = "SELECT value FROM holdfast WHERE key = 'version'"

const prepared = (filename: string): DatabaseSync => {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(filename)
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000")
    database.exec("CREATE TABLE IF NOT EXISTS holdfast (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    // A write would wait for every other writer of the file.
    if (database.prepare(VERSION_FOUND).get() === undefined) {
      database.exec(`INSERT INTO holdfast (key, value) VALUES ('version', '${VERSION}') ON CONFLICT (key) DO NOTHING`)
    }
    return database
  } catch (cause) {
    database?.close()
    throw new HoldfastError(
      "store-failed",
      `sqliteStore: ${filename} cannot be opened: ${messageOf(cause)}. Its folder must exist and be writable, and a file that exists must be a SQLite database.`,
      { cause }
    )
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)
