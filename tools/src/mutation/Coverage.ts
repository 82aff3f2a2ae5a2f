/**
 * Which test file reaches which mutation point: one pass per test file, cached.
 *
 * Coverage.C1. An entry holds as long as the files that the test file is made of have the same content, and the operators too. It has
 *              the points of equivalent changes as well, so it outlives the list of those.
 * Coverage.C2. A test file that fails over unchanged sources is asked about no change.
 * Coverage.C3. A test file that starts the program is made of all sources, so its entry holds as long as the test's own files are the
 *              same, and has its points by their code: an edit elsewhere does not ask for minutes of processes again.
 */
import { createHash } from "node:crypto"
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { HostProcess } from "./HostProcess.ts"
import { nameOf } from "./Instrument.ts"
import type { Place } from "./Places.ts"
import type { Covered, TestFile } from "./Protocol.ts"

/** What one test file reached, and with which files. */
export interface Entry extends Covered {
  readonly test: TestFile
  /** By path, the hash of the file. */
  readonly hashes: { readonly [path: string]: string }
}

/** The entries of all test files, from the cache or measured. */
export const measure = async (
  host: HostProcess,
  options: {
    readonly root: string
    readonly folder: string
    readonly tests: ReadonlyArray<TestFile>
    readonly onProgress: (done: number, entry: Entry) => void
  }
): Promise<ReadonlyArray<Entry>> => {
  const { folder, onProgress, root, tests } = options
  const cache = join(root, "node_modules/.cache/holdfast-mutate", folder.replaceAll("/", "_"))
  mkdirSync(cache, { recursive: true })
  const fixed = [
    ...globSync("tools/src/mutation/{Operators,Places,Instrument,Syntax}.ts", { cwd: root }),
    ...fixturesOf(root, folder)
  ]
  const hash = hashing(root)
  const entries: Array<Entry> = []
  for (const test of tests) {
    const file = join(cache, `${test.project}-${test.path.replaceAll("/", "_")}.json`)
    const known: Entry | undefined = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined
    const isCurrent = known !== undefined && Object.entries(known.hashes).every(([path, was]) => hash(path) === was)
    const entry = isCurrent
      ? known
      : await cover(host, root, test, folder, (modules) => hashesOf(hash, [...modules, ...fixed]))
    if (!isCurrent) {
      writeFileSync(`${file}.new`, JSON.stringify(entry))
      renameSync(`${file}.new`, file)
    }
    entries.push(entry)
    onProgress(entries.length, entry)
  }
  return entries
}

/** The test files that reach a place of a source, the quickest first. */
export const reaching = (entries: ReadonlyArray<Entry>, place: Place, source: string): ReadonlyArray<Entry> => {
  const [name, code] = [nameOf(place.point), codeOf(nameOf(place.point), source)]
  return entries
    .filter(({ failure, isProgram, points }) => !failure && points[place.path]?.includes(isProgram ? code : name))
    .toSorted((a, b) => a.durationMs - b.durationMs)
}

// --- internal

/** A coverage pass guards against hanging only. */
const LIMIT = 300_000

const cover = async (
  host: HostProcess,
  root: string,
  test: TestFile,
  folder: string,
  hashes: (modules: ReadonlyArray<string>) => Entry["hashes"]
): Promise<Entry> => {
  const answer = await host.ask({ type: "cover", test, package: folder }, () => LIMIT)
  if (answer.type === "covered") {
    const { durationMs, failure, isProgram, modules, points } = answer
    const own = isProgram ? modules.filter((path) => !/^(apps|packages)\/[^/]+\/src\//.test(path)) : modules // Coverage.C3
    return {
      test,
      durationMs,
      failure,
      isProgram,
      modules: own,
      points: isProgram ? byCode(points, root) : points,
      hashes: failure === undefined ? hashes(own) : { "": "" }
    }
  }
  const failure = { test: test.path, title: `took longer than ${LIMIT / 1000} s, or ended its process` }
  return { test, failure, durationMs: LIMIT, points: {}, modules: [], isProgram: false, hashes: { "": "" } }
}

/** The points of each source by their code. */
const byCode = (points: Entry["points"], root: string): Entry["points"] =>
  Object.fromEntries(
    Object.entries(points).map(([path, names]) => {
      const source = readFileSync(join(root, path), "utf8")
      return [path, [...new Set(names.map((name) => codeOf(name, source)))]]
    })
  )

const codeOf = (name: string, source: string): string => {
  const [start, end] = name.split("-").map(Number)
  return createHash("sha256").update(source.slice(start, end)).digest("hex").slice(0, 12)
}

/** What tests read besides modules. */
const fixturesOf = (root: string, folder: string): ReadonlyArray<string> =>
  globSync(`${folder}/test/**/*.*`, { cwd: root }).filter((path) => !/\.tsx?$/.test(path))

const hashesOf = (hash: (path: string) => string, paths: ReadonlyArray<string>): Entry["hashes"] =>
  Object.fromEntries(paths.map((path) => [path, hash(path)]))

const hashing = (root: string) => {
  const known = new Map<string, string>()
  return (path: string): string => {
    const before = known.get(path)
    if (before !== undefined) return before
    const file = join(root, path)
    const now = path !== "" && existsSync(file) ? createHash("sha256").update(readFileSync(file)).digest("hex") : "none"
    known.set(path, now)
    return now
  }
}
