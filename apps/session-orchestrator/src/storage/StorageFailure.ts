/**
 * Turns what a database said into what a person can act on: which file, what was attempted, what was said, what to do.
 *
 * The words depend on SQLite's result code where there is one, and on the kind of error otherwise.
 */
import type { SqlError } from "effect/sql"
import { codeOf } from "./SqliteError.ts"
import { StorageError } from "./Store.ts"

/**
 * Explains a failed operation.
 *
 * @param database the file, or whatever else names the database to its owner
 * @param attempted completes "Could not …": "record the events of turn t1"
 */
export const explain = (database: string, attempted: string, error: SqlError.SqlError): StorageError =>
  new StorageError({
    message: `Could not ${attempted} in ${database}: the database said "${error.message}". ${adviceFor(error)}`
  })

/** A row that does not hold what was written into it. */
export const damaged = (database: string, attempted: string, detail: string): StorageError =>
  new StorageError({
    message:
      `Could not ${attempted} in ${database}: a row does not hold what Holdfast writes (${detail}). ` +
      "It was changed by another program or is damaged; restore the database from a backup."
  })

// --- internal

/** By primary result code: https://www.sqlite.org/rescode.html. */
const ADVICE: { readonly [code: number]: string } = {
  5: "Another program holds the database. Close it (a database browser, a second Holdfast), then try again.",
  6: "Another program holds the database. Close it (a database browser, a second Holdfast), then try again.",
  8: "Nobody may write there. Check the owner and mode of the file and its directory, and whether the disk is mounted read-only.",
  10: "The disk reported an error. Check the disk and the system's log before going on.",
  11: "The file is damaged. Stop Holdfast, keep a copy of the file, and restore it from a backup or recover it with `sqlite3 FILE .recover`.",
  13: "The disk is full. Free some space; no restart is needed.",
  14: "The file could not be opened. Check that the path exists, is a file, and can be read and written by this user.",
  26: "The file is no SQLite database. Set database.path to another file, or move this one away."
}

const adviceFor = (error: SqlError.SqlError): string => {
  const advice = ADVICE[codeOf(error) ?? -1]
  if (advice !== undefined) return advice
  switch (error.reason._tag) {
    case "UniqueViolation":
    case "ConstraintError":
      return "Nothing was written: it contradicts what is stored already."
    case "LockTimeoutError":
    case "DeadlockError":
    case "SerializationError":
    case "StatementTimeoutError":
      return "The database was busy. Try again."
    case "ConnectionError":
      return "The database cannot be reached. Check that it is there and running."
    case "AuthenticationError":
    case "AuthorizationError":
      return "The database refused this user. Check its name, password and rights."
    case "SqlSyntaxError":
    case "UnknownError":
      return "Nothing was written."
    default:
      return error.reason satisfies never
  }
}
