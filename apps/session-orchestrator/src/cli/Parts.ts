/**
 * Defines the dependencies of the commands: the process's surroundings and its layers.
 *
 * `E` is the failure of those layers to start; its message is printed as it is.
 */
import type { Effect, Layer } from "effect"
import type { HttpServer } from "effect/http"
import type { Config } from "../config/Config.ts"
import type { Environment } from "../config/reading/Environment.ts"
import type { SimulatedModels } from "../config/ModelChoice.ts"
import type { Secrets } from "../redaction/Secrets.ts"
import type { Inspection } from "../inspection/Inspection.ts"
import type * as Backup from "../storage/sqlite/Backup.ts"

/** A failure to start, with a message for the person. */
export interface StartFailure {
  readonly message: string
}

/** The dependencies of the commands. */
export interface Parts<E extends StartFailure> {
  readonly version: string
  readonly environment: Environment
  readonly simulated: SimulatedModels
  /** Reads the database, with a service running or without. */
  readonly inspection: Layer.Layer<Inspection, E, Config>
  /** Copies a SQLite database. */
  readonly backup: Effect.Effect<typeof Backup.make>
  /** The whole service, listening once it is built. */
  readonly service: Layer.Layer<HttpServer.HttpServer, E, Config | Secrets>
}
