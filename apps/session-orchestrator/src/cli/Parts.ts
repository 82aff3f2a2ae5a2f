/**
 * What the commands are given by `main.ts`: the process's surroundings, and the layers that do the work.
 *
 * `E` is whatever those layers fail to start with; its message is shown as it is.
 */
import type { Effect, Layer } from "effect"
import type { HttpServer } from "effect/http"
import type { Config } from "../config/Config.ts"
import type { Environment } from "../config/reading/Environment.ts"
import type { SimulatedModels } from "../config/ModelChoice.ts"
import type { Secrets } from "../redaction/Secrets.ts"
import type { Conversations } from "../conversation/Conversations.ts"
import type { Inspection } from "../inspection/Inspection.ts"
import type * as Backup from "../storage/sqlite/Backup.ts"
import type { Store } from "../storage/Store.ts"

/** A failure to start that can be told in its message. */
export interface StartFailure {
  readonly message: string
}

export interface Parts<E extends StartFailure> {
  readonly version: string
  readonly environment: Environment
  readonly simulated: SimulatedModels
  /** Conversations in this process, for one turn: those of other processes are left alone. */
  readonly conversations: Layer.Layer<Conversations, E, Config | Secrets>
  /** The same with the database to itself, for a turn of a conversation that is in it already. */
  readonly continued: Layer.Layer<Conversations | Store, E, Config | Secrets>
  /** A look into the database, beside a service or without one. */
  readonly inspection: Layer.Layer<Inspection, E, Config>
  /** Copies a SQLite database. */
  readonly backup: Effect.Effect<typeof Backup.make>
  /** The whole service, listening once it is built. */
  readonly service: Layer.Layer<HttpServer.HttpServer, E, Config | Secrets>
}
