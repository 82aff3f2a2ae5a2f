/**
 * Prints the size of each package, and fails the build where a figure is above `tools/size.json`, or where a header is too long.
 *
 * `--write` lowers the recorded figures to the present ones. A figure is raised by hand, with the reason in the commit.
 */
import { readFileSync, writeFileSync } from "node:fs"
import * as Files from "./Files.ts"
import * as Ratchet from "./Ratchet.ts"
import * as Size from "./Size.ts"

const root = new URL("../../", import.meta.url).pathname
const record = `${root}tools/size.json`

const counts = Size.countsOf(Files.read(root, ["{packages,apps}/*/src/**/*.{ts,tsx}"]))
const recorded: Ratchet.Recorded = JSON.parse(readFileSync(record, "utf8"))
if (process.argv.includes("--write"))
  writeFileSync(record, `${JSON.stringify(Ratchet.lowered(counts, recorded), null, 2)}\n`)

for (const [name, count] of counts) console.log(`${name} ${count}`)
const problems = Ratchet.problems(
  counts,
  recorded,
  (name, count, most) =>
    `${name}: ${count}, and tools/size.json allows ${most}. Delete as much as you add, or raise the figure by hand and give the reason in the commit.`
)
const headers = Size.longHeaders(
  Files.read(root, [
    "{packages,apps}/*/{src,testing,tools}/**/*.{ts,tsx}",
    "{tools,bench,examples,simulate,clients,runtimes}/src/**/*.ts"
  ])
)
for (const problem of [...problems, ...headers]) console.error(problem)
process.exitCode = problems.length + headers.length === 0 ? 0 : 1
