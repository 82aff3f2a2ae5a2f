/**
 * Decodes settings that have mistakes and keeps the valid parts.
 *
 * Later checks run on the valid parts, so all mistakes are reported at once.
 *
 * Partial.P1. The smallest key around a mistake is left out; for a mistake in a list, the whole list.
 * Partial.P2. A later problem that may result from a left-out key is not reported: it may be gone once the mistake is corrected.
 */
import { Result, Schema } from "effect"
import * as ConfigProblem from "./ConfigProblem.ts"
import * as Settings from "./Settings.ts"

type Path = ReadonlyArray<PropertyKey>

/** The valid settings, and the mistakes. */
export interface Partial {
  readonly settings: Settings.Settings
  /** One for each mistake. */
  readonly problems: ReadonlyArray<ConfigProblem.Problem>
  /** The paths that were left out. */
  readonly missing: ReadonlyArray<Path>
}

/** Decodes settings. `place` names a path in problems. */
export const decode = (content: unknown, place: (path: Path) => string): Partial => {
  const missing: Array<Path> = []
  let problems: ReadonlyArray<ConfigProblem.Problem> | undefined
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

/** Whether a problem at `place` may result from a left-out path: `place` is that path, inside it or around it (Partial.P2). */
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

/** The existing path around `path` that can be removed: an element's list, a missing key's object (Partial.P1). */
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
