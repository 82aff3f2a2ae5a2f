/**
 * Runs tests for the mutation runner: one vitest in one process, which answers requests over IPC.
 *
 * Host.H1. A changed source exists in memory only: vitest loads it through a plugin, and the program that tests start is a bundle of
 *          the host's own, which the runner removes with it. A killed host leaves nothing behind.
 * Host.H2. The process ends when the runner has gone, with all that its tests have started.
 */
import { existsSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { inspect } from "node:util"
import { createVitest, type Reporter, type TestModule, type TestSpecification, type Vitest } from "vitest/node"
import workspace from "../../../vitest.workspace.ts"
import { makeProgram, programOf } from "./HostProcess.ts"
import { GLOBAL, instrument } from "./Instrument.ts"
import * as Places from "./Places.ts"
import type { Covered, Reply, Request, TestFailure, TestFile } from "./Protocol.ts"

const root = new URL("../../../", import.meta.url).pathname

/** What vitest is given instead of a file on disk; `undefined`: the file. */
let replaced: (path: string) => string | undefined = () => undefined

/** The order of the run, by path. */
let order: ReadonlyArray<string> = []

let failure: TestFailure | undefined

const reply = (message: Reply): void => void process.send?.(message)

const failed = (test: string, title: string): void => {
  failure ??= { test, title }
}

const pathOf = (module: TestModule): string => relative(root, module.moduleId)

const reporter: Reporter = {
  // Both: a change may run without end while the file is loaded, or in its tests.
  onTestModuleQueued: (module) => reply({ type: "began", test: pathOf(module) }),
  onTestModuleStart: (module) => reply({ type: "began", test: pathOf(module) }),
  onTestCaseResult: (test) => {
    if (test.result().state === "failed") failed(pathOf(test.module), test.fullName)
  },
  onTestModuleEnd: (module) => {
    const [error] = [...module.errors(), ...[...module.children.allSuites()].flatMap((suite) => suite.errors())]
    if (error !== undefined) failed(pathOf(module), error.message)
  },
  onTestRunEnd: (_, [error]) => {
    if (error !== undefined) failed(order[0] ?? "", error.message)
  }
}

const sequencer = class {
  shard(files: Array<TestSpecification>) {
    return files
  }
  sort(files: Array<TestSpecification>) {
    const placeOf = ({ moduleId }: TestSpecification) => order.indexOf(relative(root, moduleId))
    return files.toSorted((a, b) => placeOf(a) - placeOf(b))
  }
}

const pointsFile = join(tmpdir(), `holdfast-mutate-${process.pid}.json`)

const start = (isCoverage: boolean): Promise<Vitest> => {
  const plugin = {
    name: "holdfast-mutation",
    enforce: "pre" as const,
    load: (id: string) => {
      const code = replaced(relative(root, id.split("?")[0] ?? id))
      return code === undefined ? undefined : { code, map: null }
    }
  }
  const projects = (workspace.test?.projects ?? []).map((project) => {
    if (typeof project !== "object" || !("test" in project)) throw new Error("vitest.workspace.ts has another shape.")
    const setupFiles = isCoverage ? [join(root, "tools/src/mutation/setup.ts")] : []
    return {
      ...project,
      plugins: [plugin],
      test: {
        ...project.test,
        env: { ...project.test?.env, HOLDFAST_PROGRAM: program },
        setupFiles,
        // The cache on disk goes by the file on disk: it would hide a change, or hand it to other runs.
        fsModuleCache: false,
        maxWorkers: 1,
        provide: { mutationPointsFile: pointsFile },
        // A change that allocates without end fails its own process, not the machine.
        execArgv: ["--max-old-space-size=1024"]
      }
    }
  })
  return createVitest(
    "test",
    { root, config: false, watch: false, reporters: [reporter], bail: isCoverage ? 0 : 1, silent: true },
    { test: { projects, fsModuleCache: false, sequence: { sequencer } } }
  )
}

/** The program that tests start, with what is replaced. */
const program = programOf(process.pid)

/** A process of the program may be killed at any moment, so it writes each point when it comes to it. */
const programPoints = `${pointsFile}.program`
const WRITES_POINTS = `globalThis.${GLOBAL} ??= new Proxy({}, { get: (all, path) => (all[path] ??= Object.assign(new Set(), { add(name) {
  if (this.has(name)) return
  Set.prototype.add.call(this, name)
  process.getBuiltinModule("node:fs").appendFileSync(${JSON.stringify(programPoints)}, path + "\\t" + name + "\\n")
} })) });`

let counting: Promise<void> | undefined

let vitest: Promise<Vitest> | undefined

const specificationsOf = async (tests: ReadonlyArray<TestFile>): Promise<Array<TestSpecification>> => {
  const all = await (await started()).globTestSpecifications(tests.map(({ path }) => join(root, path)))
  return tests.map(({ path, project }) => {
    const found = all.find((one) => relative(root, one.moduleId) === path && one.project.name === project)
    if (found === undefined) throw new Error(`There is no test file ${path} in the project ${project}.`)
    return found
  })
}

const started = (): Promise<Vitest> => (vitest ??= start(false))

const run = async (tests: ReadonlyArray<TestFile>): Promise<TestFailure | undefined> => {
  failure = undefined
  order = tests.map(({ path }) => path)
  const { unhandledErrors } = await (await started()).runTestSpecifications(await specificationsOf(tests), false)
  const [error] = unhandledErrors
  if (error !== undefined) failed(order[0] ?? "", inspect(error).slice(0, 200))
  return failure
}

const cover = async (test: TestFile, folder: string): Promise<Covered> => {
  vitest ??= start(true)
  const instrumented = new Map<string, string>()
  replaced = (path) => {
    if (!path.startsWith(`${folder}/src/`) || !path.endsWith(".ts")) return undefined
    const known = instrumented.get(path)
    if (known !== undefined) return known
    // What is counted comes before the first line, where `#!` would be no comment.
    const source = { path, text: readFileSync(root + path, "utf8").replace(/^#!/, "//") }
    const { passedOver, places } = Places.of(source)
    const code = instrument(source, [...places, ...passedOver]) // Coverage.C1
    instrumented.set(path, code)
    return code
  }
  await (counting ??= makeProgram(process.pid, replaced, WRITES_POINTS))
  for (const file of [pointsFile, programPoints]) rmSync(file, { force: true })
  const since = performance.now()
  const failure = await run([test])
  const durationMs = performance.now() - since
  const points = failure === undefined ? JSON.parse(readFileSync(pointsFile, "utf8")) : {}
  const isProgram = existsSync(programPoints)
  if (isProgram) {
    for (const line of readFileSync(programPoints, "utf8").split("\n")) {
      const [path = "", name] = line.split("\t")
      if (name !== undefined) (points[path] ??= []).push(name)
    }
  }
  for (const file of [pointsFile, programPoints]) rmSync(file, { force: true })
  return { failure, durationMs, points, modules: await modulesOf(test), isProgram }
}

/** The test file and all that it imports from the repository. */
const modulesOf = async (test: TestFile): Promise<ReadonlyArray<string>> => {
  const found = new Set<string>()
  for (const { project } of await specificationsOf([test])) {
    for (const environment of Object.values(project.vite.environments)) {
      const queue = [...(environment.moduleGraph.getModulesByFile(join(root, test.path)) ?? [])]
      for (const module of queue) {
        if (module.file === null || found.has(module.file)) continue
        found.add(module.file)
        queue.push(...module.importedModules)
      }
    }
  }
  return [...found]
    .map((file) => relative(root, file))
    .filter((path) => !path.startsWith("..") && !path.includes("node_modules/"))
    .toSorted()
}

let previous: string | undefined

const serve = async (request: Request): Promise<Reply> => {
  switch (request.type) {
    case "list": {
      const all = await (await started()).globTestSpecifications(request.folders.map((folder) => join(root, folder)))
      const tests = all.map(({ moduleId, project }) => ({ project: project.name, path: relative(root, moduleId) }))
      return { type: "listed", tests }
    }
    case "cover":
      return { type: "covered", ...(await cover(request.test, request.package)) }
    case "run": {
      replaced = (path) => (path === request.path ? request.text : undefined)
      for (const path of [previous, request.path]) {
        if (path !== undefined) (await started()).invalidateFile(join(root, path))
      }
      previous = request.path
      return { type: "ran", failure: await run(request.tests) }
    }
    default:
      return request satisfies never
  }
}

process.on("message", (request: Request) => {
  serve(request)
    .catch((error: unknown): Reply => ({
      type: "broken",
      message: error instanceof Error ? (error.stack ?? error.message) : String(error)
    }))
    .then(reply)
})
// Host.H2: the runner starts this process as the leader of a group of its own.
process.on("disconnect", () => {
  rmSync(program, { recursive: true, force: true, maxRetries: 5 })
  process.kill(-process.pid, "SIGKILL")
})
