/**
 * Converts errors of `node:sqlite` into the form that `SqlError` classifies.
 *
 * `node:sqlite` has the result code in `errcode`, and the same `code` for all errors; Effect's classifier reads `errno`.
 *
 * Read: https://www.sqlite.org/rescode.html.
 */
import * as Predicate from "effect/Predicate"
import { SqlError } from "effect/sql"

/** An error of SQLite, with its extended result code. */
export class SqliteError extends Error {
  override readonly name = "SqliteError"
  readonly errno: number

  constructor(message: string, errno: number, cause: unknown) {
    super(message, { cause })
    this.errno = errno
  }
}

/** Classifies an error that `node:sqlite` threw. `operation` is one word: open, prepare, execute. */
export const classify = (cause: unknown, operation: string): SqlError.SqlError => {
  const message = cause instanceof Error ? cause.message : String(cause)
  const native =
    Predicate.hasProperty(cause, "errcode") && Predicate.isNumber(cause.errcode)
      ? new SqliteError(message, cause.errcode, cause)
      : cause
  return new SqlError.SqlError({ reason: SqlError.classifySqliteError(native, { message, operation }) })
}

/** The primary result code of an error that `node:sqlite` threw: 5 is SQLITE_BUSY. */
export const thrownCodeOf = (cause: unknown): number | undefined =>
  Predicate.hasProperty(cause, "errcode") && Predicate.isNumber(cause.errcode) ? cause.errcode & 0xff : undefined

/** The primary result code of a `SqlError`, without the higher bits: 13 is SQLITE_FULL. `undefined` for other databases. */
export const codeOf = (error: SqlError.SqlError): number | undefined =>
  error.reason.cause instanceof SqliteError ? error.reason.cause.errno & 0xff : undefined
