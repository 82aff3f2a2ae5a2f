/**
 * Creates the database's directory, and a file that only its owner can read.
 *
 * Conversations are private. New directories and files are accessible to their owner only (0700, 0600), whatever the umask is, and SQLite
 * gives its log files the mode of the database. Existing files and directories keep their mode.
 */
import { StorageError } from "../StorageError.ts"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as fs from "node:fs"
import * as path from "node:path"

/** SQLite's name for a database in memory. */
export const MEMORY = ":memory:"

/** Creates the file and its directories if they are missing. */
export const prepare = (filename: string): Effect.Effect<void, StorageError> =>
  Effect.try({
    try: () => {
      makeFolder(path.dirname(path.resolve(filename)))
      createMissing(filename)
    },
    catch: (cause) => unusable("create", filename, cause)
  })

/** Fails as `prepare` and the opening of the file would, and creates nothing; returns whether there is a file. */
export const check = (filename: string): Effect.Effect<boolean, StorageError> =>
  Effect.suspend(() => {
    const isThere = fs.existsSync(filename)
    return Effect.try({
      try: () => {
        if (isThere) fs.closeSync(fs.openSync(filename, "r+"))
        else refuseFolder(path.dirname(path.resolve(filename)))
        return isThere
      },
      catch: (cause) => unusable(isThere ? "open" : "create", filename, cause)
    })
  })

/**
 * Fails for a file that has more than one name.
 *
 * The files that belong to a database have its name: its lock, and SQLite's log. A process that opens another name of the file finds
 * neither.
 */
export const refuseLinks = (filename: string): Effect.Effect<void, StorageError> =>
  Effect.flatMap(
    Effect.try({
      try: () => fs.statSync(filename),
      catch: (cause) =>
        new StorageError({
          message: `Could not look at the database ${filename}: the system said "${messageOf(cause)}".`
        })
    }),
    (found) => {
      const { ino, nlink } = found
      if (!found.isFile() || nlink <= 1) return Effect.void // A directory has two names.
      const message =
        `The database ${filename} is one file with ${nlink} names (hard links). By another name a second Holdfast could run ` +
        "the same turns, and SQLite would not find what it wrote last. Nothing was changed. Find the other names with: " +
        `find / -xdev -inum ${ino}, and remove them, or copy the file with cp and set database.path to the copy.`
      return Effect.fail(new StorageError({ message }))
    }
  )

/** Creates a file if it is missing; never touches an existing file. Throws the system's error. */
export const createMissing = (filename: string): void => {
  try {
    fs.closeSync(fs.openSync(filename, "wx", 0o600))
  } catch (error) {
    if (!isPresent(error)) throw error
  }
}

// --- internal

const unusable = (attempted: "create" | "open", filename: string, cause: unknown): StorageError =>
  new StorageError({
    message:
      `Could not ${attempted} the database ${filename}: the system said "${messageOf(cause)}". ` +
      "Check that its directory can be written by this user, or set database.path to another place."
  })

/** Throws the system's error if nothing can be made in a directory, or it cannot be made. */
const refuseFolder = (folder: string): void => {
  if (!fs.existsSync(folder)) return refuseFolder(path.dirname(folder))
  fs.accessSync(`${folder}/`, fs.constants.W_OK | fs.constants.X_OK)
}

/** Creates a directory and those above it. Node's own `recursive` tries without end where the system has no place for one, as in `/proc`. */
const makeFolder = (folder: string): void => {
  if (fs.existsSync(folder)) return
  makeFolder(path.dirname(folder))
  try {
    fs.mkdirSync(folder, { mode: 0o700 })
    // Prompts and answers are nothing for a repository.
    if (path.basename(folder) === ".holdfast") fs.writeFileSync(path.join(folder, ".gitignore"), "*\n")
  } catch (error) {
    // Another process makes it too.
    if (!isPresent(error)) throw error
  }
}

const isPresent = (error: unknown): boolean => Predicate.hasProperty(error, "code") && error.code === "EEXIST"

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
