/**
 * The database's place on disk: its directory, and a file that only its owner can read.
 *
 * Conversations are private. What is made here is for its owner alone (0700, 0600), whatever the umask says, and SQLite
 * gives its log files the mode of the database. What existed before keeps the mode that somebody gave it.
 */
import { Effect, Predicate } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { StorageError } from "../Store.ts"

/** SQLite's name for a database that lives in memory. */
export const MEMORY = ":memory:"

/** Makes the file and its directories where they are missing. */
export const prepare = (filename: string): Effect.Effect<void, StorageError> =>
  Effect.try({
    try: () => {
      fs.mkdirSync(path.dirname(filename), { recursive: true, mode: 0o700 })
      createMissing(filename)
    },
    catch: (cause) =>
      new StorageError({
        message:
          `Could not create the database ${filename}: the system said "${messageOf(cause)}". ` +
          "Check that its directory can be written by this user, or set database.path to another place."
      })
  })

/**
 * Fails for a file that has more than one name.
 *
 * What belongs to a database lies beside it, under its name: its lock, and SQLite's log. Who comes by another name finds neither.
 */
export const refuseLinks = (filename: string): Effect.Effect<void, StorageError> =>
  Effect.try({
    try: () => fs.statSync(filename),
    catch: (cause) =>
      new StorageError({
        message: `Could not look at the database ${filename}: the system said "${messageOf(cause)}".`
      })
  }).pipe(
    Effect.map((found) => ({ ino: found.ino, nlink: found.isFile() ? found.nlink : 1 })), // A directory has two names.
    Effect.flatMap(({ ino, nlink }) =>
      nlink <= 1
        ? Effect.void
        : Effect.fail(
            new StorageError({
              message:
                `The database ${filename} is one file with ${nlink} names (hard links). By another name a second Holdfast could run ` +
                "the same turns, and SQLite would not find what it wrote last. Nothing was changed. Find the other names with: " +
                `find / -xdev -inum ${ino}, and remove them, or copy the file with cp and set database.path to the copy.`
            })
          )
    )
  )

/** `wx` makes the file, or finds that somebody was first; it never touches what is there. Throws what the system says. */
export const createMissing = (filename: string): void => {
  try {
    fs.closeSync(fs.openSync(filename, "wx", 0o600))
  } catch (error) {
    if (!(Predicate.hasProperty(error, "code") && error.code === "EEXIST")) throw error
  }
}

// --- internal

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
