/**
 * Decodes the configuration's three sources: file, environment and command line.
 *
 * Each source is decoded separately, and names its values as a person wrote them: a path, a variable, a flag. A file that cannot be read
 * is a mistake like any other; the other two sources are checked all the same.
 */
import { defined } from "@holdfast/wire"
import type { Origin } from "./Config.ts"
import * as Environment from "./reading/Environment.ts"
import type * as ModelChoice from "./ModelChoice.ts"
import * as Partial from "./reading/Partial.ts"
import * as ConfigProblem from "./reading/ConfigProblem.ts"

/** The configuration file: its name as the person wrote it, its path, and its content as JSON has it. */
interface File {
  readonly name: string
  readonly path: string
  readonly content: unknown
  /** Why there is no content. */
  readonly problem?: ConfigProblem.Problem | undefined
}

/** The flags of the command line that override settings. */
export interface Flags {
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly model?: string | undefined
  readonly profile?: string | undefined
  readonly runner?: string | undefined
}

/** The three sources, and the surroundings. */
export interface Sources {
  readonly file: File | undefined
  readonly environment: Environment.Environment
  readonly flags: Flags
  /** Makes a path absolute, from the file's directory (`file`) or the working directory (`here`). */
  readonly absolute: (path: string, from: "file" | "here") => string
  readonly simulated: ModelChoice.SimulatedModels
  /** Whether the process serves, or calls providers, tools or receivers. Otherwise it needs no secret of these. */
  readonly isService: boolean
}

/** One decoded source. */
export interface Layer extends Partial.Partial {
  /** The reported origin of the value at a path. */
  readonly origin: (path: string) => Origin
}

/** The three sources; later ones override earlier ones. */
export const layers = ({ environment, file, flags }: Sources): ReadonlyArray<Layer> => [
  fileLayer(file),
  environmentLayer(environment),
  flagsLayer(flags)
]

/** The origin of each value, one level into each section; entries of later layers override earlier ones. */
export const originsOf = ({ origin, settings }: Layer): ReadonlyArray<readonly [string, Origin]> =>
  Object.entries(settings).flatMap(([section, value]) =>
    typeof value === "object"
      ? Object.keys(value).map((key): readonly [string, Origin] => [`${section}.${key}`, origin(`${section}.${key}`)])
      : [[section, origin(section)]]
  )

// --- internal

const layerOf = (
  content: unknown,
  place: (path: ReadonlyArray<PropertyKey>) => string,
  origin: (path: string) => Origin
): Layer => ({ ...Partial.decode(content, place), origin })

const fileLayer = (file: File | undefined): Layer => {
  const origin = () => file?.name ?? "default"
  return file?.problem === undefined
    ? layerOf(file?.content ?? {}, ConfigProblem.formatPath, origin)
    : { settings: {}, problems: [file.problem], missing: [[]], origin }
}

const environmentLayer = (environment: Environment.Environment): Layer =>
  layerOf(Environment.toSettings(environment), Environment.variableOf, (path) =>
    Environment.variableOf(path.split("."))
  )

const FLAGS: ReadonlyArray<readonly [path: string, flag: string]> = [
  ["server.host", "--host"],
  ["server.port", "--port"],
  ["model", "--model"],
  ["retry.profile", "--profile"],
  ["cluster.runner", "--runner"]
]

const flagOf = (path: string): string => FLAGS.find(([known]) => known === path)?.[1] ?? path

const flagsLayer = ({ host, model, port, profile, runner }: Flags): Layer =>
  layerOf(
    {
      server: defined({ host, port }),
      retry: defined({ profile }),
      cluster: defined({ runner }),
      ...defined({ model })
    },
    (path) => flagOf(ConfigProblem.formatPath(path)),
    flagOf
  )
