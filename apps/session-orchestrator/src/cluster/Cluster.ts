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
import type { StorageError, Timer } from "@holdfast/journal"
import * as NodeClusterSocket from "@effect/platform-node/NodeClusterSocket"
import { Effect, Layer, Option, type Redacted, Schema } from "effect"
import { MessageStorage, RunnerAddress, ShardingConfig, SqlRunnerStorage } from "effect/cluster"
import { SqlClient, SqlError } from "effect/sql"
import type { Condition } from "../system/Condition.ts"
import { Conversations } from "../conversation/Conversations.ts"
import { HeldCalls } from "../conversation/HeldCalls.ts"
import { HeldTurns } from "../orchestrator/HeldTurns.ts"
import type { Defaults } from "../conversation/Defaults.ts"
import * as Orchestrator from "../orchestrator/Orchestrator.ts"
import type { Gates } from "../gate/Gates.ts"
import type { Providers } from "../conversation/Providers.ts"
import type { Tools } from "../conversation/Tools.ts"
import { nameOf } from "../storage/sql/DatabaseUrl.ts"
import * as Postgres from "../storage/sql/Postgres.ts"
import * as SessionName from "../storage/sql/SessionName.ts"
import * as SqlStore from "../storage/sql/SqlStore.ts"
import { Store } from "../storage/Store.ts"
import * as Fence from "./Fence.ts"
import * as Lease from "./Lease.ts"
import * as LocalId from "./LocalId.ts"
import * as LockWarnings from "./LockWarnings.ts"
import { Neighbours, overheard } from "./Neighbours.ts"
import * as Remote from "./Remote.ts"
import * as Router from "./Router.ts"
import { Shards } from "./Shards.ts"
import * as SharedWaits from "./SharedWaits.ts"

/** The options of a runner. */
export interface Options {
  readonly url: Redacted.Redacted
  /** The address at which the other runners reach this one, and at which it listens for them. */
  readonly runner: { readonly host: string; readonly port: number }
  readonly shards: number
}

/** The runner could not start; `message` has the reason and the next step. */
export class RunnerError extends Schema.TaggedError<RunnerError>()("RunnerError", { message: Schema.String }) {}

/** A runner, with the database that it shares. */
export const layer = (
  options: Options
): Layer.Layer<
  Conversations | HeldTurns | SqlStore.Storage,
  StorageError | RunnerError,
  Timer.Timer | Providers | Gates | Tools | Defaults | Condition | HeldCalls
> => {
  const database = nameOf(options.url)
  const address = `${options.runner.host}:${options.runner.port}`
  const neighbours = new Neighbours(address)
  const shards = new Shards()
  return runner({ database, shards, count: options.shards, neighbours }).pipe(
    Layer.provide(sharding(options, shards, neighbours)),
    Layer.provideMerge(SqlStore.layerSql(database)),
    Layer.provide(Postgres.layerClient({ url: options.url, sessionName: SessionName.of(address, options.shards) }))
  )
}

/** The one orchestrator of the process, for the conversations that this runner owns, and the way to those of others. */
export const runner = ({ count, database, neighbours, shards }: Parts) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const calls = yield* HeldCalls
      const sql = yield* SqlClient.SqlClient
      const store = yield* Store
      const { charge, conversations: own, heldTurns } = yield* Orchestrator.make({ takesUp: false })
      const dependencies = { own, charge, shards, calls, store, database }
      const turns: HeldTurns["Service"] = {
        ...heldTurns,
        choose: (make) => LocalId.drawn(make, shards.isLocal),
        // Its watchers look for the client at other runners.
        release: (id) => Effect.asVoid(charge.giveUp((given) => given === id))
      }
      const shared = yield* SharedWaits.make({ sql, database, turns, isHere: (id) => calls.has(id) })
      yield* shards.run(charge, count, neighbours)
      return Layer.mergeAll(
        Layer.effect(Conversations, Router.make(dependencies)),
        Layer.succeed(HeldTurns, { ...turns, shared }),
        Remote.layer(dependencies)
      )
    })
  ).pipe(Layer.provide(Fence.layer(shards)), Layer.provide(Layer.effectDiscard(shards.known)))

// --- internal

/** What a runner is made from. */
interface Parts {
  /** Names the database in errors. */
  readonly database: string
  readonly shards: Shards
  /** The number of shards of all runners. */
  readonly count: number
  readonly neighbours: Neighbours
}

const sharding = ({ runner, shards: count, url }: Options, shards: Shards, neighbours: Neighbours) => {
  const config = {
    ...ShardingConfig.defaults,
    runnerAddress: Option.some(RunnerAddress.make(runner.host, runner.port)),
    shardsPerGroup: count,
    shardLockExpiration: Lease.EXPIRATION_MS,
    shardLockRefreshInterval: LockWarnings.REFRESH_LIMIT,
    refreshAssignmentsInterval: "1 second",
    runnerHealthCheckInterval: "5 seconds",
    entityTerminationTimeout: "5 seconds",
    maxResidentEntities: "unbounded",
    simulateRemoteSerialization: false
  } as const
  // Messages are volatile: everything that must not be lost is in the store.
  const locks = Lease.layer.pipe(
    Layer.provide(shards.storage),
    Layer.provide(overheard(neighbours)),
    Layer.provide(LockWarnings.layer(nameOf(url))),
    Layer.provide(SqlRunnerStorage.layer),
    Layer.provide(ShardingConfig.layer(config))
  )
  return NodeClusterSocket.layer({ storage: "byo", shardingConfig: config }).pipe(
    Layer.provide(MessageStorage.layerNoop),
    Layer.provideMerge(locks),
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
