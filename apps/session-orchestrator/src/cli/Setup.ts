/**
 * Sets up a command that reads the configuration.
 *
 * The body gets the configuration, its secrets, and a logger that redacts them. `--log-level` overrides the log level of the
 * configuration. Every failure of the body becomes one paragraph without secrets.
 */
import { defined } from "@holdfast/wire"
import { Effect, type FileSystem, Layer, Option, type Path, References, String as Str } from "effect"
import { Flag, GlobalFlag } from "effect/cli"
import { Config, ConfigError, type Values } from "../config/Config.ts"
import * as Environment from "../config/reading/Environment.ts"
import * as Load from "../config/Load.ts"
import type { Flags } from "../config/reading/Sources.ts"
import * as SafeLogger from "../redaction/SafeLogger.ts"
import * as Secrets from "../redaction/Secrets.ts"
import * as Prose from "../text/Prose.ts"
import { Ended, Refused } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import { Terminal } from "./terminal/Terminal.ts"

/** A flag with a text, which may be left out. */
export const textFlag = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.optional)

/** A flag that is off unless it is given. */
export const switchFlag = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

/** `--config`, the same for every command. */
export const configFlag = textFlag(
  "config",
  "FILE",
  `Configuration to read (default: ${Load.DEFAULT_FILE}, if there is one)`
).pipe(Flag.withAlias("c"))

/** `--json` of a command that prints one value. */
export const jsonFlag = switchFlag("json", "Print it as JSON; times in milliseconds")

/** Prints a value as JSON, or in lines for a person. */
export const print = (isJson: boolean, value: unknown, lines: () => ReadonlyArray<string>) =>
  Terminal.useSync(({ stdout }) =>
    stdout(`${isJson ? Prose.inJson(JSON.stringify(value, null, 2)) : lines().join("\n")}\n`)
  )

/** Runs a body under a configuration. */
export const withConfig = <A, E extends StartFailure | Ended, R>(
  parts: Pick<Parts<StartFailure>, "environment" | "simulated">,
  options: { readonly file: string | undefined; readonly flags?: Flags; readonly isService?: true },
  body: (config: Values) => Effect.Effect<A, E, R>
): Effect.Effect<
  A,
  Ended | Refused,
  Exclude<R, Config | Secrets.Secrets> | Terminal | FileSystem.FileSystem | Path.Path
> =>
  Effect.gen(function* () {
    const terminal = yield* Terminal
    const config = yield* Effect.mapError(
      Load.load({
        file: options.file,
        environment: parts.environment,
        ...defined({ flags: options.flags, isService: options.isService }),
        simulated: parts.simulated
      }),
      refusedBy(Secrets.shapes)
    )
    const secrets = Secrets.make(Secrets.ofConfig(config))
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
      Effect.catchDefect((defect) => Effect.die(secrets.redact(describe(defect)))),
      Effect.provideService(References.MinimumLogLevel, level),
      Effect.provide(Layer.provideMerge(logger, services))
    )
  })

// --- internal

/** A defect as text without secrets: a thrown value may contain anything. */
const describe = (defect: unknown): string =>
  defect instanceof Error ? `${defect.name}: ${defect.message}` : String(defect)

const refusedBy =
  (secrets: Secrets.Secrets["Service"]) =>
  (error: StartFailure): Refused =>
    new Refused({
      message: secrets.redact(error.message),
      exitCode:
        error instanceof ConfigError ? ExitCode.USAGE : error instanceof Refused ? error.exitCode : ExitCode.FAILED
    })
