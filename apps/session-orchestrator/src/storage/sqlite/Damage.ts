/**
 * Detects that a SQLite file is damaged, and remembers it until the process ends.
 *
 * SQLite reports damage only when it reads a damaged page, and it keeps pages in memory: a service can run for hours on a file that the
 * next start cannot open. Everything that it acknowledges meanwhile is lost. So the file itself is checked as well.
 *
 * - A statement's error that reports damage of the file is remembered: a damaged file does not repair itself.
 * - The file is checked before a turn is accepted and by `Store.check`, at most once a second: it exists, it is the file that was
 *   opened, it begins as a SQLite file does, and it has not shrunk.
 * - A file that had content before it was opened is read from end to end once, by another thread (`QuickCheck`).
 */
import { StorageFailure } from "@holdfast/journal/sql"
import { StorageError } from "@holdfast/journal"
import { Clock, Effect, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import { Worker } from "node:worker_threads"
import * as fs from "node:fs"

/** The watch over one database. */
export interface Damage {
  /** Remembers the error of a statement, if it reports damage of the file. */
  readonly note: (error: SqlError.SqlError, explained: StorageError) => void
  /** Fails if the file is damaged, as far as is known or can be seen. */
  readonly refuse: Effect.Effect<void, StorageError>
}

/** No watch: for a database that is no file of this machine. */
export const none: Damage = { note: () => {}, refuse: Effect.void }

/** Watches an open file. */
export const make = Effect.fnUntraced(function* (file: string): Effect.fn.Return<Damage, never, Scope.Scope> {
  const opened = lookUnsafe(file)
  let known: StorageError | undefined
  let lookedAt = Number.NEGATIVE_INFINITY
  let size = opened.size

  const remember = (error: StorageError): void => {
    known ??= error
  }
  const look = (): void => {
    try {
      const seen = lookUnsafe(file)
      const fault =
        seen.inode !== opened.inode || seen.device !== opened.device
          ? "another file has its name now"
          : seen.size < size
            ? `it has shrunk from ${size} to ${seen.size} bytes`
            : seen.size > 0 && !seen.begins
              ? "it does not begin as a SQLite file does"
              : undefined
      size = Math.max(size, seen.size)
      if (fault !== undefined) remember(damagedFile(file, fault))
    } catch (error) {
      remember(damagedFile(file, `the system said "${error instanceof Error ? error.message : String(error)}"`))
    }
  }
  const refuse = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    // A clock that was set back counts as elapsed time.
    if (known === undefined && Math.abs(now - lookedAt) >= INTERVAL_MS) {
      lookedAt = now
      look()
    }
    return known === undefined ? Effect.void : Effect.fail(known)
  })

  if (opened.size > ONE_PAGE) {
    yield* faultOf(file).pipe(
      Effect.flatMap((fault) => {
        if (fault === undefined) return Effect.void
        const error = damagedFile(file, `its check says "${fault}"`)
        remember(error)
        return Effect.logError(error.message)
      }),
      Effect.forkScoped
    )
  }
  return {
    note: (error, explained) => {
      if (StorageFailure.isDamage(error)) remember(explained)
    },
    refuse
  }
})

/** The damage of a file, in SQLite's words, found in a thread: a gigabyte takes seconds, and turns run meanwhile. `undefined` without damage, and for a file that cannot be checked. */
export const faultOf = (file: string): Effect.Effect<string | undefined> =>
  Effect.callback((resume) => {
    const worker = new Worker(new URL("./IntegrityThread.ts", import.meta.url), { workerData: file })
    worker.once("message", (fault: unknown) => resume(Effect.succeed(typeof fault === "string" ? fault : undefined)))
    // A thread that could not be started, or stopped early, has no result.
    worker.once("error", () => resume(Effect.succeed(undefined)))
    worker.once("exit", () => resume(Effect.succeed(undefined)))
    return Effect.promise(() => worker.terminate())
  })

// --- internal

/** The time between two checks of the file. */
const INTERVAL_MS = 1_000

/** A file of one page is new and empty. */
const ONE_PAGE = 4_096

/** The first bytes of every SQLite file that is not empty: https://www.sqlite.org/fileformat.html. */
const MAGIC = Buffer.from("SQLite format 3\0")

/** The file that has a name now; `begins`: it begins as a SQLite file does. */
const lookUnsafe = (file: string) => {
  const opened = fs.openSync(file, "r")
  try {
    const { dev, ino, size } = fs.fstatSync(opened, { bigint: true })
    const beginning = Buffer.alloc(MAGIC.length)
    fs.readSync(opened, beginning, 0, MAGIC.length, 0)
    return { device: dev, inode: ino, size: Number(size), begins: beginning.equals(MAGIC) }
  } finally {
    fs.closeSync(opened)
  }
}

const damagedFile = (file: string, fault: string): StorageError =>
  new StorageError({ message: `The database ${file} is damaged: ${fault}. ${StorageFailure.restoring(file)}` })
