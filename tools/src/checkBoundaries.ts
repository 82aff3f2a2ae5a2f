/** Fails the build where a source crosses a boundary of `Boundaries.ts`. */
import { globSync, readFileSync } from "node:fs"
import * as Boundaries from "./Boundaries.ts"

const root = new URL("../../", import.meta.url).pathname
const sources = globSync("{packages,apps}/*/src/**/*.{ts,tsx}", { cwd: root }).map((path) => ({
  path,
  text: readFileSync(root + path, "utf8")
}))
const found = [
  ...sources.flatMap(Boundaries.violations),
  ...Boundaries.circles(sources).map((ring) => `${ring.join(", ")}: import each other in a circle`),
  ...Boundaries.floors(sources)
    .slice(Boundaries.MOST_FLOORS)
    .map(
      (floor) =>
        `${floor.join(", ")}: above floor ${Boundaries.MOST_FLOORS}. Import from a lower room (tools/src/Boundaries.ts)`
    )
]
for (const violation of found) console.error(violation)
process.exitCode = found.length === 0 ? 0 : 1
