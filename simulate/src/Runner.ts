/** One of several runners: the service's own ownership of conversations over simulated locks and connections, on one database. */
import { SqliteClient } from "@holdfast/journal/sqlite"
import { Layer, Redacted } from "effect"
import { RunnerAddress, RunnerHealth, Runners, RunnerStorage, ShardingConfig, SocketRunner } from "effect/cluster"
import { RpcSerialization } from "effect/rpc"
import * as Cluster from "../../apps/session-orchestrator/src/cluster/Cluster.ts"
import * as SqlStore from "../../apps/session-orchestrator/src/storage/sql/SqlStore.ts"
import type { Links } from "./Links.ts"
import type { Locks } from "./Locks.ts"
import type { Process } from "./World.ts"

/** What runners share. */
export interface Shared {
  readonly locks: Locks
  readonly links: Links
  readonly shards: number
}

/** The database of the configuration, which no one connects to. */
export const DATABASE_URL = "postgres://simulated/holdfast"

/** The conversations of a process, which listens at a port of its own. */
export const layer = ({ links, locks, shards }: Shared, owner: Process, port: number) => {
  const runner = { host: "127.0.0.1", port }
  const address = RunnerAddress.make(runner.host, port)
  const client = Layer.orDie(SqliteClient.layer({ filename: ":memory:" }))
  return Cluster.layerOn(
    { url: Redacted.make(DATABASE_URL), runner, shards },
    {
      client,
      store: SqlStore.layerSql("simulated", undefined, true),
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
