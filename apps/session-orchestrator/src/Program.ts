/** The process: surroundings in, exit code out. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Runtime } from "effect"
import * as Cli from "./cli/Cli.ts"
import * as ExitCode from "./cli/ExitCode.ts"
import * as Terminal from "./cli/terminal/Terminal.ts"
import * as ProgramParts from "./ProgramParts.ts"

/** Ends the process once what was written has left it; whatever else is open by now is of no use. */
const quit = (code: ExitCode.ExitCode): Effect.Effect<never> =>
  Effect.callback(() => void process.stdout.write("", () => process.stderr.write("", () => process.exit(code))))

// Whoever read the output has stopped reading, as `head` does: nothing is left to be done for them.
process.stdout.on("error", () => process.exit(ExitCode.FAILED))
// A log is no reason to end: turns go on when whoever read it has gone, or its disk is full.
process.stderr.on("error", () => {})

const environment = process.env

const program = Cli.make(ProgramParts.make(environment), process.argv.slice(2)).pipe(
  Effect.flatMap(quit),
  Effect.provide([NodeServices.layer, Terminal.layer(environment)])
)

// Signals are the commands' own business: see `cli/Signals.ts`.
Runtime.makeRunMain(() => {})(program, { disableErrorReporting: true })
