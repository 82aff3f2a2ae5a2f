/**
 * What SQLite said, put into the form that `SqlError` classifies.
 *
 * `node:sqlite` gives the result code as `errcode`, and the same `code` to all; Effect's classifier reads `errno`.
 *
 * Read: https://www.sqlite.org/rescode.html.
 */
import { Predicate } from "effect"
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

/** Classifies whatever `node:sqlite` threw. `operation` is one word: open, prepare, execute. */
export const classify = (cause: unknown, operation: string): SqlError.SqlError => {
  const message = cause instanceof Error ? cause.message : String(cause)
  const native =
    Predicate.hasProperty(cause, "errcode") && Predicate.isNumber(cause.errcode)
      ? new SqliteError(message, cause.errcode, cause)
      : cause
  return new SqlError.SqlError({ reason: SqlError.classifySqliteError(native, { message, operation }) })
}

/** The primary result code behind a `SqlError`: 13 is SQLITE_FULL, whatever is in its higher bits. */
export const codeOf = (error: SqlError.SqlError): number | undefined =>
  error.reason.cause instanceof SqliteError ? error.reason.cause.errno & 0xff : undefined
