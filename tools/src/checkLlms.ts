/** Fails the build where llms.txt is out of date; with `--write` it writes the file. */
import { globSync, readFileSync, writeFileSync } from "node:fs"
import * as LlmsText from "./LlmsText.ts"

const root = new URL("../../", import.meta.url).pathname
const read = (path: string): string => readFileSync(root + path, "utf8")
const pages = (pattern: string) =>
  globSync(pattern, { cwd: root })
    .toSorted()
    .map((path) => ({ path, text: read(path) }))

const chapters = Object.entries(LlmsText.CHAPTERS).map(([name, pattern]) => [name, pages(pattern)])
const text = LlmsText.make(read("README.md"), Object.fromEntries(chapters))
if (process.argv.includes("--write")) writeFileSync(`${root}llms.txt`, text)
else if (read("llms.txt") !== text) {
  console.error("llms.txt is out of date: run `pnpm fix`.")
  process.exitCode = 1
}
