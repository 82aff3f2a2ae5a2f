/** One of several runners: the service's own ownership of conversations over simulated locks and connections, on one database. */
import { SqliteClient } from "@holdfast/journal/sqlite"
import { Effect, Layer, Redacted, Stream } from "effect"
import { RunnerAddress, RunnerHealth, Runners, RunnerStorage, ShardingConfig, SocketRunner } from "effect/cluster"
import { RpcSerialization } from "effect/rpc"
import * as Cluster from "../../apps/session-orchestrator/src/cluster/Cluster.ts"
import * as SqlStore from "../../apps/session-orchestrator/src/storage/sql/SqlStore.ts"
import * as TurnLog from "../../apps/session-orchestrator/src/storage/TurnLog.ts"
import type { Links } from "./Links.ts"
import type { Locks } from "./Locks.ts"
import type { Process } from "./World.ts"

/** What runners share. */
export interface Shared {
  readonly locks: Locks
  readonly links: Links
  readonly shards: number
  /** How long a statement, or its answer, is on its way between a runner and the database; absent: no time. */
  readonly wayMs: (() => number) | undefined
  /** A runner appends; returns what is to be called when it has. */
  readonly writes: (by: Process, append: TurnLog.Append) => () => void
}

/** The database of the configuration, which no one connects to. */
export const DATABASE_URL = "postgres://simulated/holdfast"

/** The conversations of a process, which listens at a port of its own. */
export const layer = (shared: Shared, owner: Process, port: number) => {
  const { links, locks, shards } = shared
  const runner = { host: "127.0.0.1", port }
  const address = RunnerAddress.make(runner.host, port)
  const client = Layer.orDie(SqliteClient.layer({ filename: ":memory:" }))
  return Cluster.layerOn(
    { url: Redacted.make(DATABASE_URL), runner, shards },
    {
      client,
      store: Layer.effect(
        TurnLog.TurnLog,
        TurnLog.TurnLog.useSync((log) => distant(log, shared, owner))
      ).pipe(Layer.provideMerge(SqlStore.layerSql("simulated", undefined, true))),
      storage: Layer.sync(RunnerStorage.RunnerStorage, () => locks.storageOf(owner)),
      sharding: (config) =>
        SocketRunner.layer.pipe(
          Layer.provide(RunnerHealth.layerPing.pipe(Layer.provide(Runners.layerRpc))),
          Layer.provide([links.server(owner, address), links.client(owner)]),
          Layer.provide(ShardingConfig.layer(config)),
          Layer.provide(RpcSerialization.layerSchemaBinary({}))
        )
    }
  )
}

// --- internal

/** The log of a database that is some milliseconds away: what a runner writes is there before it learns of it. */
const distant = (
  log: TurnLog.TurnLog["Service"],
  { wayMs, writes }: Shared,
  owner: Process
): TurnLog.TurnLog["Service"] => {
  const way = wayMs === undefined ? Effect.void : Effect.suspend(() => Effect.sleep(wayMs()))
  const there = <A, E>(effect: Effect.Effect<A, E>) => Effect.andThen(way, Effect.tap(effect, way))
  return {
    ...log,
    accept: (...options) => there(log.accept(...options)),
    append: (appends) =>
      there(
        Effect.suspend(() => {
          const written = appends.map((append) => writes(owner, append))
          return Effect.tap(log.append(appends), (outcomes) =>
            Effect.sync(() => {
              for (const [i, outcome] of outcomes.entries()) if (outcome._tag === "Success") written[i]?.()
            })
          )
        })
      ),
    events: (...options) => Stream.unwrap(Effect.as(way, log.events(...options)))
  }
}
