/**
 * Decodes the three sources of a configuration: file, environment and command line.
 *
 * Each is decoded separately, and names its values as a person wrote them: a path, a variable, a flag. Mistakes are left out and the valid
 * parts kept, so that later checks run and all mistakes are reported at once. A file that cannot be read is a mistake like any other.
 *
 * The smallest key around a mistake is left out; for a mistake in a list, the whole list. A later problem that may result from a left-out
 * key is not reported: it may be gone once the mistake is corrected.
 */
import { Result, Schema } from "effect"
import * as ConfigProblem from "./ConfigProblem.ts"
import * as Environment from "./Environment.ts"
import * as Settings from "./Settings.ts"

type Path = ReadonlyArray<PropertyKey>

/** The configuration file: its name as the person wrote it, its path, and its content as JSON has it. */
export interface File {
  readonly name: string
  readonly path: string
  readonly content: unknown
  /** Why there is no content. */
  readonly problem?: ConfigProblem.ConfigProblem | undefined
}

/** The flags of the command line that override settings. */
export interface Flags {
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly model?: string | undefined
  readonly profile?: string | undefined
  readonly runner?: string | undefined
}

/** The three sources. */
export interface Sources {
  readonly file: File | undefined
  readonly environment: Environment.Environment
  readonly flags: Flags
}

/** The source of a value: a file's name, a variable or a flag. */
export type SettingOrigin = string

/** The valid settings of a source, and its mistakes. */
interface Partial {
  readonly settings: Settings.Settings
  /** One for each mistake. */
  readonly problems: ReadonlyArray<ConfigProblem.ConfigProblem>
  /** The paths that were left out. */
  readonly missing: ReadonlyArray<Path>
}

/** Decodes the sources and merges them. Later ones override earlier ones: the file, the environment, the flags. */
export const read = ({ environment, file, flags }: Sources) => {
  const layers: ReadonlyArray<Partial & { readonly origin: (path: string) => SettingOrigin }> = [
    {
      ...(file?.problem === undefined
        ? decode(file === undefined ? {} : file.content, ConfigProblem.formatPath)
        : { settings: {}, problems: [file.problem], missing: [[]] }),
      origin: () => file?.name ?? "default"
    },
    overrides("env", (name) => Environment.get(environment, name)),
    overrides("flag", (name) => new Map(Object.entries(flags)).get(name.slice("--".length)))
  ]
  return {
    settings: layers.reduce<Settings.Settings>((merged, { settings }) => merge(merged, settings), {}),
    problems: layers.flatMap(({ problems }) => problems),
    missing: layers.flatMap(({ missing }) => missing),
    /** The origin of each value, one level into each section. */
    origins: new Map<string, SettingOrigin>(
      layers.flatMap(({ origin, settings }) =>
        Object.entries(settings).flatMap(([section, value]) =>
          typeof value === "object"
            ? Object.keys(value).map((key) => [`${section}.${key}`, origin(`${section}.${key}`)] as const)
            : [[section, origin(section)] as const]
        )
      )
    )
  }
}

/** Decodes settings. `place` names a path in problems. */
export const decode = (content: unknown, place: (path: Path) => string): Partial => {
  const missing: Array<Path> = []
  let problems: ReadonlyArray<ConfigProblem.ConfigProblem> | undefined
  let left = content
  for (;;) {
    const decoded = attempt(left)
    if (Result.isSuccess(decoded)) return { settings: decoded.success, problems: problems ?? [], missing }
    const { issue } = decoded.failure
    problems ??= ConfigProblem.fromIssue(issue, content, place)
    const paths = ConfigProblem.pathsOf(issue).map((path) => removable(left, path))
    if (paths.some((path) => path.length === 0)) return { settings: {}, problems, missing: [[]] }
    missing.push(...paths)
    left = paths.reduce(without, left)
  }
}

/** Whether a problem at `place` may result from a left-out path: `place` is that path, inside it or around it. */
export const explains = (missing: ReadonlyArray<Path>, place: string): boolean =>
  missing.some((path) => {
    const gone = ConfigProblem.formatPath(path)
    return isWithin(place, gone) || isWithin(gone, place)
  })

/** Whether nothing at or below `path` was left out. */
export const isWhole = (missing: ReadonlyArray<Path>, path: Path): boolean =>
  !missing.some((gone) => gone.every((key, at) => at >= path.length || key === path[at]))

// --- internal

const attempt = Schema.decodeUnknownResult(Settings.Settings, Settings.PARSE_OPTIONS)

/** The settings of variables or flags, whose values are read by their names. */
const overrides = (by: "env" | "flag", valueOf: (name: string) => string | number | undefined) => {
  const origin = (path: string): SettingOrigin => Environment.nameOf(by, path) ?? path
  return { ...decode(Environment.overrides(by, valueOf), (path) => origin(ConfigProblem.formatPath(path))), origin }
}

/** `high` overrides `low` key by key: `retry` primitive by primitive, a provider or a tool server as a whole. */
const merge = (low: Settings.Settings, high: Settings.Settings): Settings.Settings => {
  // A token of `high` replaces the one of `low`, in either of its two forms.
  const { token: _token, tokenEnv: _tokenEnv, ...tokenless } = low.server ?? {}
  const isTokenAbove = high.server?.token !== undefined || high.server?.tokenEnv !== undefined
  const below: Readonly<Record<string, unknown>> = isTokenAbove ? { ...low, server: tokenless } : low
  const sections = Object.entries(high).map(([section, value]) => [
    section,
    typeof value === "object" && !Array.isArray(value) ? { ...Object(below[section]), ...value } : value
  ])
  return { ...below, ...Object.fromEntries(sections) }
}

/** The existing path around `path` that can be removed: an element's list, a missing key's object. */
const removable = (content: unknown, path: Path): Path => {
  let value = content
  for (const [at, key] of path.entries()) {
    if (typeof value !== "object" || value === null || Array.isArray(value) || !Object.hasOwn(value, key)) {
      return path.slice(0, at)
    }
    value = Object.getOwnPropertyDescriptor(value, key)?.value
  }
  return path
}

const without = (content: unknown, path: Path): unknown => {
  const [key, ...rest] = path
  if (typeof content !== "object" || content === null || key === undefined) return content
  return Object.fromEntries(
    Object.entries(content).flatMap(([name, value]) => {
      if (name !== String(key)) return [[name, value]]
      return rest.length === 0 ? [] : [[name, without(value, rest)]]
    })
  )
}

const isWithin = (place: string, around: string): boolean =>
  around === "" || place === around || place.startsWith(`${around}.`) || place.startsWith(`${around}[`)
