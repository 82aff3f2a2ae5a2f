/**
 * Fails the build where an exported name or a module's name has a word that docs/GLOSSARY.md avoids, or an export has no doc comment, beyond the records in
 * `tools/names.json` and `tools/undocumented.json`. The records may only fall: `--write` lowers them.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { basename } from "node:path"
import * as AvoidedNames from "./AvoidedNames.ts"
import * as Files from "./Files.ts"
import * as Ratchet from "./Ratchet.ts"
import { exportsOf } from "./survey/Exports.ts"
import { packageOf } from "./survey/Measures.ts"
import { parse } from "./survey/Source.ts"

const root = new URL("../../", import.meta.url).pathname

const files = Files.read(root, Files.SOURCES)
const exports = files.flatMap((file) => exportsOf(parse(file)))
/** Modules are imported whole, so a file's name is a name as well. */
const named = [
  ...exports.map(({ line, name, path }) => ({ name, place: `${path}:${line}` })),
  ...files.map(({ path }) => ({ name: basename(path).replace(/\.tsx?$/, ""), place: path }))
]

/** The problems of one record, which `--write` lowers. */
const held = (
  record: string,
  counts: Ratchet.Counts,
  sentence: (name: string, count: number, most: number) => string
): ReadonlyArray<string> => {
  const path = `${root}tools/${record}`
  const recorded: Ratchet.Recorded = JSON.parse(readFileSync(path, "utf8"))
  if (process.argv.includes("--write"))
    writeFileSync(path, `${JSON.stringify(Ratchet.lowered(counts, recorded), null, 2)}\n`)
  return Ratchet.problems(counts, recorded, sentence)
}

const avoided = AvoidedNames.avoidedIn(readFileSync(`${root}docs/GLOSSARY.md`, "utf8"))
const found = AvoidedNames.countsOf(
  named.map(({ name }) => name),
  avoided
)
const missing = Map.groupBy(
  exports.filter(({ isDocumented }) => !isDocumented),
  ({ path }) => packageOf(path)
)

const problems = [
  ...held("names.json", new Map(Array.from(found, ([name, { count }]) => [name, count])), (name) => {
    const by = found.get(name)?.by
    const places = named.filter((one) => one.name === name).map(({ place }) => place)
    return `${places.join(", ")}: ${name} has the word "${by?.word}", which docs/GLOSSARY.md avoids for "${by?.term}". Rename it.`
  }),
  ...held(
    "undocumented.json",
    new Map(Array.from(missing, ([name, { length }]) => [name, length])),
    (name, count, most) => {
      const places = (missing.get(name) ?? []).map((one) => `  ${one.path}:${one.line} ${one.name}`)
      return [`${name} has ${count} exports without a doc comment, and the record allows ${most}:`, ...places].join(
        "\n"
      )
    }
  )
]
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
