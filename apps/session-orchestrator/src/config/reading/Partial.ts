/**
 * Decodes settings that have mistakes: keeps what is sound, so that later checks run on it and all mistakes are reported at once.
 *
 * Partial.P1. What is left out is the smallest key around a mistake; of a list, the whole list.
 * Partial.P2. A later problem that may come from what was left out is not reported: it may be gone once the mistake is mended.
 */
import { Result, Schema } from "effect"
import * as Problem from "./Problem.ts"
import * as Settings from "./Settings.ts"

type Path = ReadonlyArray<PropertyKey>

export interface Partial {
  readonly settings: Settings.Settings
  /** One for each mistake. */
  readonly problems: ReadonlyArray<Problem.Problem>
  /** The paths that were left out. */
  readonly missing: ReadonlyArray<Path>
}

/** Decodes what there is. `place` names a path in problems. */
export const decode = (content: unknown, place: (path: Path) => string): Partial => {
  const missing: Array<Path> = []
  let problems: ReadonlyArray<Problem.Problem> | undefined
  let left = content
  for (;;) {
    const decoded = attempt(left)
    if (Result.isSuccess(decoded)) return { settings: decoded.success, problems: problems ?? [], missing }
    const { issue } = decoded.failure
    problems ??= Problem.fromIssue(issue, content, place)
    const paths = Problem.pathsOf(issue).map((path) => removable(left, path))
    if (paths.some((path) => path.length === 0)) return { settings: {}, problems, missing: [[]] }
    missing.push(...paths)
    left = paths.reduce(without, left)
  }
}

/** Whether a problem at `place` may come from what was left out: at it, within it or around it (P2). */
export const explains = (missing: ReadonlyArray<Path>, place: string): boolean =>
  missing.some((path) => {
    const gone = Problem.formatPath(path)
    return isWithin(place, gone) || isWithin(gone, place)
  })

/** Whether everything is known of what stands at `path`. */
export const isWhole = (missing: ReadonlyArray<Path>, path: Path): boolean =>
  !missing.some((gone) => gone.every((key, at) => at >= path.length || key === path[at]))

// --- internal

const attempt = Schema.decodeUnknownResult(Settings.Settings, Settings.PARSE_OPTIONS)

/** The shortest path to `path` that can be removed and is there; an element's list, a missing key's object (P1). */
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
