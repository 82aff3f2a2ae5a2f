/** Measures how many small changes of a package's sources its tests notice (`--help`, docs/testing.md). */
import { globSync, readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import * as Coverage from "./Coverage.ts"
import * as Equivalents from "./Equivalents.ts"
import { HostProcess } from "./HostProcess.ts"
import { type Package, packages, projects } from "./Packages.ts"
import * as Places from "./Places.ts"
import * as MutationReport from "./MutationReport.ts"
import type { TestFile } from "./Protocol.ts"
import * as Sample from "./Sample.ts"

const root = new URL("../../../", import.meta.url).pathname

const fail = (message: string): never => {
  console.error(`${message} \`--help\` shows how mutate is used.`)
  process.exit(2)
}

const numberOf = (name: string, text: string, isFine: (n: number) => boolean, expected: string): number =>
  text.trim() !== "" && isFine(Number(text)) ? Number(text) : fail(`--${name} is "${text}", expected ${expected}.`)

const read = () => {
  try {
    return parseArgs({
      args: process.argv.slice(2).filter((arg) => arg !== "--"),
      options: {
        package: { type: "string" },
        n: { type: "string", default: "100" },
        seed: { type: "string", default: "1" },
        min: { type: "string", default: "0" },
        at: { type: "string" },
        list: { type: "boolean", default: false },
        quick: { type: "boolean", default: false },
        help: { type: "boolean", default: false }
      }
    }).values
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : String(error)}.`)
  }
}

/** All places of a package: to change, passed over, and listed but gone. */
const placesOf = ({ folder, without }: Package) => {
  const sources = globSync(`${folder}/src/**/*.ts`, { cwd: root })
    .filter((path) => !without.some((start) => path.startsWith(start)))
    .toSorted()
    .map((path) => Places.of({ path, text: readFileSync(root + path, "utf8") }))
  const places = sources.flatMap(({ places }) => places)
  const passedOver = sources.flatMap(({ passedOver }) => passedOver)
  const stale = Equivalents.listed.filter(
    (entry) =>
      entry.path.startsWith(`${folder}/`) &&
      !passedOver.some((place) => place.path === entry.path && place.reason === entry.reason)
  )
  return { places, passedOver, stale }
}

const selected = (places: ReadonlyArray<Places.Place>, at: string): ReadonlyArray<Places.Place> => {
  const [, path = at, line] = /^(.*?)(?::(\d+))?$/.exec(at) ?? []
  const found = places.filter(
    (place) => place.path.endsWith(path) && (line === undefined || place.line === Number(line))
  )
  return found.length > 0 ? found : fail(`--at is "${at}", and there is no place to change.`)
}

/** A test file may take this many times as long over a changed source, and this much more. */
const LIMIT_FACTOR = 5
const LIMIT_MS = 6000

/** Guards against a host that does not start. */
const START_LIMIT_MS = 120_000

/** So often the limits are doubled on a machine that is too busy for them. */
const MOST_DOUBLINGS = 3

const judge = async (
  host: HostProcess,
  place: Places.Place,
  entries: ReadonlyArray<Coverage.Entry>
): Promise<MutationReport.Outcome> => {
  const { path } = place
  const source = readFileSync(root + path, "utf8")
  const reaching = Coverage.reaching(entries, place, source)
  const durations = new Map(reaching.map(({ durationMs, test }) => [test.path, durationMs]))
  let tests = reaching.map(({ test }) => test)
  const isProgram = reaching.some(({ isProgram }) => isProgram)
  const text = Places.mutate(source, place)
  const unchanged = (test: string | undefined, limitFor?: (test: string | undefined) => number) => {
    const control = tests.filter(({ path }) => path === test)
    return host.ask({ type: "run", tests: control, path, text: source, isProgram }, limitFor)
  }
  const passes = async (test: string) => {
    const answer = await unchanged(test)
    return answer.type === "ran" && answer.failure === undefined
  }
  for (let doublings = 0; ;) {
    const limitFor = (test: string | undefined) =>
      2 ** doublings * (test === undefined ? START_LIMIT_MS : LIMIT_MS + LIMIT_FACTOR * (durations.get(test) ?? 0))
    if (tests.length === 0) return { type: "survived", tests: [] }
    const answer = await host.ask({ type: "run", tests, path, text, isProgram }, limitFor)
    if (answer.type === "ran") {
      const { failure } = answer
      if (failure === undefined) return { type: "survived", tests: tests.map(({ path }) => path) }
      // A process that a busy machine holds up is no change that is noticed.
      if (!isProgram || (await passes(failure.test))) return { type: "noticed", by: failure }
      tests = tests.filter(({ path }) => path !== failure.test)
      continue
    }
    if (answer.type !== "late" || doublings++ === MOST_DOUBLINGS) return { type: "late" }
    // The same over the source as it is, to distinguish a change that does not end from a busy machine.
    if ((await unchanged(answer.test, limitFor)).type !== "late") return { type: "late" }
  }
}

const values = read()
if (values.help) {
  console.log(MutationReport.help)
  process.exit(0)
}
const name = values.package ?? fail("--package is missing.")
const chosen =
  packages.find((one) => one.name === name) ??
  fail(`--package is "${name}", expected one of ${packages.map(({ name }) => name).join(", ")}.`)
const count = numberOf("n", values.n, (n) => Number.isInteger(n) && n > 0, "a whole number above 0")
const min = numberOf("min", values.min, (n) => n >= 0 && n <= 100, "a percentage")

const { passedOver, places, stale } = placesOf(chosen)
for (const { before, operator, path } of stale)
  console.error(`equivalents.txt lists what is gone: ${path}, ${operator} of \`${before}\`.`)
const sample = values.at === undefined ? Sample.draw(places, count, values.seed) : selected(places, values.at)
if (values.list) {
  for (const place of sample)
    console.log(`${MutationReport.position(place)} ${place.operator}: ${place.before} -> ${place.after}`)
  for (const place of passedOver)
    console.log(`passed over: ${MutationReport.position(place)} ${place.operator}: ${place.before} (${place.reason})`)
  process.exit(0)
}

const host = new HostProcess()
const stop = () => {
  host.kill()
  process.exit(130)
}
process.on("SIGINT", stop).on("SIGTERM", stop)

const listing = await host.ask({ type: "list", folders: ["apps", "packages", "simulate", "tools"] })
if (listing.type !== "listed") throw new Error("The tests could not be listed.")
host.kill()

const measure = async (tests: ReadonlyArray<TestFile>): Promise<ReadonlyArray<Coverage.Entry>> => {
  const entries = await Coverage.measure(host, {
    root,
    folder: chosen.folder,
    tests,
    onProgress: (done, { durationMs, failure, test }) => {
      const about =
        failure === undefined ? `${(durationMs / 1000).toFixed(1)} s` : `LEFT OUT, it fails unchanged: ${failure.title}`
      console.log(`[${done}/${tests.length}] reached by ${test.path}: ${about}`)
    }
  })
  host.kill()
  return entries
}

/** Asks the tests of these entries of each place. */
const judged = async (
  places: ReadonlyArray<Places.Place>,
  entries: ReadonlyArray<Coverage.Entry>
): Promise<Array<MutationReport.Result>> => {
  const results: Array<MutationReport.Result> = []
  for (const place of places) {
    const since = performance.now()
    const result = { place, outcome: await judge(host, place, entries) }
    results.push(result)
    console.log(MutationReport.progress(result, results.length, places.length, performance.now() - since))
  }
  host.kill()
  return results
}

const folders = [`${chosen.folder}/test/`, ...(chosen.also ?? [])]
const isNear = ({ path, project }: TestFile) =>
  projects.includes(project) && folders.some((folder) => path.startsWith(folder))
/** Of the other files those that start the program, or name the package. */
const isRelated = ({ path, project }: TestFile) =>
  project === "e2e" || [chosen.folder, `@holdfast/${name}`].some((it) => readFileSync(root + path, "utf8").includes(it))

const near = listing.tests.filter(isNear)
console.log(`${name}: ${sample.length} of ${places.length} places, seed ${values.seed}; ${near.length} test files`)
const entries = await measure(near)
const results = await judged(
  sample,
  entries.filter(({ isProgram }) => !isProgram)
)

const survivors = results.filter(({ outcome }) => outcome.type === "survived").map(({ place }) => place)
if (!values.quick && survivors.length > 0) {
  const far = listing.tests.filter((test) => !isNear(test) && isRelated(test))
  console.log(`${survivors.length} survivors are asked of ${far.length} other test files, where these reach them`)
  const slow = [...entries.filter(({ isProgram }) => isProgram), ...(await measure(far))]
  for (const second of await judged(survivors, slow)) {
    const at = results.findIndex(({ place }) => place === second.place)
    results.splice(at, 1, ...results.slice(at, at + 1).map((first) => MutationReport.both(first, second)))
  }
}

console.log(
  MutationReport.summary(results, {
    package: name,
    seed: values.seed,
    places: places.length,
    passedOver: passedOver.length
  })
)
process.exit(MutationReport.percent(results) < min ? 1 : 0)
