/** Defines the dependencies of the commands: the process's surroundings and its layers. */
import type { Effect, Layer } from "effect"
import type { HttpServer } from "effect/http"
import type { Config } from "../config/Config.ts"
import type { Environment } from "../config/reading/Environment.ts"
import type { SimulatedModels } from "../config/ModelChoice.ts"
import type { Secrets } from "../config/redaction/Secrets.ts"
import type { Inspection } from "../insight/inspection/Inspection.ts"
import type { PeriodReports } from "../insight/inspection/period/PeriodReports.ts"
import type { StoredTurns } from "../insight/inspection/StoredTurns.ts"
import type { Lists } from "../storage/Lists.ts"
import type { Store } from "../storage/Store.ts"
import type * as Backup from "../storage/sqlite/Backup.ts"

/** A failure, with a message for the person, which is printed as it is. */
export interface CommandFailure {
  readonly message: string
}

/** The readers of a database. */
export type Inspected = Inspection | StoredTurns | PeriodReports | Lists | Store

/** The dependencies of the commands. */
export interface CommandParts {
  readonly version: string
  readonly environment: Environment
  readonly simulated: SimulatedModels
  /** Reads the database, with a service running or without. */
  readonly inspection: Layer.Layer<Inspected, CommandFailure, Config>
  /** Copies a SQLite database. */
  readonly backup: Effect.Effect<typeof Backup.make>
  /** Builds the page at / where the process runs a checkout. */
  readonly page: Effect.Effect<void>
  /** The whole service, listening once it is built. */
  readonly service: Layer.Layer<HttpServer.HttpServer, CommandFailure, Config | Secrets>
}
