/**
 * A transaction on PostgreSQL whose fate is known, whatever becomes of the connection.
 *
 * T1. It succeeds when it is committed, and fails when it is not. A connection that is lost while the commit is under way
 *     leaves both open; then PostgreSQL is asked, by the transaction's number, until it answers.
 * T2. A connection that is lost earlier is a failure like any other. The rollback that it takes with it is no second one.
 *
 * Without T1 a prompt that was written could be taken for one that was there before, or be refused.
 *
 * Read: https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-PG-SNAPSHOT (pg_xact_status).
 */
import { Effect, Option, Schedule, Schema } from "effect"
import { type SqlClient, SqlError } from "effect/sql"

/** Runs an effect in a transaction, or in a savepoint of the one that is open. */
export const make =
  (sql: SqlClient.SqlClient) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | SqlError.SqlError> =>
    Effect.flatMap(Effect.serviceOption(sql.transactionService), (open) =>
      Option.isSome(open) ? failing(sql.withTransaction(effect)) : transaction(sql, effect)
    )

// --- internal

const transaction = <A, E>(sql: SqlClient.SqlClient, effect: Effect.Effect<A, E>) =>
  Effect.suspend(() => {
    let commit: { readonly number: string; readonly value: A } | undefined
    const numbered = Effect.tap(effect, (value) =>
      Effect.map(numberOf(sql), (number) => {
        if (number !== undefined) commit = { number, value }
      })
    )
    return Effect.catch(failing(sql.withTransaction(numbered)), (error): Effect.Effect<A, E | SqlError.SqlError> => {
      if (commit === undefined) return Effect.fail(error)
      const { number, value } = commit
      return Effect.flatMap(fateOf(sql, number), (fate) =>
        fate === "committed" ? Effect.succeed(value) : Effect.fail(error)
      )
    })
  })

/** T2: of a rollback on a connection that is gone the client says that it cannot be. */
const failing = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | SqlError.SqlError> =>
  Effect.catchDefect(effect, (defect) => (SqlError.isSqlError(defect) ? Effect.fail(defect) : Effect.die(defect)))

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
