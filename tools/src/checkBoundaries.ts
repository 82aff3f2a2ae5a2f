/** Fails the build where a source crosses a boundary of `Boundaries.ts`. */
import { globSync, readFileSync } from "node:fs"
import * as Boundaries from "./Boundaries.ts"

const root = new URL("../../", import.meta.url).pathname
const found = globSync("{packages,apps}/*/src/**/*.{ts,tsx}", { cwd: root }).flatMap((path) =>
  Boundaries.violations({ path, text: readFileSync(root + path, "utf8") })
)
for (const violation of found) console.error(violation)
process.exitCode = found.length === 0 ? 0 : 1
