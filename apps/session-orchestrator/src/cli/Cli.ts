/**
 * Runs the command line `holdfast` and its commands to an exit code.
 *
 * Every failure is one paragraph on standard error, without a stack trace, and an exit code of `Ended.ts`. A wrong command line
 * prints the mistake and the command for help; it does not print the help.
 */
import { TurnStopped } from "@holdfast/kernel"
import { Quote } from "@holdfast/wire"
import { Cause, Effect, Layer } from "effect"
import { CliConfig, CliError, CliOutput, Command, GlobalFlag } from "effect/cli"
import * as Secrets from "../config/redaction/Secrets.ts"
import * as Prose from "../base/text/Prose.ts"
import * as Bulk from "./client/Bulk.ts"
import * as Export from "./client/Export.ts"
import * as LeftTurns from "./client/LeftTurns.ts"
import * as OpenTerminal from "./client/OpenTerminal.ts"
import * as Submit from "./client/Submit.ts"
import * as BackupCommand from "./BackupCommand.ts"
import * as ConnectCommand from "./ConnectCommand.ts"
import * as ConfigCheck from "./ConfigCheck.ts"
import { Ended, ExitCode, Refused } from "./Ended.ts"
import * as DryRunCommand from "./DryRunCommand.ts"
import type * as Declaration from "./Declaration.ts"
import * as Reports from "./Reports.ts"
import * as ProtocolCommands from "./ProtocolCommands.ts"
import * as RunCommand from "./RunCommand.ts"
import * as Serve from "./Serve.ts"
import * as Simulate from "./Simulate.ts"
import { paint, Terminal } from "./terminal/Terminal.ts"
import * as Turns from "./turns/Turns.ts"
import * as WatchCommand from "./client/WatchCommand.ts"
import * as WithCommand from "./WithCommand.ts"

/** The root command with every command. */
export const root = (parts: Declaration.CommandParts) =>
  Command.make("holdfast").pipe(
    Command.withDescription(
      "Keeps LLM agent turns alive through provider outages. Without a command it starts the service, as serve does."
    ),
    Command.withSubcommands([
      {
        group: "Ask, and hold an agent's calls",
        commands: [
          RunCommand.command(parts),
          OpenTerminal.command(parts),
          WithCommand.command(parts),
          ConnectCommand.command(parts),
          ProtocolCommands.acp(parts),
          ProtocolCommands.rpc(parts)
        ]
      },
      {
        group: "Leave work to the service",
        commands: [
          Submit.command(parts),
          LeftTurns.answer(parts),
          LeftTurns.attach(parts),
          LeftTurns.wait(parts),
          LeftTurns.cancel(parts),
          Bulk.retry(parts),
          Bulk.retryNow(parts),
          Bulk.waitUntil(parts),
          Bulk.giveUp(parts),
          Bulk.switchTarget(parts),
          Bulk.raiseLimit(parts)
        ]
      },
      {
        group: "Look at it",
        commands: [
          Turns.command(parts),
          Reports.explain(parts),
          Reports.report(parts),
          Reports.health(parts),
          WatchCommand.watch(parts),
          WatchCommand.statusLine(parts),
          Export.command(parts)
        ]
      },
      {
        group: "Run the service",
        commands: [Serve.command(parts), ConfigCheck.command(parts), BackupCommand.command(parts)]
      },
      {
        group: "Try a configuration or an outage",
        commands: [DryRunCommand.schedule(parts), DryRunCommand.dryRun(parts), Simulate.command(parts)]
      }
    ])
  )

/** Runs a command line to its exit code; without arguments, the service. Never fails. */
export const make = Effect.fnUntraced(function* (
  parts: Declaration.CommandParts,
  args: ReadonlyArray<string>
): Effect.fn.Return<ExitCode, never, Terminal | Command.Environment> {
  const terminal = yield* Terminal
  return yield* Command.runWith(root(parts), { version: parts.version })(
    args.length === 0 ? ["serve"] : WithCommand.separated(args)
  ).pipe(
    Effect.as<ExitCode>(ExitCode.COMPLETED),
    Effect.catch((error) => Effect.sync(() => failed(terminal, error))),
    Effect.catchCause((cause) => Effect.sync(() => crashed(terminal, cause))),
    Effect.provide(presentation(terminal))
  )
})

// --- internal

/** Prints an expected failure. */
const failed = (terminal: Terminal["Service"], error: CliError.CliError | Ended | Refused): ExitCode => {
  if (error instanceof Ended) return error.exitCode
  // The presenter has printed it.
  if (error instanceof CliError.ShowHelp) return error.errors.length === 0 ? ExitCode.COMPLETED : ExitCode.USAGE
  printError(terminal, error.message)
  return error instanceof Refused ? error.exitCode : ExitCode.USAGE
}

/** Prints a bug of Holdfast, without its stack trace, which would not help a person. */
const crashed = (terminal: Terminal["Service"], cause: Cause.Cause<never>): ExitCode => {
  if (Cause.hasInterruptsOnly(cause)) return ExitCode.ABORTED
  const what = Secrets.shapes.redact(TurnStopped.describe(Cause.squash(cause)))
  printError(terminal, `this is a bug in Holdfast, not in what you did: ${what}`)
  return ExitCode.FAILED
}

/** A mistake of a command line, in the form of every refusal of a value. */
const wordsOf = (error: CliError.CliError): string => {
  if (!(error instanceof CliError.InvalidValue)) return error.message
  const { expected, kind, option, value } = error
  const wanted = expected.replace(/^Expected:? /, "").replace(/^a string representing /, "")
  return `${kind === "flag" ? "--" : ""}${option}: found ${Quote.of(value)}; expected ${wanted}.`
}

const printError = (terminal: Terminal["Service"], message: string): void =>
  terminal.stderr(`${paint(terminal.colors.stderr, "red", "holdfast:")} ${Prose.plain(message)}\n`)

const presentation = (terminal: Terminal["Service"]): Layer.Layer<never> => {
  const formatter = CliOutput.defaultFormatter({ colors: terminal.colors.stdout, globalFlags: "none" })
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
              // What a value should be is in its message: only for the others the help has more.
              const see = event.errors.some((error) => !(error instanceof CliError.InvalidValue))
              const lines = [
                ...event.errors.map(wordsOf),
                ...(see ? [`See: ${event.commandPath.join(" ")} --help`] : [])
              ]
              return printError(terminal, lines.join("\n"))
            }
            default:
              return event satisfies never
          }
        })
    })
  )
}
