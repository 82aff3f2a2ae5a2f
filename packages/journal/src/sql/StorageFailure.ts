/**
 * Explains a database's error: how much it affects, and what an operator can do.
 *
 * An explanation names the database, the attempt, the database's own message and the next step. It depends on SQLite's result code or
 * PostgreSQL's SQLSTATE, and without either on the kind of the error.
 */
import { StorageError } from "../StorageError.ts"
import * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import { SqlError } from "effect/sql"
import type { TableError } from "./JournalTable.ts"
import { codeOf } from "../sqlite/SqliteError.ts"

/** `one`: this write was refused. `all`: no write can succeed. `busy`: a retry can succeed. */
export const scopeOf = (error: TableError): "one" | "all" | "busy" => {
  if (!SqlError.isSqlError(error)) return "one"
  switch (error.reason._tag) {
    case "UniqueViolation":
    case "ConstraintError":
      return "one"
    default:
      if (isOfOneRow(error)) return "one"
      return error.isRetryable || PASSING.has(stateOf(error) ?? "") ? "busy" : "all"
  }
}

/**
 * Explains a failed operation.
 *
 * @param database the file, or the address without a password
 * @param attempted completes "Could not …": "record the events of turn t1"
 */
export const explain = (database: string, attempted: string, error: TableError): StorageError => {
  const what = `Could not ${attempted} in ${database}: `
  return new StorageError({
    message: SqlError.isSqlError(error)
      ? `${what}${saidBy(error)}. ${adviceFor(database, error)}`
      : `${what}a row does not hold what Holdfast writes (${error.message}). It was changed by another program or is damaged; restore the database from a backup.`,
    ...(scopeOf(error) === "one" ? { concerns: "one" } : undefined)
  })
}

/** The error of a database that has not answered within a limit. */
export const silence = (limit: Duration.Duration): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.ConnectionError({
      cause: new Silence(`it has not answered for ${Duration.format(limit)}`),
      operation: "execute"
    })
  })

/** Whether SQLite reports that the file is damaged, or is no database. */
export const isDamage = (error: SqlError.SqlError): boolean => {
  const code = codeOf(error)
  return code === CORRUPT || code === NOT_A_DATABASE
}

/** The commands that replace a damaged file by a backup. */
export const restoring = (file: string): string =>
  "Stop Holdfast, keep what is left, and put the newest backup in its place: " +
  `for f in '${file}' '${file}-wal' '${file}-shm'; do [ -e "$f" ] && mv "$f" "$f.damaged"; done; cp BACKUP '${file}'; ` +
  `then start it again. Without a backup, \`sqlite3 '${file}.damaged' .recover\` saves what can be read.`

// --- internal

class Silence extends Error {
  override readonly name = "Silence"
}

/** The database's own message, without the words that the driver adds. */
const saidBy = ({ message, reason: { cause } }: SqlError.SqlError): string => {
  if (cause instanceof Silence) return cause.message
  return `the database said "${cause instanceof Error && cause.message !== "" ? cause.message : message}"`
}

const CORRUPT = 11
const NOT_A_DATABASE = 26

/** By primary result code: https://www.sqlite.org/rescode.html. */
const ADVICE: { readonly [code: number]: string } = {
  5: "Another program holds the database. Close it (a database browser, a second Holdfast), then try again.",
  6: "Another program holds the database. Close it (a database browser, a second Holdfast), then try again.",
  8: "Nobody may write there. Check the owner and mode of the file and its directory, and whether the disk is mounted read-only.",
  10: "The disk reported an error. Check the disk and the system's log before going on.",
  13: "The disk is full. Free some space; a service that runs goes on by itself.",
  14: "The file could not be opened. Check that the path exists, is a file, and can be read and written by this user."
}

/** By SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html. */
const POSTGRES_ADVICE: { readonly [state: string]: string } = {
  "25006": "It takes no writes: it is a standby, or was set to read-only. Set database.url to the primary.",
  "3D000": "Create the database, or set database.url to another one; Holdfast makes the tables in it.",
  "53100": "The database's disk is full. Free some space there; a service that runs goes on by itself.",
  "53300": "All its connections are taken. Raise max_connections, or start fewer runners.",
  "57P01": "It is going down. Nothing is lost; turns go on when it is back.",
  "57P02": "It went down. Nothing is lost; turns go on when it is back.",
  "57P03": "It is starting or stopping. Nothing is lost; turns go on when it is back."
}

/** Errors that pass by themselves, though the driver does not classify them so: a restart, an idle session, all connections taken. */
const PASSING: ReadonlySet<string> = new Set(["53300", "57P01", "57P02", "57P03", "57P05"])

/**
 * Classes of SQLSTATE about the values of one statement: data that the database cannot hold (22), a constraint violation (23), and a value
 * that is too large or too deep (54). The next statement can succeed.
 */
const OF_ONE_ROW: ReadonlySet<string> = new Set(["22", "23", "54"])

/** SQLITE_TOOBIG: a text beyond what a row can hold. */
const TOO_BIG = 18

const isOfOneRow = (error: SqlError.SqlError): boolean =>
  codeOf(error) === TOO_BIG || OF_ONE_ROW.has(stateOf(error)?.slice(0, 2) ?? "")

/** PostgreSQL's SQLSTATE. */
const stateOf = ({ reason: { cause } }: SqlError.SqlError): string | undefined =>
  Predicate.hasProperty(cause, "code") && typeof cause.code === "string" ? cause.code : undefined

const adviceFor = (database: string, error: SqlError.SqlError): string => {
  switch (codeOf(error)) {
    case CORRUPT:
      return `The file is damaged. ${restoring(database)}`
    case NOT_A_DATABASE:
      return (
        "The file is no SQLite database, or its beginning is destroyed. If database.path is another program's file, set it to one of " +
        `Holdfast's own. Otherwise: ${restoring(database)}`
      )
  }
  const advice = ADVICE[codeOf(error) ?? -1] ?? POSTGRES_ADVICE[stateOf(error) ?? ""]
  if (advice !== undefined) return advice
  const known = BY_KIND[error.reason._tag]
  return known === NOTHING && isOfOneRow(error)
    ? "Nothing was written: the database cannot hold what it was given. Other writes are not concerned."
    : known
}

const CONTRADICTS = "Nothing was written: it contradicts what is stored already."
const BUSY = "The database was busy. Try again."
const REFUSED = "The database refused this user. Check its name, password and rights."
const NOTHING = "Nothing was written."

const BY_KIND: { readonly [Kind in SqlError.SqlError["reason"]["_tag"]]: string } = {
  UniqueViolation: CONTRADICTS,
  ConstraintError: CONTRADICTS,
  LockTimeoutError: BUSY,
  DeadlockError: BUSY,
  SerializationError: BUSY,
  StatementTimeoutError: BUSY,
  ConnectionError: "The database cannot be reached. Check that it is there and running.",
  AuthenticationError: REFUSED,
  AuthorizationError: REFUSED,
  SqlSyntaxError: NOTHING,
  UnknownError: NOTHING
}
