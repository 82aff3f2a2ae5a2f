/**
 * Copies a SQLite database while other processes write to it.
 *
 * - The copy is the database as it was at one moment, however long copying takes; writers are not delayed.
 * - An existing file is never overwritten, and an unfinished copy never has the name of a copy.
 * - Only its owner can read it, like the database (0600).
 * - Before the copy gets its name it is read from the first page to the last, and synced to the disk.
 *
 * The first is a read transaction that stays open: SQLite copies the state of that transaction, and does not start again when others write.
 *
 * Read: https://www.sqlite.org/backup.html, and `sqlite3_backup_step` in SQLite's backup.c for what an open transaction does.
 */
import { DatabaseFile, NodeSqlite } from "@holdfast/journal/sqlite"
import { StorageError } from "@holdfast/journal"
import { Effect, Predicate, type Scope } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import type { DatabaseSync } from "node:sqlite"
import * as QuickCheck from "./QuickCheck.ts"
import * as Tenancy from "./Tenancy.ts"

/** The progress of a copy. */
export interface Progress {
  readonly copiedBytes: number
  readonly totalBytes: number
}

/**
 * Copies a database into a file that does not exist yet.
 *
 * @param onProgress is called some hundred times a gigabyte, and once when everything is copied, before the copy is checked
 */
export const make = (from: string, to: string, onProgress: (progress: Progress) => void) =>
  Effect.gen(function* () {
    yield* refuse(from, to)
    yield* DatabaseFile.refuseLinks(from)
    yield* Tenancy.refuseForeign(from)
    const part = yield* partOf(to)
    yield* copy(from, part, to, onProgress)
    const summary = yield* attempt(to, () => check(part))
    yield* attempt(to, () => publish(part, to))
    return summary
  }).pipe(Effect.scoped)

// --- internal

/** 4 MiB at a time with pages of 4 KiB: often enough for a progress display, and large enough to cost nothing. */
const PAGES_AT_ONCE = 1024

const refuse = (from: string, to: string): Effect.Effect<void, StorageError> =>
  Effect.suspend(() => {
    const found = fs.statSync(from, { throwIfNoEntry: false })
    if (found?.isDirectory() !== false) {
      return failed(
        `There is no database at ${from}${found === undefined ? "" : ", which is a directory"}, so there is nothing to back up. Check database.path.`
      )
    }
    return fs.existsSync(to) ? failed(exists(to)) : Effect.void
  })

/** The copy's name while it is made. No file of that name is left afterwards, also after a failure. */
const partOf = (to: string): Effect.Effect<string, StorageError, Scope.Scope> => {
  const part = `${to}.part-${globalThis.crypto.randomUUID().slice(0, 8)}`
  return Effect.acquireRelease(
    Effect.as(
      attempt(to, () => DatabaseFile.createMissing(part)),
      part
    ),
    () =>
      Effect.sync(() => {
        for (const suffix of ["", "-journal", "-wal", "-shm"]) fs.rmSync(part + suffix, { force: true })
      })
  )
}

const copy = (
  from: string,
  part: string,
  to: string,
  onProgress: (progress: Progress) => void
): Effect.Effect<void, StorageError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const source = yield* Effect.acquireRelease(
        attempt(to, () => openSnapshot(from)),
        (source) => Effect.sync(() => source.close())
      )
      const { pageSize, pages } = yield* attempt(to, () => sizeOf(source))
      yield* Effect.tryPromise({
        try: (signal) =>
          NodeSqlite.load().backup(source, part, {
            rate: PAGES_AT_ONCE,
            progress: ({ remainingPages, totalPages }) => {
              signal.throwIfAborted()
              onProgress({ copiedBytes: (totalPages - remainingPages) * pageSize, totalBytes: totalPages * pageSize })
            }
          }),
        catch: (cause) => explain(to, cause)
      })
      onProgress({ copiedBytes: pages * pageSize, totalBytes: pages * pageSize })
    })
  )

/** A connection that reads the state of one moment until it is closed. */
const openSnapshot = (from: string): DatabaseSync => {
  const { DatabaseSync } = NodeSqlite.load()
  const source = new DatabaseSync(from, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
  try {
    source.exec("BEGIN")
    // A transaction begins with its first read.
    source.prepare("SELECT count(*) FROM sqlite_schema").get()
    return source
  } catch (error) {
    source.close()
    throw error
  }
}

/** Long, because this process does nothing else. */
const BUSY_TIMEOUT_MS = 5_000

const sizeOf = (source: DatabaseSync): { readonly pageSize: number; readonly pages: number } => ({
  pageSize: numberIn(source, "PRAGMA page_size", "page_size"),
  pages: numberIn(source, "PRAGMA page_count", "page_count")
})

/** The copy becomes one plain file, without a log beside it; returns its contents. */
const check = (part: string) =>
  NodeSqlite.using(part, {}, (copied) => {
    copied.exec("PRAGMA journal_mode = DELETE")
    const found = QuickCheck.foundBy("integrity_check", copied)
    if (found !== undefined) throw new Error(`the copy is damaged, as the database may be: ${found}`)
    const { pageSize, pages } = sizeOf(copied)
    const count = (rows: string) => numberIn(copied, `SELECT count(*) AS n FROM ${rows}`, "n")
    return {
      bytes: pageSize * pages,
      conversations: count("conversations"),
      turns: count("turns"),
      /** Turns without a seal: a service that starts on the copy resumes them. */
      unsealed: count("turns WHERE end_event_id IS NULL")
    }
  })

const numberIn = (database: DatabaseSync, sql: string, column: string): number =>
  Number(database.prepare(sql).get()?.[column])

/** Gives a finished copy its name, and syncs both to the disk. */
const publish = (part: string, to: string): void => {
  sync(part)
  try {
    fs.linkSync(part, to)
  } catch (error) {
    if (!isWithoutLinks(error)) throw error
    // A memory stick has no links: between these two lines another process could create the file.
    if (fs.existsSync(to)) throw Object.assign(new Error(exists(to), { cause: error }), { code: "EEXIST" })
    fs.renameSync(part, to)
  }
  if (process.platform !== "win32") sync(path.dirname(path.resolve(to)))
}

const sync = (name: string): void => {
  const file = fs.openSync(name, "r")
  try {
    fs.fsyncSync(file)
  } finally {
    fs.closeSync(file)
  }
}

const isWithoutLinks = (error: unknown): boolean =>
  Predicate.hasProperty(error, "code") && ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(String(error.code))

const exists = (to: string): string => `${to} exists and was not changed. Choose another name.`

const failed = (message: string): Effect.Effect<never, StorageError> => Effect.fail(new StorageError({ message }))

const attempt = <A>(to: string, act: () => A): Effect.Effect<A, StorageError> =>
  Effect.try({ try: act, catch: (cause) => explain(to, cause) })

const explain = (to: string, cause: unknown): StorageError => {
  if (Predicate.hasProperty(cause, "code") && cause.code === "EEXIST") return new StorageError({ message: exists(to) })
  const said = cause instanceof Error ? cause.message : String(cause)
  return new StorageError({
    message: `Could not back up to ${to}: the system said "${said}". Check that there is room and that this user may write there. The unfinished copy was deleted.`
  })
}
