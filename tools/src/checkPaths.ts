/** Fails the build where a page names a file that does not exist: the pages for engineers, and the READMEs. */
import { globSync, readFileSync } from "node:fs"
import * as NamedPaths from "./NamedPaths.ts"

const root = new URL("../../", import.meta.url).pathname
const pages = [
  "CONTRIBUTING.md",
  "docs/{ARCHITECTURE,GLOSSARY,troubleshooting,finding-your-way}.md",
  "{packages,apps}/*/README.md"
]

const exists = (pattern: string): boolean => !pattern.startsWith("..") && globSync(pattern, { cwd: root }).length > 0
const problems = globSync(pages, { cwd: root })
  .toSorted()
  .flatMap((path) => NamedPaths.problems({ path, text: readFileSync(root + path, "utf8") }, exists))
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
