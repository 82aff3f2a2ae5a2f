/**
 * Fails the build where `docs/rules.md` is out of date, or a rule has no proof. With `--write` it writes the page; with
 * `--print` it prints each rule with its tests, or those of the ids that follow.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { chapters } from "./RuleBook.ts"
import * as RulesPage from "./RulesPage.ts"

const root = new URL("../../", import.meta.url).pathname
const page = `${root}docs/rules.md`

const titles = globSync("{tools,packages/*,apps/*}/{test,testing}/**/*.ts", { cwd: root })
  .filter((path) => path !== "tools/test/RulesPage.test.ts")
  .sort()
  .flatMap((path) => RulesPage.titlesOf({ path, text: readFileSync(root + path, "utf8") }))
const problems = [...RulesPage.problems(chapters, titles)]
const text = RulesPage.page(chapters)

if (process.argv[2] === "--print") process.stdout.write(RulesPage.withTests(chapters, titles, process.argv.slice(3)))
else if (process.argv.includes("--write")) writeFileSync(page, text)
else if (readFileSync(page, "utf8") !== text) problems.push("docs/rules.md is out of date: run `pnpm fix`.")
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
