/**
 * Finds and reads the configuration file, and resolves it with the environment and the flags.
 *
 * A file that was named must exist; the default file need not. A file that cannot be read stops the start. Its cause is in one
 * `ConfigError` together with all other problems.
 *
 * A problem of the file has the line and the column of its key. If the key is missing, they are those of the object around it.
 */
import { defined, Text } from "@holdfast/wire"
import { Effect, FileSystem, Path, Result } from "effect"
import { causeOf } from "../base/system/PlatformFailure.ts"
import { ConfigError, type Values } from "./Config.ts"
import * as Environment from "./reading/Environment.ts"
import * as JsonText from "./reading/JsonText.ts"
import type { SimulatedModels } from "./ModelChoice.ts"
import * as ConfigProblem from "./reading/ConfigProblem.ts"
import * as Resolve from "./Resolve.ts"
import type { File, Flags } from "./reading/Sources.ts"

/** The file in the working directory that is read if no file is named. */
export const DEFAULT_FILE = "holdfast.config.json"

/** The surroundings of the process. */
interface Surroundings {
  readonly environment: Environment.Environment
  readonly simulated: SimulatedModels
}

/** What a command line gives. */
export interface Wanted {
  /** The file that it names. */
  readonly config?: string | undefined
  readonly flags?: Flags | undefined
  /** The process runs turns or the service, and needs all secrets of them. */
  readonly isService?: boolean | undefined
}

/** Reads and checks everything. */
export const load = Effect.fn("Load.load")(function* (
  { environment, simulated }: Surroundings,
  { config: named, flags = {}, isService = false }: Wanted = {}
): Effect.fn.Return<Values, ConfigError, FileSystem.FileSystem | Path.Path> {
  const path = yield* Path.Path
  const asked = named ?? Environment.get(environment, Environment.CONFIG_VARIABLE)
  const name = asked ?? DEFAULT_FILE
  const location = path.resolve(name)
  const file = yield* read(name, location, asked !== undefined)
  const places = file?.places
  const resolved = Resolve.resolve({
    file,
    environment,
    flags,
    absolute: (relative, from) =>
      from === "file" ? path.resolve(path.dirname(location), relative) : path.resolve(relative),
    simulated,
    isService
  })
  return yield* Effect.fromResult(
    Result.mapBoth(resolved, {
      onSuccess: ({ missing, ...config }): Values => ({
        ...config,
        ...defined({
          missing: missing && located(missing, places),
          lines: places && new Map(places.map(({ path, position }) => [path.join("."), position.line] as const))
        })
      }),
      onFailure: (error) => located(error, places)
    })
  )
})

// --- internal

type Places = JsonText.Document["places"]

interface Read extends File {
  /** Of a file that is JSON. */
  readonly places?: Places
}

/** The error with the positions of its problems. */
const located = (error: ConfigError, places: Places = []): ConfigError => {
  const positions = new Map(places.map(({ path, position }) => [ConfigProblem.formatPath(path), position]))
  const problems = error.problems.map((problem) => ({
    ...problem,
    ...defined({ position: positionOf(positions, problem.place) })
  }))
  return new ConfigError({ subject: error.subject, problems })
}

const positionOf = (
  positions: ReadonlyMap<string, JsonText.TextPosition>,
  place: string
): JsonText.TextPosition | undefined => {
  if (place === "") return undefined
  const outer = place.slice(0, Math.max(place.lastIndexOf("."), place.lastIndexOf("["), 0))
  return positions.get(place) ?? positionOf(positions, outer)
}

const read = Effect.fnUntraced(function* (
  name: string,
  path: string,
  isAskedFor: boolean
): Effect.fn.Return<Read | undefined, never, FileSystem.FileSystem> {
  const files = yield* FileSystem.FileSystem
  const text = yield* Effect.result(files.readFileString(path))
  const broken = (place: string, message: string): Read => ({
    name,
    path,
    content: undefined,
    problem: { place, message: `${message}.` }
  })
  if (Result.isFailure(text)) {
    const isNotFound = text.failure.reason._tag === "NotFound"
    if (isNotFound && !isAskedFor) return undefined
    return broken(path, isNotFound ? "there is no such file" : `it cannot be read: ${causeOf(text.failure)}`)
  }
  // An empty file, as an editor's first save or `touch` leaves it, counts as no file.
  if (text.success.trim() === "") return { name, path, content: {} }
  return Result.match(JsonText.read(text.success), {
    onSuccess: ({ content, places }): Read => {
      const nul = Text.findNul(content)
      const file = nul === undefined ? { name, path, content } : broken(ConfigProblem.formatPath(nul.path), nul.message)
      return { ...file, places }
    },
    onFailure: ({ column, line, message }): Read => broken(`line ${line}, column ${column}`, message)
  })
})
