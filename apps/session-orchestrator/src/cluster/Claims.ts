/**
 * Claims held calls for this runner, by locks of a PostgreSQL session: each call has its client at one runner (HeldWaits.W1).
 *
 * Claims.C1. A claim ends with its process, at once: PostgreSQL releases the locks of a connection that is closed.
 * Claims.C2. A connection that was lost is opened again, with its claims. Another runner may have taken one meanwhile; then two runners have a client
 *     of the same turn, and the journal refuses the records of the second.
 * Claims.C3. A runner has `MOST` claims at most, because the locks of all runners share one table of some thousand entries. A held call without a
 *     claim is found by no other runner.
 */
import type { Ids } from "@holdfast/wire"
import { Effect, Exit, Scope, Semaphore } from "effect"
import type { SqlClient, SqlConnection, SqlError } from "effect/sql"
import { createHash } from "node:crypto"

/** Of these locks, among those of the whole database. */
export const SPACE = 0x486f_6c64

/** The claims of a runner (Claims.C3). */
export const MOST = 2_000

/** The claims of this runner. */
export interface Claims {
  /** Claims a call. `false`: it has been claimed, by this runner or another. Interruption leaves no claim. */
  readonly take: (id: Ids.ConversationId) => Effect.Effect<boolean, SqlError.SqlError>
  /** Gives a claim back. */
  readonly release: (id: Ids.ConversationId) => Effect.Effect<void, SqlError.SqlError>
  /** Whether a runner has claimed a call. */
  readonly isTaken: (id: Ids.ConversationId) => Effect.Effect<boolean, SqlError.SqlError>
}

/** Claims over a connection of its own, which is opened with the first claim and closed with the scope. */
export const make = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient
): Effect.fn.Return<Claims, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const taken = new Set<Ids.ConversationId>()
  const one = Semaphore.makeUnsafe(1)
  let session: Session | undefined

  const opened = Effect.gen(function* () {
    if (session !== undefined) return session.connection
    const own = yield* Scope.fork(scope)
    const connection = yield* Scope.provide(sql.reserve, own)
    yield* Scope.addFinalizer(own, Effect.ignore(connection.executeRaw("SELECT pg_advisory_unlock_all()", [])))
    session = { connection, scope: own }
    // Claims.C2. A client that leaves meanwhile must not leave it with some of them.
    yield* Effect.uninterruptible(Effect.forEach(taken, (id) => lock(connection, id), { discard: true }))
    return connection
  })
  const unlock = (connection: SqlConnection.Connection, id: Ids.ConversationId) =>
    Effect.suspend(() =>
      taken.delete(id)
        ? Effect.asVoid(connection.execute("SELECT pg_advisory_unlock($1, $2)", numbersOf(id), undefined))
        : Effect.void
    )
  const lost = Effect.suspend(() => {
    const closed = session
    session = undefined
    return closed === undefined ? Effect.void : Scope.close(closed.scope, Exit.void)
  })
  const using = <A>(act: (connection: SqlConnection.Connection) => Effect.Effect<A, SqlError.SqlError>) =>
    one.withPermits(1)(Effect.tapError(Effect.flatMap(opened, act), () => lost))

  return {
    take: (id) =>
      using((connection) => {
        if (taken.has(id) || taken.size >= MOST) return Effect.succeed(false)
        // PostgreSQL grants the lock even if its answer comes after the client has left: the answer is waited for.
        const claim = Effect.tap(lock(connection, id), (isOurs) => Effect.sync(() => isOurs && taken.add(id)))
        return Effect.onInterrupt(Effect.uninterruptible(claim), () => Effect.ignore(unlock(connection, id)))
      }),
    release: (id) => using((connection) => unlock(connection, id)),
    isTaken: (id) =>
      using((connection) =>
        Effect.map(
          connection.execute(
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid::bigint = $1 " +
              "AND objid::bigint = $2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            numbersOf(id),
            undefined
          ),
          (rows) => rows.length > 0
        )
      )
  }
})

// --- internal

interface Session {
  readonly connection: SqlConnection.Connection
  readonly scope: Scope.Closeable
}

const lock = (
  connection: SqlConnection.Connection,
  id: Ids.ConversationId
): Effect.Effect<boolean, SqlError.SqlError> =>
  Effect.map(
    connection.execute("SELECT pg_try_advisory_lock($1, $2) AS locked", numbersOf(id), undefined),
    ([row]) => row?.locked === true
  )

/** The lock of a call. Of two calls with the same number one is not claimed. `pg_locks` shows numbers without sign, so it has 31 bits. */
const numbersOf = (id: Ids.ConversationId): ReadonlyArray<number> => [
  SPACE,
  createHash("sha256").update(id).digest().readUInt32BE(0) >>> 1
]
