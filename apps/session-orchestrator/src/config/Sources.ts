/**
 * Reads the configuration's three sources into settings of one shape: the file, the environment and the command line.
 *
 * Sources.S1. Each is decoded by itself, and names its places as a person wrote them: a path, a variable, a flag.
 * Sources.S2. A file that cannot be read is a mistake like any other; the other two are checked all the same.
 */
import type { Origin } from "./Config.ts"
import * as Environment from "./reading/Environment.ts"
import type * as ModelChoice from "./ModelChoice.ts"
import * as Partial from "./reading/Partial.ts"
import * as Problem from "./reading/Problem.ts"

/** The configuration file: its name as the person knows it, where it is, and its content as JSON gave it. */
export interface File {
  readonly name: string
  readonly path: string
  readonly content: unknown
  /** Why there is no content (S2). */
  readonly problem?: Problem.Problem | undefined
}

/** A value that was given, and what to call it. */
export interface Flags {
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly model?: string | undefined
  readonly profile?: string | undefined
  readonly runner?: string | undefined
}

export interface Sources {
  readonly file: File | undefined
  readonly environment: Environment.Environment
  readonly flags: Flags
  /** Makes a path absolute, from the file's directory (`file`) or the working directory (`here`). */
  readonly absolute: (path: string, from: "file" | "here") => string
  readonly simulated: ModelChoice.SimulatedModels
}

/** One source, decoded. */
export interface Layer extends Partial.Partial {
  /** What the value at a path is reported to come from. */
  readonly origin: (path: string) => Origin
}

/** The three sources; later ones stand over earlier ones. */
export const layers = ({ environment, file, flags }: Sources): ReadonlyArray<Layer> => [
  fileLayer(file),
  environmentLayer(environment),
  flagsLayer(flags)
]

/** Which layer a value came from, one level into each section; later layers win because they come later. */
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
    ? layerOf(file?.content ?? {}, Problem.formatPath, origin)
    : { settings: {}, problems: [file.problem], missing: [[]], origin }
}

const environmentLayer = (environment: Environment.Environment): Layer =>
  layerOf(Environment.toSettings(environment), Environment.placeOf, (path) => Environment.placeOf(path.split(".")))

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
      ...(host === undefined && port === undefined ? {} : { server: defined({ host, port }) }),
      ...(profile === undefined ? {} : { retry: { profile } }),
      ...(runner === undefined ? {} : { cluster: { runner } }),
      ...defined({ model })
    },
    (path) => flagOf(Problem.formatPath(path)),
    flagOf
  )

const defined = (record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))
