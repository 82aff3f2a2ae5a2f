/**
 * Prints the idioms of each part per 1,000 words, and fails the build where a figure is above `tools/english.json`.
 *
 * `--write` lowers the recorded figures to the present ones. `--files` prints each file that has idioms.
 */
import { readFileSync, writeFileSync } from "node:fs"
import * as Files from "./Files.ts"
import * as PlainEnglish from "./PlainEnglish.ts"

const root = new URL("../../", import.meta.url).pathname
const record = `${root}tools/english.json`

/** The package of a file; pages at the root and in `docs` are one part. */
const partOf = (path: string): string =>
  /^(?:packages|apps)\/[^/]+|^(?:tools|bench|examples|simulate)(?=\/)/.exec(path)?.[0] ?? "docs"

const counted = Files.read(root, [...Files.ALL_SOURCES, ...Files.PAGES]).map(({ path, text }) => {
  const prose = path.endsWith(".md") ? PlainEnglish.proseOfPage(text) : PlainEnglish.proseOfSource(path, text)
  return { path, count: PlainEnglish.countOf(prose) }
})
const counts = new Map<string, PlainEnglish.Count>()
for (const { count, path } of counted) {
  const part = partOf(path)
  counts.set(part, PlainEnglish.add(counts.get(part) ?? PlainEnglish.none, count))
}

const recorded: { readonly [part: string]: number } = JSON.parse(readFileSync(record, "utf8"))
const write = process.argv.includes("--write")
const after = write ? PlainEnglish.lowered(counts, recorded) : recorded
if (write) writeFileSync(record, `${JSON.stringify(after, null, 2)}\n`)

if (process.argv.includes("--files"))
  for (const { count, path } of counted)
    if (Object.keys(count.hits).length > 0) console.log(PlainEnglish.lineOf(path, count))
for (const [part, count] of counts) console.log(PlainEnglish.lineOf(part, count))
const total = Array.from(counts.values()).reduce(PlainEnglish.add, PlainEnglish.none)
console.log(PlainEnglish.lineOf("in all", total))
const problems = PlainEnglish.problems(counts, after)
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
