/**
 * A transaction on PostgreSQL whose fate is known, whatever becomes of the connection.
 *
 * T1. It succeeds when it is committed, and fails when it is not. A connection that is lost while the commit is under way
 *     leaves both open; then PostgreSQL is asked, by the transaction's number, until it answers.
 * T2. A connection that is lost earlier is a failure like any other. The rollback that it takes with it is no second one.
 * T3. Every statement can be interrupted, `BEGIN` and `COMMIT` too, so that no connection that is silent is held for ever: the client
 *     closes one that does not answer to a cancellation.
 *
 * Without T1 a prompt that was written could be taken for one that was there before, or be refused. T3 is why this is not the client's
 * own `withTransaction`.
 *
 * Read: https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-PG-SNAPSHOT (pg_xact_status).
 */
import { Cause, Effect, Exit, Option, Predicate, Schedule, Schema } from "effect"
import { type SqlClient, type SqlConnection, SqlError } from "effect/sql"

/** Runs an effect in a transaction, or in a savepoint of the one that is open. */
export const make =
  (sql: SqlClient.SqlClient) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | SqlError.SqlError> =>
    Effect.flatMap(Effect.serviceOption(sql.transactionService), (open) =>
      Option.isSome(open) ? savepoint(open.value[0], effect) : transaction(sql, effect)
    )

// --- internal

type Failing<A, E> = Effect.Effect<A, E | SqlError.SqlError>

const transaction = <A, E>(sql: SqlClient.SqlClient, effect: Effect.Effect<A, E>): Failing<A, E> =>
  Effect.suspend(() => {
    let commit: { readonly number: string; readonly value: A } | undefined
    const numbered = Effect.tap(effect, (value) =>
      Effect.map(numberOf(sql), (number) => {
        if (number !== undefined) commit = { number, value }
      })
    )
    const committed = Effect.scoped(
      Effect.flatMap(sql.reserve, (connection) => onConnection(sql, connection, numbered))
    )
    return Effect.catch(committed, (error): Failing<A, E> => {
      if (commit === undefined) return Effect.fail(error)
      const { number, value } = commit
      return Effect.flatMap(fateOf(sql, number), (fate) =>
        fate === "committed" ? Effect.succeed(value) : Effect.fail(error)
      )
    })
  })

const onConnection = <A, E>(
  sql: SqlClient.SqlClient,
  connection: SqlConnection.Connection,
  effect: Effect.Effect<A, E>
): Failing<A, E> => {
  let isOpen = true
  const rollback = Effect.ignoreCause(
    Effect.suspend(() => {
      isOpen = false
      return connection.executeRaw("ROLLBACK", [])
    })
  )
  return connection.executeRaw("BEGIN", []).pipe(
    Effect.andThen(Effect.provideService(effect, sql.transactionService, [connection, 0])),
    // Here rather than in the finalizer, which nothing can interrupt (T3). T2
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

/** `COMMIT` of a transaction that has failed is answered too, with `ROLLBACK`. */
const commitOn = (connection: SqlConnection.Connection): Effect.Effect<void, SqlError.SqlError> =>
  Effect.flatMap(connection.executeRaw("COMMIT", []), (answer) =>
    Predicate.hasProperty(answer, "command") && answer.command === "ROLLBACK"
      ? Effect.fail(
          new SqlError.SqlError({
            reason: new SqlError.UnknownError({
              cause: new Error("the transaction had failed, and was taken back"),
              operation: "commit"
            })
          })
        )
      : Effect.void
  )

/** One name does for all: PostgreSQL takes the innermost of them. */
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

const Numbered = Schema.Tuple([Schema.Struct({ number: Schema.NullOr(Schema.String) })])

/** The transaction's number; none when it has written nothing, and then it does not matter whether it was committed. */
const numberOf = (sql: SqlClient.SqlClient): Effect.Effect<string | undefined, SqlError.SqlError> =>
  sql`SELECT pg_current_xact_id_if_assigned()::text AS number`.pipe(
    Effect.flatMap((rows) => Effect.orDie(Schema.decodeUnknownEffect(Numbered)(rows))),
    Effect.map(([{ number }]) => number ?? undefined)
  )

const Fate = Schema.Tuple([Schema.Struct({ fate: Schema.Literals(["committed", "aborted", "in progress"]) })])

/** Half a minute: a restart takes less, and a process that is told to stop must not wait for ever. */
const ASKING = { schedule: Schedule.spaced("500 millis"), times: 60 }

/** T1. The session that commits may still be at it when its client is gone. */
const fateOf = (sql: SqlClient.SqlClient, number: string): Effect.Effect<string, SqlError.SqlError> =>
  sql`SELECT pg_xact_status(${number}::xid8) AS fate`.pipe(
    Effect.flatMap((rows) => Effect.orDie(Schema.decodeUnknownEffect(Fate)(rows))),
    Effect.flatMap(([{ fate }]) => (fate === "in progress" ? Effect.fail(unknown(undefined)) : Effect.succeed(fate))),
    Effect.retry(ASKING),
    Effect.mapError(unknown)
  )

const unknown = (cause: SqlError.SqlError | undefined): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.UnknownError({
      cause: new Error("the connection was lost during a commit; whether that was made is not known", { cause }),
      operation: "commit"
    })
  })
