/**
 * Finds and reads the configuration file, and resolves it with the environment and the flags.
 *
 * A file that was named must exist; the default file need not. A file that cannot be read stops the start. Its cause is in one
 * `ConfigError` together with all other problems.
 *
 * Load.L3. A problem of the file has the line and the column of its key. If the key is missing, they are those of the object around it.
 */
import { defined, Text } from "@holdfast/wire"
import { Effect, FileSystem, Path, type PlatformError, Result } from "effect"
import { causeOf } from "../system/PlatformFailure.ts"
import { ConfigError, type Values } from "./Config.ts"
import * as Environment from "./reading/Environment.ts"
import * as JsonText from "./reading/JsonText.ts"
import type { SimulatedModels } from "./ModelChoice.ts"
import * as ConfigProblem from "./reading/ConfigProblem.ts"
import * as Resolve from "./Resolve.ts"
import type { Flags } from "./reading/Sources.ts"

/** The file in the working directory that is read if no file is named. */
export const DEFAULT_FILE = "holdfast.config.json"

/** The surroundings of the process. */
interface Options {
  /** The file that the command line names. */
  readonly file?: string | undefined
  readonly environment: Environment.Environment
  readonly flags?: Flags
  readonly simulated: SimulatedModels
  /** The process runs turns or the service, and needs all secrets of them (Resolve.V4). */
  readonly isService?: true
}

/** Reads and checks everything. */
export const load = Effect.fn("Load.load")(function* (
  options: Options
): Effect.fn.Return<Values, ConfigError, FileSystem.FileSystem | Path.Path> {
  const path = yield* Path.Path
  const asked = options.file ?? Environment.get(options.environment, Environment.CONFIG_VARIABLE)
  const name = asked ?? DEFAULT_FILE
  const location = path.resolve(name)
  const read = yield* readFile(location, asked !== undefined)
  const resolved = Resolve.resolve({
    file: read === undefined ? undefined : { name, path: location, content: read.content, problem: read.problem },
    environment: options.environment,
    flags: options.flags ?? {},
    absolute: (relative, from) =>
      from === "file" ? path.resolve(path.dirname(location), relative) : path.resolve(relative),
    simulated: options.simulated,
    isService: options.isService ?? false
  })
  return yield* Effect.fromResult(
    Result.mapBoth(resolved, {
      onSuccess: ({ missing, ...config }): Values => ({
        ...config,
        ...defined({
          missing: missing && located(missing, read?.text),
          lines: read?.text === undefined ? undefined : linesOf(read.text)
        })
      }),
      onFailure: (error) => located(error, read?.text)
    })
  )
})

// --- internal

interface Read {
  readonly content: unknown
  readonly problem: ConfigProblem.Problem | undefined
  /** The text, if it is JSON. */
  readonly text?: string
}

/** The line of each key, by its path as in `Config.origins`. */
const linesOf = (text: string): ReadonlyMap<string, number> =>
  new Map(JsonText.places(text).map(({ path, position }) => [path.join("."), position.line]))

/** The error with the positions of its problems (Load.L3). */
const located = (error: ConfigError, text: string | undefined): ConfigError => {
  if (text === undefined) return error
  const positions = new Map(
    JsonText.places(text).map(({ path, position }) => [ConfigProblem.formatPath(path), position])
  )
  const problems = error.problems.map((problem) => {
    const position = positionOf(positions, problem.place)
    return position === undefined ? problem : { ...problem, position }
  })
  return new ConfigError({ subject: error.subject, problems })
}

const positionOf = (
  positions: ReadonlyMap<string, JsonText.Position>,
  place: string
): JsonText.Position | undefined => {
  if (place === "") return undefined
  const outer = place.slice(0, Math.max(place.lastIndexOf("."), place.lastIndexOf("["), 0))
  return positions.get(place) ?? positionOf(positions, outer)
}

const readFile = Effect.fnUntraced(function* (
  location: string,
  isAskedFor: boolean
): Effect.fn.Return<Read | undefined, never, FileSystem.FileSystem> {
  const files = yield* FileSystem.FileSystem
  const text = yield* Effect.result(files.readFileString(location))
  if (Result.isFailure(text)) {
    return isNotFound(text.failure) && !isAskedFor ? undefined : unreadable(location, text.failure)
  }
  // An empty file, as an editor's first save or `touch` leaves it, counts as no file.
  if (text.success.trim() === "") return { content: {}, problem: undefined }
  return Result.match(JsonText.parse(text.success), {
    onSuccess: (content): Read => {
      const nul = Text.findNul(content)
      const read =
        nul === undefined ? { content, problem: undefined } : broken(ConfigProblem.formatPath(nul.path), nul.message)
      return { ...read, text: text.success }
    },
    onFailure: ({ column, line, message }): Read => broken(`line ${line}, column ${column}`, message)
  })
})

const isNotFound = (error: PlatformError.PlatformError): boolean => error.reason._tag === "NotFound"

const broken = (place: string, message: string): Read => ({
  content: undefined,
  problem: { place, message: `${message}.` }
})

const unreadable = (location: string, error: PlatformError.PlatformError): Read => ({
  content: undefined,
  problem: {
    place: location,
    message: isNotFound(error) ? "there is no such file." : `it cannot be read: ${causeOf(error)}.`
  }
})
