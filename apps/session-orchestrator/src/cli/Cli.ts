/**
 * Runs the command line `holdfast` and its commands to an exit code.
 *
 * Every failure is one paragraph on standard error, without a stack trace, and an exit code of `ExitCode.ts`. A wrong command line
 * prints the mistake and the command for help; it does not print the help.
 */
import { Cause, Effect, type FileSystem, Layer, type Path, type Stdio, type Terminal as EffectTerminal } from "effect"
import { CliConfig, CliError, CliOutput, Command, GlobalFlag } from "effect/cli"
import type { ChildProcessSpawner } from "effect/process"
import * as Secrets from "../redaction/Secrets.ts"
import * as Prose from "../text/Prose.ts"
import * as AcpCommand from "./AcpCommand.ts"
import * as Answer from "./client/Answer.ts"
import * as Attach from "./client/Attach.ts"
import * as Bulk from "./client/Bulk.ts"
import * as Export from "./client/Export.ts"
import * as HealthCommand from "./client/HealthCommand.ts"
import * as LeftTurns from "./client/LeftTurns.ts"
import * as OpenTerminal from "./client/OpenTerminal.ts"
import * as Submit from "./client/Submit.ts"
import * as BackupCommand from "./BackupCommand.ts"
import * as ConnectCommand from "./ConnectCommand.ts"
import * as ConfigCheck from "./ConfigCheck.ts"
import { Ended, Refused } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"
import * as DryRunCommand from "./DryRunCommand.ts"
import * as Explain from "./Explain.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import * as ReportCommand from "./ReportCommand.ts"
import * as RpcCommand from "./RpcCommand.ts"
import * as RunCommand from "./RunCommand.ts"
import * as Schedule from "./Schedule.ts"
import * as Serve from "./Serve.ts"
import * as Simulate from "./Simulate.ts"
import { paint, Terminal } from "./terminal/Terminal.ts"
import * as Turns from "./turns/Turns.ts"
import * as WithCommand from "./WithCommand.ts"

/** The platform services that `effect/cli` needs. */
type Platform =
  | FileSystem.FileSystem
  | Path.Path
  | Stdio.Stdio
  | EffectTerminal.Terminal
  | ChildProcessSpawner.ChildProcessSpawner

/** The root command with every command. */
export const root = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make("holdfast").pipe(
    Command.withDescription(
      "Keeps LLM agent turns alive through provider outages. Without a command it starts the service, as serve does."
    ),
    Command.withSubcommands([
      Serve.command(parts),
      RunCommand.command(parts),
      OpenTerminal.command(parts),
      WithCommand.command(parts),
      RpcCommand.command(parts),
      AcpCommand.command(parts),
      Submit.command(parts),
      Answer.command(parts),
      Attach.command(parts),
      LeftTurns.wait(parts),
      LeftTurns.cancel(parts),
      Bulk.retry(parts),
      Bulk.giveUp(parts),
      Bulk.switchTarget(parts),
      Export.command(parts),
      ReportCommand.command(parts),
      Turns.command(parts),
      Explain.command(parts),
      HealthCommand.command(parts),
      BackupCommand.command(parts),
      Schedule.command(parts),
      DryRunCommand.command(parts),
      Simulate.command,
      ConnectCommand.command(parts),
      ConfigCheck.command(parts)
    ])
  )

/** Runs a command line to its exit code; without arguments, the service. Never fails. */
export const make = <E extends StartFailure>(
  parts: Parts<E>,
  args: ReadonlyArray<string>
): Effect.Effect<ExitCode.ExitCode, never, Terminal | Platform> =>
  Effect.gen(function* () {
    const terminal = yield* Terminal
    return yield* Command.runWith(root(parts), { version: parts.version })(
      args.length === 0 ? ["serve"] : WithCommand.separated(args)
    ).pipe(
      Effect.as<ExitCode.ExitCode>(ExitCode.COMPLETED),
      Effect.catch((error) => Effect.sync(() => failed(terminal, error))),
      Effect.catchCause((cause) => Effect.sync(() => crashed(terminal, cause))),
      Effect.provide(presentation(terminal))
    )
  })

// --- internal

/** Prints an expected failure. */
const failed = (terminal: Terminal["Service"], error: CliError.CliError | Ended | Refused): ExitCode.ExitCode => {
  if (error instanceof Ended) return error.exitCode
  // The presenter has printed it.
  if (error instanceof CliError.ShowHelp) return error.errors.length === 0 ? ExitCode.COMPLETED : ExitCode.USAGE
  printError(terminal, error.message)
  return error instanceof Refused ? error.exitCode : ExitCode.USAGE
}

/** Prints a bug of Holdfast, without its stack trace, which would not help a person. */
const crashed = (terminal: Terminal["Service"], cause: Cause.Cause<never>): ExitCode.ExitCode => {
  if (Cause.hasInterruptsOnly(cause)) return ExitCode.ABORTED
  const defect = Cause.squash(cause)
  const what = defect instanceof Error ? `${defect.name}: ${defect.message}` : String(defect)
  printError(terminal, `this is a bug in Holdfast, not in what you did: ${Secrets.shapes.redact(what)}`)
  return ExitCode.FAILED
}

const printError = (terminal: Terminal["Service"], message: string): void =>
  terminal.stderr(`${paint(terminal.colors.stderr, "red", "holdfast:")} ${Prose.plain(message)}\n`)

const presentation = (terminal: Terminal["Service"]): Layer.Layer<never> => {
  const formatter = CliOutput.defaultFormatter({ colors: terminal.colors.stdout })
  return Layer.mergeAll(
    // No wizard: no command needs one.
    CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions, GlobalFlag.LogLevel] }),
    CliOutput.layerPresenter({
      present: (event) =>
        Effect.sync(() => {
          switch (event._tag) {
            case "Help":
              return terminal.stdout(`${formatter.formatHelpDoc(event.helpDoc)}\n`)
            case "Version":
              return terminal.stdout(`${event.name} ${event.version}\n`)
            case "InvalidInvocation": {
              const problems = event.errors.map(({ message }) => message).join("\n")
              return printError(terminal, `${problems}\nSee: ${event.commandPath.join(" ")} --help`)
            }
            default:
              return event satisfies never
          }
        })
    })
  )
}
