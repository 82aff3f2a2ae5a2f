/**
 * The measures of a tree of sources: lengths, casts, doc comments, names, arrows and English. Pure.
 *
 * Measures.M1. Sources are the `src` and `testing` folders of packages and apps. Tests, tools, benchmarks and examples are read for their
 *     English alone.
 * Measures.M2. A measure lists its places, so that each can be mended; `survey --list` prints them.
 */
import { posix } from "node:path"
import * as Boundaries from "../Boundaries.ts"
import * as PlainEnglish from "../PlainEnglish.ts"
import { type Export, exportsOf } from "./Exports.ts"
import { castsOf, type FunctionLength, functionsOf } from "./Functions.ts"
import { codeLines, parse, type Source } from "./Source.ts"

/** What is measured of one source. */
export interface Reading {
  readonly path: string
  readonly codeLines: number
  readonly exports: ReadonlyArray<Export>
  readonly functions: ReadonlyArray<FunctionLength>
  /** `KIND PATH:LINE`. */
  readonly casts: ReadonlyArray<string>
  readonly text: string
}

/** One commit or folder. */
export interface Tree {
  readonly sources: ReadonlyArray<Reading>
  /** Comments of all sources and all hand-written pages. */
  readonly english: PlainEnglish.Count
}

export interface Measure {
  readonly name: string
  readonly value: string
  /** Where it stands, one line each; empty where a list means nothing. */
  readonly places: ReadonlyArray<string>
}

/** A folder with more source files than this is no room any more. */
export const MOST_FILES = 16

/** A file with more lines of code than this has more than one idea. */
export const MOST_FILE_LINES = 250

/** A function with more lines than this has a noun hidden in it. */
export const MOST_FUNCTION_LINES = 100

/** Reads one source. */
export const readingOf = (source: Source): Reading => {
  const parsed = parse(source)
  return {
    path: source.path,
    text: source.text,
    codeLines: codeLines(parsed),
    exports: exportsOf(parsed),
    functions: functionsOf(parsed),
    casts: castsOf(parsed).map(({ kind, line, path }) => `${kind} ${path}:${line}`)
  }
}

/** Every measure, in the order of the table. */
export const measuresOf = ({ english, sources }: Tree): ReadonlyArray<Measure> => {
  const functions = sources.flatMap(({ functions }) => functions)
  return [
    { name: "source files", value: String(sources.length), places: [] },
    { name: "lines of code", value: String(sum(sources.map(({ codeLines }) => codeLines))), places: [] },
    {
      name: "lines of a file: median, 90 %, longest",
      value: spreadOf(sources.map(({ codeLines }) => codeLines)),
      places: []
    },
    counted(
      `files of more than ${MOST_FILE_LINES} lines`,
      descending(sources, ({ codeLines }) => codeLines)
        .filter(({ codeLines }) => codeLines > MOST_FILE_LINES)
        .map(({ codeLines, path }) => `${path}: ${codeLines} lines`)
    ),
    {
      name: "lines of a function: median, 90 %, longest",
      value: spreadOf(functions.map(({ lines }) => lines)),
      places: []
    },
    counted(
      `functions of more than ${MOST_FUNCTION_LINES} lines`,
      descending(functions, ({ lines }) => lines)
        .filter(({ lines }) => lines > MOST_FUNCTION_LINES)
        .map(({ line, lines, name, path }) => `${path}:${line} ${name}: ${lines} lines`)
    ),
    counted(
      "casts: as, any, !",
      sources.flatMap(({ casts }) => casts)
    ),
    ...undocumented(sources),
    counted("file names that occur twice", sameFileNames(sources.map(({ path }) => path))),
    counted("types exported by two files under one name", homonyms(sources.flatMap(({ exports }) => exports))),
    counted("imports of a higher room of the service", upwardImports(sources)),
    counted(
      "circles of files",
      Boundaries.circles(sources).map((ring) => ring.join(", "))
    ),
    counted(
      "floors of packages and rooms",
      Boundaries.floors(sources).map((rooms) => rooms.join(", "))
    ),
    counted(`folders of more than ${MOST_FILES} files`, crowdedFolders(sources.map(({ path }) => path))),
    { name: "idioms per 1,000 words", value: PlainEnglish.rateOf(english).toFixed(1), places: [] }
  ]
}

/** The package or app of a source. */
export const packageOf = (path: string): string => /^(?:packages|apps)\/([^/]+)/.exec(path)?.[1] ?? "(none)"

/** Names of files that stand in two folders; entry points are not counted. */
export const sameFileNames = (paths: ReadonlyArray<string>): ReadonlyArray<string> =>
  occurringTwice(paths, (path) => posix.basename(path))
    .filter(([name]) => !["index.ts", "main.ts"].includes(name))
    .map(([name, paths]) => `${name}: ${paths.join(", ")}`)

/** Names of types that two files export. Values repeat by design: every module may have its `make`. */
export const homonyms = (exports: ReadonlyArray<Export>): ReadonlyArray<string> =>
  occurringTwice(
    exports.filter(({ kind }) => kind === "type"),
    ({ name }) => name
  ).map(([name, exports]) => `${name}: ${exports.map(({ path }) => path).join(", ")}`)

/** Folders with more files than `MOST_FILES`. */
export const crowdedFolders = (paths: ReadonlyArray<string>): ReadonlyArray<string> =>
  Array.from(Map.groupBy(paths, (path) => posix.dirname(path)))
    .filter(([, files]) => files.length > MOST_FILES)
    .map(([folder, files]) => `${folder}: ${files.length} files`)

/** One column a tree, one line a measure. A measure that a tree does not have is a dash. */
export const tableOf = (
  columns: ReadonlyArray<{ readonly title: string; readonly measures: ReadonlyArray<Measure> }>
): string => {
  const names = Array.from(new Set(columns.flatMap(({ measures }) => measures.map(({ name }) => name))))
  const valueOf = (measures: ReadonlyArray<Measure>, name: string): string =>
    measures.find((measure) => measure.name === name)?.value ?? "-"
  const lines = [
    ["", ...columns.map(({ title }) => title)],
    ...names.map((name) => [name, ...columns.map(({ measures }) => valueOf(measures, name))])
  ]
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => (line[column] ?? "").length)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => pad(cell, widths[column] ?? 0, column > 0))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}

// --- internal

const counted = (name: string, places: ReadonlyArray<string>): Measure => ({
  name,
  value: String(places.length),
  places
})

const undocumented = (sources: ReadonlyArray<Reading>): ReadonlyArray<Measure> =>
  Array.from(
    Map.groupBy(
      sources.filter(({ exports }) => exports.length > 0),
      ({ path }) => packageOf(path)
    )
  )
    .toSorted(([left], [right]) => left.localeCompare(right))
    .map(([name, readings]) => {
      const exports = readings.flatMap(({ exports }) => exports)
      const missing = exports.filter(({ isDocumented }) => !isDocumented)
      return {
        name: `exports without a doc comment: ${name}`,
        value: `${missing.length} of ${exports.length}`,
        places: missing.map(({ line, name, path }) => `${path}:${line} ${name}`)
      }
    })

const upwardImports = (sources: ReadonlyArray<Reading>): ReadonlyArray<string> =>
  Boundaries.upwardImports(sources).map(({ path, target }) => `${path} imports ${target}`)

const occurringTwice = <A>(
  items: ReadonlyArray<A>,
  nameOf: (item: A) => string
): ReadonlyArray<readonly [name: string, items: ReadonlyArray<A>]> =>
  Array.from(Map.groupBy(items, nameOf))
    .filter(([, items]) => items.length > 1)
    .toSorted(([left], [right]) => left.localeCompare(right))

const spreadOf = (lengths: ReadonlyArray<number>): string => {
  const sorted = lengths.toSorted((left, right) => left - right)
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return `${at(0.5)}, ${at(0.9)}, ${at(1)}`
}

const descending = <A>(items: ReadonlyArray<A>, sizeOf: (item: A) => number): ReadonlyArray<A> =>
  items.toSorted((left, right) => sizeOf(right) - sizeOf(left))

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, number) => total + number, 0)

const pad = (text: string, width: number, toTheRight: boolean): string =>
  toTheRight ? text.padStart(width) : text.padEnd(width)
