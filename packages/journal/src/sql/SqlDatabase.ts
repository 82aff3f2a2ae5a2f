/**
 * A SQL database as the ports on it use it: grouped writes, grouped reads, retries while it is busy, and errors in words.
 *
 * Writes go through `GroupCommit`; reads go to the database directly and hold nothing open. Both survive a database that is away for some
 * seconds (`DatabaseWait`).
 */
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import { SqlClient, SqlError } from "effect/sql"
import type { StorageError } from "../StorageError.ts"
import * as GroupCommit from "./GroupCommit.ts"
import * as GroupRead from "./GroupRead.ts"
import * as DatabaseWait from "./DatabaseWait.ts"
import * as Rows from "./Rows.ts"
import * as StorageFailure from "./StorageFailure.ts"
import type { TableError } from "./JournalTable.ts"

/** How a database is used. */
export interface Options {
  /** Names the database in errors: its file, or its address without a password. */
  readonly database: string
  /** Runs an effect in a transaction, or in a savepoint of the open transaction. Absent: `SqlClient.withTransaction`. */
  readonly transaction?: GroupCommit.Options<TableError>["transaction"]
  /** Is called for each error of a statement, with its explanation. */
  readonly onError?: (error: SqlError.SqlError, explained: StorageError) => void
}

/** A database in use. */
export type SqlDatabase = Effect.Success<ReturnType<typeof make>>

/** What the last transactions have come to. */
export interface Health {
  /** The number of transactions and savepoints that have succeeded. */
  commits: number
  /** The last error of a transaction that concerned all writes, until a reader clears it. */
  trouble: SqlError.SqlError | undefined
}

/** Small rows a query. */
const READS_AT_ONCE = 64

/** Uses the `SqlClient` of the context until the scope ends. Its tables must exist at the first read or write. */
export const make = Effect.fnUntraced(function* ({ database, onError, transaction }: Options) {
  const sql = yield* SqlClient.SqlClient
  const isServer = Rows.isServer(sql)
  const begin = transaction ?? sql.withTransaction
  const health: Health = { commits: 0, trouble: undefined }
  const explained = (attempted: string, error: TableError): StorageError => {
    const explained = StorageFailure.explain(database, attempted, error)
    if (SqlError.isSqlError(error)) onError?.(error, explained)
    return explained
  }
  const failed = (attempted: string) => Effect.mapError((error: TableError) => explained(attempted, error))
  const answered = (limit: Duration.Duration) =>
    // A server can be silent; a file answers or fails.
    isServer ? DatabaseWait.within<TableError>(limit, () => StorageFailure.silence(limit)) : identity
  const patiently = <A>(effect: Effect.Effect<A, TableError>) =>
    answered(DatabaseWait.SILENCE_LIMIT)(DatabaseWait.whileBusy(isBusy)(effect))
  const { lane } = yield* GroupCommit.make<TableError>({
    transaction: (effect) =>
      begin(effect).pipe(
        Effect.tap(() => Effect.sync(() => void health.commits++)),
        Effect.tapError((error) =>
          Effect.sync(() => {
            if (SqlError.isSqlError(error) && StorageFailure.scopeOf(error) !== "one") health.trouble = error
          })
        )
      ),
    isServer,
    scope: StorageFailure.scopeOf,
    answered: answered(DatabaseWait.SILENCE_LIMIT),
    closed: () => failure("the database has been closed", undefined),
    died: (cause) => failure(Cause.pretty(cause), Cause.squash(cause))
  })
  const together = <In, Out>(size: number, apply: GroupRead.Apply<In, Out, TableError>) =>
    GroupRead.make(
      size,
      (inputs: ReadonlyArray<In>) => patiently(apply(inputs)),
      (error) => StorageFailure.scopeOf(error) !== "one"
    )
  const writes = <In, Out>(attempted: (input: In) => string, apply: GroupCommit.Apply<In, Out, TableError>) => {
    const write = lane(apply)
    return (input: In): Effect.Effect<Out, StorageError> => write(input).pipe(failed(attempted(input)))
  }
  return {
    sql,
    health,
    /** A queue for writes of one kind; writes of one commit are made in the order in which the lanes were made. */
    lane,
    /** A queue for small reads of one kind, at most `size` of them a query. */
    together,
    /** A queue for writes of one kind, each with what it `attempted`, for its error: "record turn t1". */
    writes,
    /** The same for writes that are made one by one; what a write attempted is named by its first argument. */
    each: <Args extends ReadonlyArray<unknown>, Out>(
      attempted: string | ((of: Args[0]) => string),
      write: (...args: Args) => Effect.Effect<Out, TableError>
    ) => {
      const one = writes(
        ([of]: Args) => (typeof attempted === "string" ? attempted : attempted(of)),
        Effect.forEach((args) => write(...args))
      )
      return (...args: Args) => one(args)
    },
    /** A queue for small reads of one kind, each with `what` it reads, for its error. */
    reads: <In, Out>(what: (input: In) => string, apply: GroupRead.Apply<In, Out, TableError>) =>
      Effect.map(
        together(READS_AT_ONCE, apply),
        (read) =>
          (input: In): Effect.Effect<Option.Option<Out>, StorageError> =>
            Effect.map(read(input), Option.fromUndefinedOr).pipe(failed(`read ${what(input)}`))
      ),
    /** Runs a read with retries; its error names `what` could not be read. */
    read:
      (what: string) =>
      <A>(effect: Effect.Effect<A, TableError>): Effect.Effect<A, StorageError> =>
        effect.pipe(patiently, failed(`read ${what}`)),
    /** Explains an effect's error, with what was `attempted`: "record turn t1". */
    failed,
    /** Explains an error. */
    explained,
    /** Abandons an effect on a server that has not answered within a limit. */
    answered
  }
})

/** Whether a retry of an effect can succeed. */
export const isBusy = (error: TableError): boolean => StorageFailure.scopeOf(error) === "busy"

// --- internal

const failure = (message: string, cause: unknown): TableError =>
  new SqlError.SqlError({ reason: new SqlError.UnknownError({ message, cause, operation: "commit" }) })
