/** Rows committed in groups, one full sync a group: the least that a durable turn costs. With the pragmas of `SqliteClient`. */
import { DatabaseSync } from "node:sqlite"

export interface Commits {
  /** Writes a row with the next commit. `done` runs once it is on disk, behind those of rows that were added before. */
  readonly add: (kind: string, value: string, done: () => void) => void
}

/** Opens a database that the service's own settings make durable. */
export const open = (file: string): Commits => {
  const database = new DatabaseSync(file)
  database.exec("PRAGMA cache_size = -32768; PRAGMA mmap_size = 1073741824")
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 16000")
  database.exec("CREATE TABLE IF NOT EXISTS records (number INTEGER PRIMARY KEY, kind TEXT, value TEXT)")
  const insert = database.prepare("INSERT INTO records (kind, value) VALUES (?, ?)")
  let waiting: Array<() => void> = []
  const commit = (): void => {
    const done = waiting
    waiting = []
    database.exec("COMMIT")
    for (const act of done) act()
  }
  return {
    add: (kind, value, done) => {
      if (waiting.length === 0) {
        database.exec("BEGIN IMMEDIATE")
        setImmediate(commit)
      }
      insert.run(kind, value)
      waiting.push(done)
    }
  }
}
