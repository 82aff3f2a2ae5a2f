/**
 * A SQL database as the ports on it use it: grouped writes, grouped reads, retries while it is busy, and errors in words.
 *
 * Writes go through `GroupCommit`; reads go to the database directly and hold nothing open. Both survive a database that is away for some
 * seconds (`DatabaseWait`).
 */
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { identity } from "effect/Function"
import { SqlClient, SqlError } from "effect/sql"
import type { StorageError } from "../StorageError.ts"
import * as GroupCommit from "./GroupCommit.ts"
import * as GroupRead from "./GroupRead.ts"
import * as DatabaseWait from "./DatabaseWait.ts"
import * as StorageFailure from "./StorageFailure.ts"
import type { TableError } from "./JournalTable.ts"

/** How a database is used. */
export interface Options {
  /** Names the database in errors: its file, or its address without a password. */
  readonly database: string
  /** It is a server, which can be silent; a file answers or fails. */
  readonly isServer?: boolean
  /** Runs an effect in a transaction, or in a savepoint of the open transaction. Absent: `SqlClient.withTransaction`. */
  readonly transaction?: GroupCommit.Options<TableError>["transaction"]
  /** Is called for each error of a statement, with its explanation. */
  readonly onError?: (error: SqlError.SqlError, explained: StorageError) => void
}

/** A database in use. */
export interface SqlDatabase {
  readonly sql: SqlClient.SqlClient
  /** A queue for writes of one kind; writes of one commit are made in the order in which the lanes were made. */
  readonly lane: GroupCommit.GroupCommit<TableError>["lane"]
  /** A queue for small reads of one kind, at most `size` of them a query. */
  readonly together: <In, Out>(
    size: number,
    apply: GroupRead.Apply<In, Out, TableError>
  ) => Effect.Effect<(input: In) => Effect.Effect<Out, TableError>>
  /** Runs a read with retries; its error names `what` could not be read. */
  readonly read: (what: string) => <A>(effect: Effect.Effect<A, TableError>) => Effect.Effect<A, StorageError>
  /** Explains an effect's error, with what was `attempted`: "record turn t1". */
  readonly failed: (attempted: string) => <A>(effect: Effect.Effect<A, TableError>) => Effect.Effect<A, StorageError>
  /** Explains an error. */
  readonly explained: (attempted: string, error: TableError) => StorageError
  /** Abandons an effect on a server that has not answered within a limit. */
  readonly answered: (
    limit: Duration.Duration
  ) => <A>(effect: Effect.Effect<A, TableError>) => Effect.Effect<A, TableError>
  /** The last error of a transaction that concerned all writes, since the last `forgetTrouble`. */
  readonly trouble: () => SqlError.SqlError | undefined
  readonly forgetTrouble: () => void
  /** The number of transactions and savepoints that have succeeded. */
  readonly commits: () => number
}

/** Uses the `SqlClient` of the context until the scope ends. Its tables must exist at the first read or write. */
export const make = Effect.fnUntraced(function* ({
  database,
  isServer = false,
  onError,
  transaction
}: Options): Effect.fn.Return<SqlDatabase, never, SqlClient.SqlClient | Scope.Scope> {
  const sql = yield* SqlClient.SqlClient
  const begin = transaction ?? sql.withTransaction
  let trouble: SqlError.SqlError | undefined
  let commits = 0
  const explained = (attempted: string, error: TableError): StorageError => {
    if (!SqlError.isSqlError(error)) return StorageFailure.damaged(database, attempted, error.message)
    const explained = StorageFailure.explain(database, attempted, error)
    onError?.(error, explained)
    return explained
  }
  const failed = (attempted: string) => Effect.mapError((error: TableError) => explained(attempted, error))
  const answered: SqlDatabase["answered"] = (limit) =>
    isServer ? DatabaseWait.within<TableError>(limit, () => StorageFailure.silence(limit)) : identity
  const patiently = <A>(effect: Effect.Effect<A, TableError>) =>
    answered(DatabaseWait.SILENCE_LIMIT)(DatabaseWait.whileBusy(isBusy)(effect))
  const group = yield* GroupCommit.make<TableError>({
    transaction: (effect) =>
      begin(effect).pipe(
        Effect.tap(() => Effect.sync(() => void commits++)),
        Effect.tapError((error) =>
          Effect.sync(() => {
            if (SqlError.isSqlError(error) && scopeOf(error) !== "one") trouble = error
          })
        )
      ),
    isServer,
    scope: scopeOf,
    answered: answered(DatabaseWait.SILENCE_LIMIT),
    closed,
    died
  })
  return {
    sql,
    lane: group.lane,
    together: (size, apply) =>
      GroupRead.make(
        size,
        (inputs) => patiently(apply(inputs)),
        (error) => scopeOf(error) !== "one"
      ),
    read: (what) => (effect) => effect.pipe(patiently, failed(`read ${what}`)),
    failed,
    explained,
    answered,
    trouble: () => trouble,
    commits: () => commits,
    forgetTrouble: () => {
      trouble = undefined
    }
  }
})

/** Whether a retry of an effect can succeed. */
export const isBusy = (error: TableError): boolean => scopeOf(error) === "busy"

// --- internal

const scopeOf = (error: TableError): "one" | "all" | "busy" =>
  SqlError.isSqlError(error) ? StorageFailure.scopeOf(error) : "one"

const closed = (): TableError => failure("the database has been closed", undefined)

const died = (cause: Cause.Cause<never>): TableError => failure(Cause.pretty(cause), Cause.squash(cause))

const failure = (message: string, cause: unknown): TableError =>
  new SqlError.SqlError({ reason: new SqlError.UnknownError({ message, cause, operation: "commit" }) })
