/**
 * Runs all benchmarks, or those named: `npx --yes pnpm@12 bench [NAME …] [--beside DIR] [--rounds N]`.
 *
 * Each figure stands beside the bare limit, measured in the same run on the same machine; the ratio is what counts. `--beside`
 * names another checkout, installed like this one: where a benchmark can, it measures both in alternation.
 */
import * as os from "node:os"
import { parseArgs } from "node:util"

const all = {
  "turn-loop": () => import("./TurnLoop.ts"),
  "live-path": () => import("./LivePath.ts"),
  commits: () => import("./Commits.ts"),
  parking: () => import("./WaitingTurns.ts"),
  configurations: () => import("./Configurations.ts"),
  storm: () => import("./Storm.ts"),
  memory: () => import("./Memory.ts"),
  runners: () => import("./Runners.ts"),
  survive: () => import("./Survive.ts"),
  abort: () => import("./Abort.ts"),
  gateway: () => import("./Gateway.ts"),
  "held-calls": () => import("./HeldCalls.ts"),
  crowd: () => import("./Crowd.ts"),
  lists: () => import("./Lists.ts"),
  stretches: () => import("./Stretches.ts"),
  walks: () => import("./Walks.ts"),
  "library-abort": () => import("./LibraryAbort.ts"),
  bundle: () => import("./BundleSize.ts"),
  start: () => import("./Start.ts"),
  sockets: () => import("./Sockets.ts"),
  page: () => import("./Page.ts")
}

const USAGE = `Usage: npx --yes pnpm@12 bench [NAME …] [--beside DIR] [--rounds N]
There are: ${Object.keys(all).join(", ")}.`

const given = () => {
  try {
    const options = { beside: { type: "string" }, rounds: { type: "string" }, help: { type: "boolean" } } as const
    return parseArgs({ allowPositionals: true, options })
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
const read = given()
if (typeof read === "string" || read.positionals.some((name) => !(name in all))) {
  const wrong =
    typeof read === "string" ? read : `No benchmark ${read.positionals.filter((name) => !(name in all)).join(", ")}.`
  console.error(`${wrong}\n${USAGE}`)
  process.exit(2)
}
const { positionals, values } = read
if (values.help === true) {
  console.log(USAGE)
  process.exit(0)
}
// Benchmarks read their options from the environment, so that one can be set without the other.
if (values.beside !== undefined) process.env["HOLDFAST_BENCH_BESIDE"] = values.beside
if (values.rounds !== undefined) process.env["HOLDFAST_BENCH_ROUNDS"] = values.rounds

console.log(`${os.cpus()[0]?.model ?? "?"}, ${os.availableParallelism()} cores, Node ${process.version}`)
for (const [name, load] of Object.entries(all)) {
  if (positionals.length === 0 || positionals.includes(name)) await (await load()).run()
}
