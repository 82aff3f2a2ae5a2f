/**
 * Finds and reads the configuration file, and resolves it with everything else that has a say.
 *
 * L1. A file that was asked for must be there; the default one need not be.
 * L2. What cannot be read stops the start, with the reason, as one `ConfigError`.
 */
import { Text } from "@holdfast/wire"
import { Effect, FileSystem, Layer, Path, type PlatformError, Result } from "effect"
import { causeOf } from "../PlatformFailure.ts"
import { Config, ConfigError, type Values } from "./Config.ts"
import * as Environment from "./Environment.ts"
import * as JsonText from "./JsonText.ts"
import type { SimulatedModels } from "./ModelChoice.ts"
import * as Problem from "./Problem.ts"
import * as Resolve from "./Resolve.ts"

/** The file that is looked for in the working directory when none is named. */
export const DEFAULT_FILE = "holdfast.config.json"

export interface Options {
  /** The file that was asked for on the command line. */
  readonly file?: string | undefined
  readonly environment: Environment.Environment
  readonly flags?: Resolve.Flags
  readonly simulated: SimulatedModels
}

/** Reads and checks everything. */
export const load = Effect.fn("Load.load")(function* (
  options: Options
): Effect.fn.Return<Values, ConfigError, FileSystem.FileSystem | Path.Path> {
  const path = yield* Path.Path
  const asked = options.file ?? Environment.get(options.environment, Environment.CONFIG_VARIABLE)
  const name = asked ?? DEFAULT_FILE
  const location = path.resolve(name)
  const content = yield* read(name, location, asked !== undefined)
  return yield* Effect.fromResult(
    Resolve.resolve({
      file: content === undefined ? undefined : { name, path: location, content: content.json },
      environment: options.environment,
      flags: options.flags ?? {},
      absolute: (relative, from) =>
        from === "file" ? path.resolve(path.dirname(location), relative) : path.resolve(relative),
      simulated: options.simulated
    })
  )
})

/** The configuration as a service. */
export const layer = (options: Options): Layer.Layer<Config, ConfigError, FileSystem.FileSystem | Path.Path> =>
  Layer.effect(Config, load(options))

// --- internal

const read = Effect.fnUntraced(function* (
  name: string,
  location: string,
  isAskedFor: boolean
): Effect.fn.Return<{ readonly json: unknown } | undefined, ConfigError, FileSystem.FileSystem> {
  const files = yield* FileSystem.FileSystem
  const text = yield* files
    .readFileString(location)
    .pipe(
      Effect.catchTag("PlatformError", (error) =>
        isNotFound(error) && !isAskedFor ? Effect.succeed(undefined) : unreadable(name, location, error)
      )
    )
  if (text === undefined) return undefined
  // An editor's first save, or a file that was only touched: as good as none.
  if (text.trim() === "") return { json: {} }
  return yield* Result.match(JsonText.parse(text), {
    onSuccess: (json) => {
      const nul = Text.findNul(json)
      return nul === undefined
        ? Effect.succeed({ json })
        : Effect.fail(
            new ConfigError({
              subject: name,
              problems: [{ place: Problem.formatPath(nul.path), message: `${nul.message}.` }]
            })
          )
    },
    onFailure: ({ column, line, message }) =>
      Effect.fail(
        new ConfigError({
          subject: name,
          problems: [{ place: `line ${line}, column ${column}`, message: `${message}.` }]
        })
      )
  })
})

const isNotFound = (error: PlatformError.PlatformError): boolean => error.reason._tag === "NotFound"

const unreadable = (
  name: string,
  location: string,
  error: PlatformError.PlatformError
): Effect.Effect<never, ConfigError> =>
  Effect.fail(
    new ConfigError({
      subject: name,
      problems: [
        {
          place: location,
          message: isNotFound(error) ? "there is no such file." : `it cannot be read: ${causeOf(error)}.`
        }
      ]
    })
  )
