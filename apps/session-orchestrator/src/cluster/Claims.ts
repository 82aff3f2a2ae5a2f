/**
 * Claims held calls for this runner, by locks of a PostgreSQL session: each call has its client at one runner.
 *
 * Claims.C1. A claim ends with its process, at once: PostgreSQL releases the locks of a connection that is closed.
 * Claims.C2. A connection that was lost is opened again, with its claims. Another runner may have taken one meanwhile; then two runners have a client
 *     of the same turn, and the journal refuses the records of the second.
 * - A runner has `MOST` claims at most, because the locks of all runners share one table of some thousand entries. A held call without a
 *   claim is found by no other runner.
 * Claims.C4. A claim is taken and noted, or given back, as one: a client that leaves meanwhile leaves no lock that this runner does not know of.
 */
import type { Ids } from "@holdfast/wire"
import { Duration, Effect, Option, RcRef, Schedule, Semaphore } from "effect"
import type { SqlClient, SqlConnection, SqlError } from "effect/sql"
import { createHash } from "node:crypto"

/** Of these locks, among those of the whole database. */
export const SPACE = 0x486f_6c64

/** The claims of a runner. */
export const MOST = 2_000

/** The claims of this runner. */
export type Claims = Effect.Success<ReturnType<typeof make>>

/** Claims over a connection of its own, which is opened with the first claim and closed with the scope. */
export const make = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const taken = new Set<Ids.ConversationId>()
  const one = Semaphore.makeUnsafe(1)
  const session = yield* RcRef.make({
    acquire: Effect.gen(function* () {
      const connection = yield* sql.reserve
      yield* Effect.addFinalizer(() => Effect.ignore(connection.executeRaw("SELECT pg_advisory_unlock_all()", [])))
      for (const id of taken) yield* lock(connection, id) // Claims.C2
      return connection
    }),
    idleTimeToLive: Duration.infinity
  })
  const using = <A>(act: (connection: SqlConnection.Connection) => Effect.Effect<A, SqlError.SqlError>) =>
    Effect.scoped(Effect.flatMap(RcRef.get(session), act)).pipe(
      Effect.tapError(() => RcRef.invalidate(session)),
      Effect.uninterruptible, // Claims.C4
      one.withPermits(1)
    )

  return {
    /** Claims a call. `false`: it has been claimed, by this runner or another. */
    take: (id: Ids.ConversationId) =>
      using((connection) => {
        if (taken.has(id) || taken.size >= MOST) return Effect.succeed(false)
        return Effect.tap(lock(connection, id), (isOurs) => Effect.sync(() => isOurs && taken.add(id)))
      }),
    /** Gives a claim back. */
    release: (id: Ids.ConversationId) =>
      using((connection) =>
        taken.delete(id)
          ? Effect.asVoid(connection.execute("SELECT pg_advisory_unlock($1, $2)", numbersOf(id), undefined))
          : Effect.void
      ),
    /** Reads the claims of all runners. The function returns whether a call was among them. */
    read: using((connection) =>
      Effect.map(
        connection.execute(
          "SELECT objid::bigint::float8 AS number FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 " +
            "AND classid::bigint = $1 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
          [SPACE],
          undefined
        ),
        (rows) => {
          const numbers = new Set(rows.map(({ number }) => number))
          return (id: Ids.ConversationId) => numbers.has(numberOf(id))
        }
      )
    )
  }
})

/** The shards of the runner that has claimed a call; none: no runner has, or it has no shards at the moment. A runner's sessions have one name. */
export const shardsOfHolder = (
  sql: SqlClient.SqlClient,
  id: Ids.ConversationId
): Effect.Effect<ReadonlySet<number>, SqlError.SqlError> =>
  Effect.map(
    sql<{ readonly shard: number }>`
      SELECT DISTINCT (shards.objid::bigint % ${FIRST_LOCK})::int4 AS shard
      FROM pg_locks claim
      JOIN pg_stat_activity holder ON holder.pid = claim.pid
      JOIN pg_stat_activity session ON session.application_name = holder.application_name AND session.datid = holder.datid
      JOIN pg_locks shards ON shards.pid = session.pid AND shards.database = claim.database
      WHERE claim.locktype = 'advisory' AND claim.granted AND claim.objsubid = 2
        AND claim.classid::bigint = ${SPACE} AND claim.objid::bigint = ${numberOf(id)}
        AND claim.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND shards.locktype = 'advisory' AND shards.granted AND shards.objsubid = 2 AND shards.classid::bigint <> ${SPACE}`,
    (rows) => new Set(rows.map(({ shard }) => shard))
  )

/** A client that left one runner may ask another before the first one has noticed. */
const PATIENCE = { times: 5, schedule: Schedule.spaced("60 millis") }

/**
 * Claims the first of some calls that no runner has claimed, and tries all of them again for a moment. Returns the claimed call; `undefined`: each
 * has its client. An interruption gives the claim back.
 */
export const takeFirst = <Call extends { readonly conversationId: Ids.ConversationId }>(
  { release, take }: Pick<Claims, "release" | "take">,
  calls: ReadonlyArray<Call>
): Effect.Effect<Call | undefined, SqlError.SqlError> =>
  Effect.suspend(() => {
    let taken: Call | undefined
    const round = Effect.map(
      Effect.findFirst(calls, ({ conversationId }) => take(conversationId)),
      (found) => (taken = Option.getOrUndefined(found))
    )
    const isOver = () => calls.length === 0 || taken !== undefined
    return Effect.repeat(Effect.uninterruptible(round), { ...PATIENCE, until: isOver }).pipe(
      Effect.map(() => taken),
      Effect.onInterrupt(() => (taken === undefined ? Effect.void : Effect.ignore(release(taken.conversationId))))
    )
  })

// --- internal

/** The lock of a shard has this number and its own: of the cluster's groups of shards only the first is used. */
const FIRST_LOCK = 1_000_000

const lock = (
  connection: SqlConnection.Connection,
  id: Ids.ConversationId
): Effect.Effect<boolean, SqlError.SqlError> =>
  Effect.map(
    connection.execute("SELECT pg_try_advisory_lock($1, $2) AS locked", numbersOf(id), undefined),
    ([row]) => row?.locked === true
  )

/** The lock of a call. */
const numbersOf = (id: Ids.ConversationId): ReadonlyArray<number> => [SPACE, numberOf(id)]

/** Of two calls with the same number one is not claimed. `pg_locks` shows numbers without sign, so it has 31 bits. */
const numberOf = (id: Ids.ConversationId): number => createHash("sha256").update(id).digest().readUInt32BE(0) >>> 1
