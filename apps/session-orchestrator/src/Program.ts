/** Runs the command line in this process and exits with its code. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, References, Runtime } from "effect"
import * as Cli from "./cli/Cli.ts"
import { ExitCode } from "./cli/Ended.ts"
import * as Terminal from "./cli/terminal/Terminal.ts"
import * as ProgramParts from "./ProgramParts.ts"

/** Flushes standard output and standard error, then ends the process. Anything else that is still open is of no use. */
const quit = (code: ExitCode): Effect.Effect<never> =>
  Effect.callback(() => void process.stdout.write("", () => process.stderr.write("", () => process.exit(code))))

// The reader of the output has stopped reading, as `head` does: there is nothing left to do.
process.stdout.on("error", () => process.exit(ExitCode.FAILED))
// A log that cannot be written is no reason to end: turns continue when its reader is gone or its disk is full.
process.stderr.on("error", () => {})

const environment = process.env

const program = Cli.make(ProgramParts.make(environment), process.argv.slice(2)).pipe(
  Effect.flatMap(quit),
  // Effect makes a span of each statement and each request, and no tracer is installed that would collect them.
  Effect.provideService(References.TracerEnabled, false),
  Effect.provide([NodeServices.layer, Terminal.layer(environment)])
)

// The commands handle signals themselves: see `cli/Signals.ts`.
Runtime.makeRunMain(() => {})(program, { disableErrorReporting: true })
