/**
 * Implements the store on a PostgreSQL database.
 *
 * Only this file imports the driver, and it is loaded only if `database.url` is set.
 *
 * - No message contains the password, or any other parameter of the address.
 */
import { StorageFailure } from "@holdfast/journal/sql"
import { PgClient } from "@effect/sql-pg"
import type { StorageError } from "@holdfast/journal"
import { Effect, Layer, type Redacted } from "effect"
import type { SqlClient } from "effect/sql"
import * as SessionName from "./SessionName.ts"
import { nameOf } from "./DatabaseUrl.ts"
import * as SqlStore from "./SqlStore.ts"

/** The connection to a PostgreSQL. */
export interface Config {
  /** `postgres://user:password@host:port/database`. */
  readonly url: Redacted.Redacted
  /** The largest number of connections at once. */
  readonly connections?: number
  /** The name of its sessions in `pg_stat_activity`. */
  readonly sessionName?: string
}

/**
 * One connection commits, one holds a cluster's locks, and the rest read. PostgreSQL allows a hundred in all by default, and several
 * runners share them.
 */
const CONNECTIONS = 10

/** The loss of the other machine is noticed after some 20 seconds, not after hours. */
const KEEP_ALIVE = "10 seconds"

/** A client with a pool of connections, which lives as long as the layer. It connects with the first statement. */
export const layerClient = ({
  connections = CONNECTIONS,
  sessionName = SessionName.PLAIN,
  url
}: Config): Layer.Layer<SqlClient.SqlClient, StorageError> =>
  Layer.catch(
    PgClient.layer({ url, applicationName: sessionName, maxConnections: connections, keepAlive: KEEP_ALIVE }),
    (error) => Layer.effectContext(Effect.fail(StorageFailure.explain(nameOf(url), "open the database", error)))
  )

/** A store on the database. Missing tables are created; the database itself must exist. */
export const layer = (config: Config): Layer.Layer<SqlStore.Storage, StorageError> =>
  SqlStore.layerSql(nameOf(config.url)).pipe(Layer.provide(layerClient(config)))
