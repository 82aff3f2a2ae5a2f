/**
 * Declares the commands that read the configuration, and prints their results.
 *
 * The body gets the configuration, its secrets, and a logger that redacts them. `--log-level` overrides the log level of the
 * configuration. Every failure of the body becomes one paragraph without secrets.
 */
import { TurnStopped } from "@holdfast/kernel"
import { Effect, FileSystem, Layer, Option, References, String as Str } from "effect"
import { GlobalFlag } from "effect/cli"
import { Config, ConfigError, type Values } from "../config/Config.ts"
import * as Environment from "../config/reading/Environment.ts"
import * as Load from "../config/Load.ts"
import type { Flags } from "../config/reading/Sources.ts"
import * as SafeLogger from "../config/redaction/SafeLogger.ts"
import * as Secrets from "../config/redaction/Secrets.ts"
import { causeOf } from "../base/system/PlatformFailure.ts"
import * as Prose from "../base/text/Prose.ts"
import * as Declaration from "./Declaration.ts"
import { Ended, ExitCode, Refused } from "./Ended.ts"
import { Terminal } from "./terminal/Terminal.ts"

/** Prints lines for a person. */
export const printLines = (lines: ReadonlyArray<string>) =>
  Terminal.useSync(({ stdout }) => stdout(`${lines.join("\n")}\n`))

/** Prints a value as JSON, or in lines for a person. */
export const print = (isJson: boolean, value: unknown, lines: () => ReadonlyArray<string>) =>
  printLines(isJson ? [Prose.inJson(JSON.stringify(value, null, 2))] : lines())

/** Draws a picture into a file, if `--svg` names one. */
export const draw = Effect.fnUntraced(function* (path: string | undefined, svg: () => string) {
  if (path === undefined) return
  const files = yield* FileSystem.FileSystem
  yield* Effect.mapError(files.writeFileString(path, svg()), (error) =>
    Refused.failed(`--svg: ${path} cannot be written: ${causeOf(error)}.`)
  )
})

/**
 * Declares a command that reads the configuration.
 *
 * @param flags the options that override settings
 */
export const command = <const Own extends Declaration.Options, R>(
  declaration: Declaration.Declaration<Own>,
  run: Declaration.CommandBody<Own, [config: Values, parts: Declaration.CommandParts], R>,
  { flags, isService }: { readonly flags?: (given: Declaration.Given<Own>) => Flags; readonly isService?: boolean } = {}
) =>
  Declaration.command(
    declaration,
    (given, { config }, parts) =>
      withConfig(parts, { config, flags: flags?.(given), isService }, (config) => run(given, config, parts)),
    { config: Declaration.config }
  )

/** Runs a body under a configuration. */
export const withConfig = <A, R>(
  parts: Pick<Declaration.CommandParts, "environment" | "simulated">,
  options: Load.Wanted,
  body: (config: Values) => Effect.Effect<A, Declaration.CommandFailure, R>
) =>
  Effect.gen(function* () {
    const terminal = yield* Terminal
    const config = yield* Effect.mapError(Load.load(parts, options), refusedBy(Secrets.shapes))
    const secrets = Secrets.of(config)
    const services = Layer.mergeAll(Layer.succeed(Config, config), Layer.succeed(Secrets.Secrets, secrets))
    const logger = SafeLogger.layer({
      format: Environment.logFormat(parts.environment) ?? (terminal.isStderrTerminal ? "pretty" : "json"),
      colors: terminal.colors.stderr,
      write: terminal.stderr
    })
    const flag = Option.flatten(yield* Effect.serviceOption(GlobalFlag.LogLevel))
    const level = Option.getOrElse(flag, () => Str.capitalize(config.log.level))
    return yield* body(config).pipe(
      Effect.mapError((error) => (error instanceof Ended ? error : refusedBy(secrets)(error))),
      Effect.catchDefect((defect) => Effect.die(secrets.redact(TurnStopped.describe(defect)))),
      Effect.provideService(References.MinimumLogLevel, level),
      Effect.provide(Layer.provideMerge(logger, services))
    )
  })

// --- internal

const refusedBy =
  (secrets: Secrets.Secrets["Service"]) =>
  (error: Declaration.CommandFailure): Refused =>
    new Refused({
      message: secrets.redact(error.message),
      exitCode:
        error instanceof ConfigError ? ExitCode.USAGE : error instanceof Refused ? error.exitCode : ExitCode.FAILED
    })
