/**
 * Runs a transaction on PostgreSQL and learns its outcome, also when the connection is lost.
 *
 * PostgresTransaction.T1. The effect succeeds when the transaction is committed, and fails when it is not. If the connection is lost during
 *     the commit, the outcome is unknown; then PostgreSQL is queried by the transaction's number until it answers. Without that a prompt
 *     that was written could count as an earlier prompt, or be refused.
 * PostgresTransaction.T3. Every statement can be interrupted, `BEGIN` and `COMMIT` too, so that a silent connection is not held without
 *     limit: the client closes a connection that does not answer a cancellation. So this is not the client's own `withTransaction`.
 * PostgresTransaction.T4. PostgreSQL ends a transaction that its process has left for `IDLE_MS`.
 *
 * Read: https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-PG-SNAPSHOT (pg_xact_status).
 */
import { Cause, Effect, Exit, Option, Predicate, Schedule } from "effect"
import { type SqlClient, type SqlConnection, SqlError } from "effect/sql"

/** Runs an effect in a transaction, or in a savepoint of the open transaction. */
export const make =
  (sql: SqlClient.SqlClient) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | SqlError.SqlError> =>
    Effect.flatMap(Effect.serviceOption(sql.transactionService), (open) =>
      Option.isSome(open) ? savepoint(open.value[0], effect) : transaction(sql, effect)
    )

// --- internal

/**
 * Half of the time within which another runner takes turns over. A runner that freezes would keep the locks of its rows otherwise, and no
 * other runner could go on with their turns.
 */
const IDLE_MS = 10_000

/**
 * Sets the limit and reads the number (PostgresTransaction.T4, T1), in one round trip.
 *
 * The limit is local (`true`), and no parameter of the connection: PgBouncer refuses those, and other users of its connections keep their own
 * setting. The number is assigned here, also to a transaction that turns out to write nothing.
 */
const OPEN = `SELECT pg_current_xact_id()::text AS number, set_config('idle_in_transaction_session_timeout', '${IDLE_MS}', true)`

type Failing<A, E> = Effect.Effect<A, E | SqlError.SqlError>

const transaction = <A, E>(sql: SqlClient.SqlClient, effect: Effect.Effect<A, E>): Failing<A, E> =>
  Effect.suspend(() => {
    let commit: { readonly number: string; readonly value: A } | undefined
    const committed = Effect.scoped(
      Effect.flatMap(sql.reserve, (connection) =>
        onConnection(sql, connection, effect, (number, value) => {
          commit = { number, value }
        })
      )
    )
    return Effect.catch(committed, (error): Failing<A, E> => {
      // A connection that is lost before the commit is an ordinary failure.
      if (commit === undefined) return Effect.fail(error)
      const { number, value } = commit
      return Effect.flatMap(fateOf(sql, number), (fate) =>
        fate === "committed" ? Effect.succeed(value) : Effect.fail(error)
      )
    })
  })

/** `committing` is called before the commit. */
const onConnection = <A, E>(
  sql: SqlClient.SqlClient,
  connection: SqlConnection.Connection,
  effect: Effect.Effect<A, E>,
  committing: (number: string, value: A) => void
): Failing<A, E> => {
  let isOpen = true
  const rollback = Effect.ignoreCause(
    Effect.suspend(() => {
      isOpen = false
      return connection.executeRaw("ROLLBACK", [])
    })
  )
  return connection.executeRaw("BEGIN", []).pipe(
    Effect.andThen(numberOf(connection)),
    Effect.flatMap((number) =>
      Effect.tap(Effect.provideService(effect, sql.transactionService, [connection, 0]), (value) =>
        Effect.sync(() => committing(number, value))
      )
    ),
    // Here and not in the finalizer, which cannot be interrupted (PostgresTransaction.T3). Its failure is no second one.
    Effect.tapCause((cause) => (Cause.hasInterrupts(cause) ? Effect.void : rollback)),
    Effect.tap(
      Effect.suspend(() => {
        isOpen = false
        return commitOn(connection)
      })
    ),
    Effect.onExit(() => (isOpen ? rollback : Effect.void))
  )
}

/** PostgreSQL answers the `COMMIT` of a failed transaction with `ROLLBACK`. */
const commitOn = (connection: SqlConnection.Connection): Effect.Effect<void, SqlError.SqlError> =>
  Effect.flatMap(connection.executeRaw("COMMIT", []), (answer) =>
    Predicate.hasProperty(answer, "command") && answer.command === "ROLLBACK"
      ? Effect.fail(failure(new Error("the transaction had failed, and was taken back")))
      : Effect.void
  )

/** One name is enough: PostgreSQL uses the innermost savepoint of that name. */
const savepoint = <A, E>(connection: SqlConnection.Connection, effect: Effect.Effect<A, E>): Failing<A, E> => {
  const run = (statement: string) => connection.executeRaw(`${statement} SAVEPOINT inner_write`, [])
  return Effect.gen(function* () {
    yield* connection.executeRaw("SAVEPOINT inner_write", [])
    const exit = yield* Effect.exit(effect)
    if (Exit.isFailure(exit)) yield* run("ROLLBACK TO")
    yield* run("RELEASE")
    return yield* exit
  })
}

const numberOf = (connection: SqlConnection.Connection): Effect.Effect<string, SqlError.SqlError> =>
  Effect.map(connection.execute(OPEN, [], undefined), ([row]) => String(row?.number))

const IN_PROGRESS = "in progress"

/** Half a minute: a restart takes less, and a process that has to stop must not wait without limit. */
const ASKING = { schedule: Schedule.spaced("500 millis"), times: 60 }

/** PostgresTransaction.T1. The session may still be committing when its client has lost the connection. */
const fateOf = (sql: SqlClient.SqlClient, number: string): Effect.Effect<string, SqlError.SqlError> =>
  sql<{ readonly fate: string }>`SELECT pg_xact_status(${number}::xid8) AS fate`.pipe(
    Effect.flatMap(([{ fate } = { fate: IN_PROGRESS }]) =>
      fate === IN_PROGRESS ? Effect.fail(unknown(undefined)) : Effect.succeed(fate)
    ),
    Effect.retry(ASKING),
    Effect.mapError(unknown)
  )

const unknown = (cause: SqlError.SqlError | undefined): SqlError.SqlError =>
  failure(new Error("the connection was lost during a commit; whether that was made is not known", { cause }))

/** The error of a commit. */
const failure = (cause: Error): SqlError.SqlError =>
  new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause, operation: "commit" }) })
