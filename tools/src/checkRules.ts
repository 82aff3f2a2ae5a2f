/** Fails the build where a rule has no proof. With `--print` it prints each rule with its tests, or those of the ids that follow. */
import { globSync, readFileSync } from "node:fs"
import { chapters } from "./RuleBook.ts"
import * as RulesPage from "./RulesPage.ts"

const root = new URL("../../", import.meta.url).pathname

const titles = globSync("{tools,packages/*,apps/*}/{test,testing}/**/*.ts", { cwd: root })
  .filter((path) => path !== "tools/test/RulesPage.test.ts")
  .sort()
  .flatMap((path) => RulesPage.titlesOf({ path, text: readFileSync(root + path, "utf8") }))
const problems = RulesPage.problems(chapters, titles)

if (process.argv[2] === "--print") process.stdout.write(RulesPage.withTests(chapters, titles, process.argv.slice(3)))
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
