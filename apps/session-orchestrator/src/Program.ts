/**
 * The process: surroundings in, exit code out.
 *
 * What the service is made of stands in `Composition.ts`, which is loaded for the commands that run turns; help, schedules and
 * checks start without a database and an HTTP stack.
 */
import manifest from "../package.json" with { type: "json" }
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Simulated } from "@holdfast/providers"
import { Effect, Layer, Runtime } from "effect"
import * as Cli from "./cli/Cli.ts"
import * as ExitCode from "./cli/ExitCode.ts"
import * as Terminal from "./cli/Terminal.ts"

const composition = Effect.promise(() => import("./Composition.ts"))

/** Ends the process once what was written has left it; whatever else is open by now is of no use. */
const quit = (code: ExitCode.ExitCode): Effect.Effect<never> =>
  Effect.callback(() => void process.stdout.write("", () => process.stderr.write("", () => process.exit(code))))

// Whoever read the output has stopped reading, as `head` does: nothing is left to be done for them.
process.stdout.on("error", () => process.exit(ExitCode.FAILED))
// A log is no reason to end: turns go on when whoever read it has gone, or its disk is full.
process.stderr.on("error", () => {})

const environment = process.env

const program = Cli.make(
  {
    version: manifest.version,
    environment,
    simulated: Simulated,
    conversations: Layer.unwrap(Effect.map(composition, ({ conversations }) => conversations)),
    continued: Layer.unwrap(Effect.map(composition, ({ continued }) => continued)),
    inspection: Layer.unwrap(Effect.map(composition, ({ inspection }) => inspection)),
    backup: Effect.promise(() => import("./storage/Backup.ts").then(({ make }) => make)),
    service: Layer.unwrap(Effect.map(composition, ({ service }) => service))
  },
  process.argv.slice(2)
).pipe(Effect.flatMap(quit), Effect.provide([NodeServices.layer, Terminal.layer(environment)]))

// Signals are the commands' own business: see `cli/Signals.ts`.
Runtime.makeRunMain(() => {})(program, { disableErrorReporting: true })
