/**
 * Reads the `HOLDFAST_*` environment variables, which override the file.
 *
 * Command-line flags override the variables. Providers' keys have other names (`BuiltIn.ts`). An empty variable counts as not set.
 */
import { nearest } from "./Nearest.ts"
import type { Problem } from "./ConfigProblem.ts"

/** The environment variables of a process, by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The value of a variable; `undefined` when it is not set, or empty. */
export const get = (environment: Environment, name: string): string | undefined => {
  const value = environment[name]
  return value === undefined || value === "" ? undefined : value
}

interface Override {
  readonly name: string
  /** The key of the file that it overrides. */
  readonly path: readonly [string, string?]
  /** Converts the text to the value that the file would have. Other text stays as it is, and the schema refuses it. */
  readonly read?: (text: string) => unknown
}

/** Every variable that overrides a key of the file. */
export const overrides: ReadonlyArray<Override> = [
  { name: "HOLDFAST_HOST", path: ["server", "host"] },
  { name: "HOLDFAST_PORT", path: ["server", "port"], read: (text) => (/^\d{1,9}$/.test(text) ? Number(text) : text) },
  { name: "HOLDFAST_TOKEN", path: ["server", "token"] },
  { name: "HOLDFAST_DATABASE_PATH", path: ["database", "path"] },
  { name: "HOLDFAST_DATABASE_URL", path: ["database", "url"] },
  { name: "HOLDFAST_CLUSTER_RUNNER", path: ["cluster", "runner"] },
  { name: "HOLDFAST_MODEL", path: ["model"] },
  { name: "HOLDFAST_LOG_LEVEL", path: ["log", "level"] },
  { name: "HOLDFAST_RETRY_PROFILE", path: ["retry", "profile"] },
  {
    name: "HOLDFAST_RETRY_ENABLED",
    path: ["retry", "enabled"],
    read: (text) => (text === "true" ? true : text === "false" ? false : text)
  }
]

/** The variable that names the file; `--config` overrides it. */
export const CONFIG_VARIABLE = "HOLDFAST_CONFIG"

/** The variable with the log's format, `pretty` or `json`. Without it logs are pretty on a terminal and JSON elsewhere. */
export const LOG_FORMAT_VARIABLE = "HOLDFAST_LOG_FORMAT"

/** The address at which client commands reach the service; `--url` of the command line overrides it. */
export const URL_VARIABLE = "HOLDFAST_URL"

/** Every `HOLDFAST_` variable that Holdfast reads. */
export const names: ReadonlyArray<string> = [
  CONFIG_VARIABLE,
  LOG_FORMAT_VARIABLE,
  URL_VARIABLE,
  ...overrides.map(({ name }) => name)
]

/** The variables that are set, in the shape of the file, not checked yet. */
export const toSettings = (environment: Environment): Readonly<Record<string, unknown>> => {
  const settings: Record<string, unknown> = {}
  for (const { name, path, read } of overrides) {
    const text = get(environment, name)
    if (text === undefined) continue
    const value = read === undefined ? text : read(text)
    const [section, key] = path
    if (key === undefined) settings[section] = value
    else settings[section] = { ...Object(settings[section]), [key]: value }
  }
  return settings
}

/** The variable behind a path of `toSettings`. */
export const variableOf = (path: ReadonlyArray<PropertyKey>): string =>
  overrides.find((override) => override.path.every((key, index) => key === path[index]))?.name ?? path.join(".")

/** The formats of the log. */
export const LOG_FORMATS = ["pretty", "json"] as const

/** The configured format; `undefined` if there is none or it is invalid. */
export const logFormat = (environment: Environment): (typeof LOG_FORMATS)[number] | undefined =>
  LOG_FORMATS.find((format) => format === get(environment, LOG_FORMAT_VARIABLE))

/** The problems of variables that override no key of the file. */
export const problems = (environment: Environment): ReadonlyArray<Problem> => {
  const asked = get(environment, LOG_FORMAT_VARIABLE)
  return asked === undefined || logFormat(environment) !== undefined
    ? []
    : [{ place: LOG_FORMAT_VARIABLE, message: `found ${JSON.stringify(asked)}; expected "pretty" or "json".` }]
}

/**
 * Remarks about unknown `HOLDFAST_` variables, which are most likely misspelt. Their values are never quoted.
 *
 * `named` are the variables that the configuration names for a token or a key.
 */
export const unknownVariables = (environment: Environment, named: ReadonlySet<string>): ReadonlyArray<string> =>
  Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !names.includes(name) && !named.has(name))
    .map((name) => {
      const near = nearest(
        name.slice(PREFIX.length),
        names.map((known) => known.slice(PREFIX.length))
      )
      return `${name} is set, and Holdfast does not read it.${near === undefined ? "" : ` Did you mean ${PREFIX}${near}?`}`
    })

// --- internal

const PREFIX = "HOLDFAST_"
