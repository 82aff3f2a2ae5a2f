/**
 * The store on a PostgreSQL database.
 *
 * Nothing but this file knows the driver, and it is loaded only where `database.url` is set.
 *
 * P1. No message has the password, or any other parameter of the address, in it.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, type Redacted } from "effect"
import type { SqlClient } from "effect/sql"
import * as SessionName from "./SessionName.ts"
import { nameOf } from "./DatabaseUrl.ts"
import * as SqlStore from "./SqlStore.ts"
import * as StorageFailure from "../StorageFailure.ts"
import type { StorageError } from "../Store.ts"

export interface Config {
  /** `postgres://user:password@host:port/database`. */
  readonly url: Redacted.Redacted
  /** The most that there may be at once. */
  readonly connections?: number
  /** What its sessions are called in `pg_stat_activity`. */
  readonly sessionName?: string
}

/**
 * One connection commits, one holds a cluster's locks, and the rest read. PostgreSQL allows a hundred in all unless told
 * otherwise, and several runners share them.
 */
const CONNECTIONS = 10

/** A connection to a machine that is gone is noticed after some 20 seconds, not after hours. */
const KEEP_ALIVE = "10 seconds"

/** A client with a pool of connections for as long as the layer lives. It connects when the first statement comes. */
export const layerClient = ({
  connections = CONNECTIONS,
  sessionName = SessionName.PLAIN,
  url
}: Config): Layer.Layer<SqlClient.SqlClient, StorageError> =>
  Layer.catch(
    PgClient.layer({ url, applicationName: sessionName, maxConnections: connections, keepAlive: KEEP_ALIVE }),
    (error) => Layer.effectContext(Effect.fail(StorageFailure.explain(nameOf(url), "open the database", error)))
  )

/** A store on the database. Its tables are made where there are none; the database itself must be there. */
export const layer = (config: Config): Layer.Layer<SqlStore.Storage, StorageError> =>
  SqlStore.layerSql(nameOf(config.url)).pipe(Layer.provide(layerClient(config)))
