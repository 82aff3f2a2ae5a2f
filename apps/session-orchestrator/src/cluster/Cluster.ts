/**
 * Sets up several runners on one PostgreSQL, with `effect/cluster`.
 *
 * That module has the membership, the ownership of conversations and the take-over.
 *
 * Cluster.L1. At most one runner that is sure of it owns a conversation. A shard is held by a lock of a PostgreSQL session, which ends with
 *     the connection: at once when the process dies, and after 10 seconds when it is frozen (`Lease`).
 * Cluster.L2. A runner without a sign of life for 10 seconds is removed; the others run its turns again within 20 seconds (rule X6).
 * Cluster.L3. A runner that lost the database has lost its locks with it: its turns stop, and resume when the database is back.
 */
import { StorageFailure } from "@holdfast/journal/sql"
import type { StorageError } from "@holdfast/journal"
import * as NodeClusterSocket from "@effect/platform-node/NodeClusterSocket"
import { Cause, Clock, Duration, Effect, Layer, Option, type Redacted, Schema } from "effect"
import {
  ClusterError,
  MessageStorage,
  RunnerAddress,
  RunnerStorage,
  Sharding,
  ShardingConfig,
  SqlRunnerStorage
} from "effect/cluster"
import { SqlClient, SqlError } from "effect/sql"
import { Observer } from "@holdfast/kernel"
import { Conversations } from "../engine/conversation/Conversations.ts"
import { HeldCalls } from "../engine/conversation/HeldCalls.ts"
import { HeldTurns } from "../engine/orchestrator/HeldTurns.ts"
import * as Orchestrator from "../engine/orchestrator/Orchestrator.ts"
import { nameOf } from "../storage/sql/DatabaseUrl.ts"
import * as Postgres from "../storage/sql/Postgres.ts"
import * as SessionName from "../storage/sql/SessionName.ts"
import * as SqlStore from "../storage/sql/SqlStore.ts"
import { Store } from "../storage/Store.ts"
import * as Fence from "./Fence.ts"
import * as Lease from "./Lease.ts"
import * as LocalId from "./LocalId.ts"
import { Neighbours } from "./Neighbours.ts"
import * as Remote from "./Remote.ts"
import * as Router from "./Router.ts"
import { Shards } from "./Shards.ts"
import * as SharedWaits from "./SharedWaits.ts"

/** The options of a runner. */
interface Options {
  readonly url: Redacted.Redacted
  /** The address at which the other runners reach this one, and at which it listens for them. */
  readonly runner: { readonly host: string; readonly port: number }
  readonly shards: number
}

/** The runner could not start; `message` has the reason and the next step. */
export class RunnerError extends Schema.TaggedError<RunnerError>()("RunnerError", { message: Schema.String }) {}

/** What a runner stands on: a simulation has its own. */
export interface Ground {
  readonly client: Layer.Layer<SqlClient.SqlClient, StorageError>
  readonly store: Layer.Layer<SqlStore.Storage, StorageError, SqlClient.SqlClient>
  /** Membership and locks. */
  readonly storage: typeof SqlRunnerStorage.layer
  /** The connections between runners. */
  readonly sharding: (config: ShardingConfig.ShardingConfig["Service"]) => ReturnType<typeof sockets>
}

/** A runner, with the PostgreSQL that it shares. */
export const layer = (options: Options) => {
  const sessionName = SessionName.of(`${options.runner.host}:${options.runner.port}`, options.shards)
  return layerOn(options, {
    client: Postgres.layerClient({ url: options.url, sessionName }),
    store: SqlStore.layerSql(nameOf(options.url)),
    storage: SqlRunnerStorage.layer,
    sharding: sockets
  })
}

/** A runner on what it stands on. */
export const layerOn = (options: Options, ground: Ground) =>
  Layer.unwrap(
    Effect.map(Clock.Clock, (clock) => {
      const neighbours = new Neighbours(`${options.runner.host}:${options.runner.port}`)
      const lease = new Lease.Lease(clock)
      return Layer.unwrap(
        Effect.map(Sharding.Sharding, (sharding) =>
          runner(nameOf(options.url), new Shards(sharding, lease, options.shards), neighbours)
        )
      ).pipe(
        Layer.provide(sharding(options, ground, lease, neighbours)),
        Layer.provideMerge(ground.store),
        Layer.provide(ground.client)
      )
    })
  )

/** How often locks are refreshed, and what the cluster gives a refresh. */
export const REFRESH_LIMIT = Duration.seconds(3)

/** The cluster gives a refresh up at `REFRESH_LIMIT`, in its own words: before that it has failed here. */
export const ANSWER_LIMIT = Duration.seconds(2)

/**
 * The storage of runners, whose refused refreshes of the locks of shards are logged in words, once per outage.
 *
 * @param database its address without a password
 */
export const loggedLocks = (
  database: string,
  storage: RunnerStorage.RunnerStorage["Service"]
): RunnerStorage.RunnerStorage["Service"] => {
  let isReported = false
  const report = (error: ClusterError.PersistenceError) =>
    Effect.suspend(() => {
      if (isReported) return Effect.void
      isReported = true
      return Effect.logError(wordsFor(database, error))
    })
  return {
    ...storage,
    refresh: (address, shards) =>
      storage.refresh(address, shards).pipe(
        Effect.timeoutOrElse({ duration: ANSWER_LIMIT, orElse: () => Effect.fail(silent) }),
        Effect.tap(() => Effect.sync(() => void (isReported = false))),
        Effect.tapError(report)
      )
  }
}

// --- internal

/**
 * The one orchestrator of the process, for the conversations that this runner owns, and the way to those of others.
 *
 * @param database names it in errors
 */
const runner = (database: string, shards: Shards, neighbours: Neighbours) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const calls = yield* HeldCalls
      const sql = yield* SqlClient.SqlClient
      const store = yield* Store
      const observer = Option.getOrUndefined(yield* Effect.serviceOption(Observer.Observer))
      const { charge, conversations: own, heldTurns } = yield* Orchestrator.make({ takesUp: false })
      const dependencies = { own, charge, shards, calls, store, database }
      const turns: HeldTurns["Service"] = {
        ...heldTurns,
        choose: (make) => LocalId.drawn(make, shards.isLocal),
        // Its watchers look for the client at other runners, where it ends as a rule.
        release: (conversationId) =>
          Effect.andThen(
            charge.giveUp((given) => given === conversationId),
            Effect.map(Clock.currentTimeMillis, (at) => Observer.moved(observer, { conversationId, at }))
          )
      }
      const shared = yield* SharedWaits.make({ sql, database, turns, isHere: (id) => calls.has(id) })
      yield* shards.run(charge, neighbours)
      return Layer.mergeAll(
        Layer.effect(Conversations, Router.make(dependencies)),
        Layer.succeed(HeldTurns, { ...turns, shared }),
        Remote.layer(dependencies)
      )
    })
  ).pipe(Layer.provide(Fence.layer(shards)))

const sockets = (config: ShardingConfig.ShardingConfig["Service"]) =>
  NodeClusterSocket.layer({ storage: "byo", shardingConfig: config })

const sharding = (
  { runner, shards: count, url }: Options,
  ground: Ground,
  lease: Lease.Lease,
  neighbours: Neighbours
) => {
  const config: ShardingConfig.ShardingConfig["Service"] = {
    ...ShardingConfig.defaults,
    runnerAddress: Option.some(RunnerAddress.make(runner.host, runner.port)),
    shardsPerGroup: count,
    shardLockExpiration: Lease.EXPIRATION_MS,
    shardLockRefreshInterval: REFRESH_LIMIT,
    refreshAssignmentsInterval: "1 second",
    runnerHealthCheckInterval: "5 seconds",
    entityTerminationTimeout: "5 seconds",
    simulateRemoteSerialization: false
  }
  const locks = Layer.effect(
    RunnerStorage.RunnerStorage,
    RunnerStorage.RunnerStorage.useSync((storage) =>
      lease.overhear(neighbours.overhear(loggedLocks(nameOf(url), storage)))
    )
  ).pipe(Layer.provide(ground.storage), Layer.provide(ShardingConfig.layer(config)))
  // Messages are volatile: everything that must not be lost is in the store.
  return ground.sharding(config).pipe(
    Layer.provide(MessageStorage.layerNoop),
    Layer.provide(locks),
    Layer.catch((error) =>
      Layer.effectContext(
        Effect.fail(
          SqlError.isSqlError(error)
            ? StorageFailure.explain(nameOf(url), "prepare the tables of the cluster", error)
            : new RunnerError({
                message:
                  `This runner cannot listen for the others on ${runner.host}:${runner.port} (${error.message}). ` +
                  "Choose another cluster.runner, or --runner HOST:PORT: an address of this machine whose port is free."
              })
        )
      )
    )
  )
}

const silent = new ClusterError.PersistenceError({ cause: new Cause.TimeoutError() })

const wordsFor = (database: string, { cause }: ClusterError.PersistenceError): string => {
  // Any other cause is a database that did not answer in time.
  const error = SqlError.isSqlError(cause) ? cause : StorageFailure.silence(ANSWER_LIMIT)
  const { message } = StorageFailure.explain(database, "keep the locks of this runner", error)
  return `${message} Its turns stop, and go on at the runner that has their locks next.`
}
