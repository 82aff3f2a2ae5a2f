/**
 * Finds each conversation's runner by the locks that PostgreSQL holds for runners.
 *
 * Ownership is the lock (`Cluster`), so the result is right after a take-over, and after a `kill -9`: the locks of a process end with its
 * connection. Nothing is written for it, and the cluster is not asked: it costs one query.
 */
import type { Ids } from "@holdfast/wire"
import { Effect, Hash } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import * as SessionName from "../../storage/sql/SessionName.ts"

/** The runner of a conversation: its address, or null if no runner has it at the moment. */
export type RunnerAddress = string | null

/** The runners of all conversations at one moment: `of` a conversation its runner's address, and `runners`, the addresses of those that have a shard. */
export type Holders = Effect.Success<ReturnType<typeof holders>>

/** Reads the present runners; `undefined` for a database that runners do not share. */
export const read = (sql: SqlClient.SqlClient): Effect.Effect<Holders | undefined, SqlError.SqlError> =>
  sql.onDialectOrElse({
    pg: () => Effect.flatMap(locksOf(sql), (locks) => holders(sql, locks)),
    orElse: () => Effect.succeed(undefined)
  })

/** The shard of a conversation, from 1 to `shards`: the result of `Sharding.getShardId`, without a cluster. */
export const shardOf = (id: Ids.ConversationId, shards: number): number => Math.abs(Hash.string(id) % shards) + 1

// --- internal

/** The key of all locks of the cluster: in `SqlRunnerStorage`, the FNV-1a hash of `effect-cluster:cluster`, which never changes. */
const LOCKS = 2_839_596_291

/** The first lock number of the first group of shards, which is the only group here. */
const FIRST_GROUP = 1_000_000

interface Lock {
  readonly shard: number
  /** The name of the session that holds the lock. */
  readonly session: string
}

const locksOf = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyArray<Lock>, SqlError.SqlError> =>
  sql<Lock>`
    SELECT l.objid::int4 - ${sql.literal(String(FIRST_GROUP))} AS shard, a.application_name AS session
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'advisory' AND l.granted AND l.classid = ${sql.literal(String(LOCKS))} AND l.objsubid = 2
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`

const holders = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, locks: ReadonlyArray<Lock>) {
  const sessions = Array.from(
    Map.groupBy(locks, ({ session }) => session),
    ([name, held]) => ({ owner: SessionName.parse(name), shards: new Set(held.map(({ shard }) => shard)) })
  )
  const hashed = sessions.some(({ owner }) => owner?.isHashed)
  const addresses = hashed ? yield* addressesByHash(sql) : new Map<string, string>()
  const named = sessions.flatMap(({ owner, shards }) =>
    owner === undefined ? [] : [{ ...owner, held: shards, address: addresses.get(owner.address) ?? owner.address }]
  )
  return {
    of: (id: Ids.ConversationId): RunnerAddress =>
      named.find(({ held, shards }) => held.has(shardOf(id, shards)))?.address ?? null,
    /** The addresses of runners that have at least one shard. */
    runners: named.map(({ address }) => address).toSorted()
  }
})

/** The addresses of the runners that have signed in. */
const addressesByHash = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyMap<string, string>, SqlError.SqlError> =>
  Effect.map(
    sql<{ readonly address: string }>`SELECT address FROM cluster_runners`,
    (rows) => new Map(rows.map(({ address }) => [SessionName.hashOf(address), address]))
  )
