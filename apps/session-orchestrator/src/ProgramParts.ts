/**
 * Gives the commands this process's version and environment, and the layers they run.
 *
 * `Composition.ts` composes the service. It is loaded for commands that run turns only; help, schedules and checks start without a
 * database and an HTTP stack.
 */
import manifest from "../package.json" with { type: "json" }
import { Simulated } from "@holdfast/simulated"
import { Effect, Layer } from "effect"
import type { Environment } from "./config/reading/Environment.ts"

const composition = Effect.promise(() => import("./Composition.ts"))

/** The parts of a command line that runs in a process of its own. */
export const make = (environment: Environment) => ({
  version: manifest.version,
  environment,
  simulated: Simulated,
  inspection: Layer.unwrap(Effect.map(composition, ({ inspection }) => inspection)),
  backup: Effect.promise(() => import("./storage/sqlite/Backup.ts").then(({ make }) => make)),
  page: Effect.flatten(Effect.promise(() => import("./http/page/PageFiles.ts").then(({ build }) => build))),
  service: Layer.unwrap(Effect.map(composition, ({ service }) => service))
})
