import { join } from "node:path"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** A guard against hanging, many times what a test takes: no test may fail because its machine is slow or busy. */
const GUARD_MS = 180_000

/** What Node has compiled, for workers and for the processes that tests start from sources: those are up in half the time. */
const env = { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/compiled") }

/**
 * Tests without a process, a disk or a socket of their own; time is the TestClock's. They mock no modules and keep nothing in
 * them, so a worker loads each module once for all files and not once a file, which was two thirds of the time.
 */
const unit = {
  name: "unit",
  env,
  isolate: false,
  include: ["{packages,apps}/*/test/**/*.test.ts", "{tools,simulate}/test/**/*.test.ts"],
  exclude: ["**/*.int.test.ts", "**/*.e2e.test.ts", "**/node_modules/**"],
  testTimeout: GUARD_MS,
  hookTimeout: GUARD_MS,
  maxWorkers: 2,
  sequence: { groupOrder: 0 }
}

/**
 * Tests of the other two projects wait for facts most of their time: for processes, sockets, disks and clocks. Six files run side by
 * side, whatever their project: with four, two cores had work a third of the time. Tests of e2e come first, as they take longest.
 */
const waiting = {
  env,
  isolate: false,
  testTimeout: GUARD_MS,
  hookTimeout: GUARD_MS,
  maxWorkers: 6,
  sequence: { groupOrder: 1 }
}

/** Tests with real sockets, files and databases, in this process. */
const integration = {
  ...waiting,
  name: "int",
  include: ["{packages,apps}/*/test/**/*.int.test.ts", "tools/test/**/*.int.test.ts"]
}

/** Tests that start the program as people do, and kill it. */
const endToEnd = {
  ...waiting,
  name: "e2e",
  include: ["{packages,apps}/*/test/**/*.e2e.test.ts"]
}

const PROJECTS = [unit, endToEnd, integration]

/** What takes longest, in this order: a file that began last would run alone. The others follow by their size or last duration. */
const LONGEST = [
  "simulate/test/Nights.test",
  "policy/test/gate/Crowd.test",
  "dry-run/DryRuns.test",
  "parking/Waking.test",
  "kernel/test/Prefixes.test",
  "cluster/Cluster.e2e",
  "terminal/test/Terminal.e2e",
  "service/Starved.e2e",
  "service/Night.e2e",
  "service/Process.e2e",
  "cli/Cli.e2e",
  "service/Operation.e2e",
  "service/Tools.e2e",
  "service/DeathsInARow.e2e",
  "storage/sql/Postgres.int",
  "conformance/Conformance.int",
  "gate/Crowds.int",
  "transport/HttpTransport.int",
  "tools/test/Readme.int",
  "providers/test/Memory.int"
]

class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const placeOf = ({ moduleId }: TestSpecification): number => {
      const place = LONGEST.findIndex((name) => moduleId.includes(name))
      return place === -1 ? LONGEST.length : place
    }
    // Files of a project are neighbours: a worker that gets a file of another project is replaced.
    const projectOf = ({ project }: TestSpecification): number =>
      PROJECTS.findIndex(({ name }) => name === project.name)
    return (await super.sort(files)).toSorted((a, b) => projectOf(a) - projectOf(b) || placeOf(a) - placeOf(b))
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    globalSetup: ["./tools/src/memoryFiles.ts", "./tools/src/bundleProgram.ts"],
    reporters: ["default", "./tools/src/CountReporter.ts"],
    projects: PROJECTS.map((test) => ({ test: { ...test, passWithNoTests: true } }))
  }
})
