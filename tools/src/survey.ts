/**
 * Prints the measures of this checkout, of other folders and of commits side by side.
 *
 * ```
 * node tools/src/survey.ts                              this checkout
 * node tools/src/survey.ts --at bb06790 --at main .     two commits, then this checkout
 * node tools/src/survey.ts --list "casts"               the places of every measure with this text in its name
 * ```
 */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join, resolve } from "node:path"
import { parseArgs } from "node:util"
import * as Files from "./Files.ts"
import * as PlainEnglish from "./PlainEnglish.ts"
import * as Measures from "./survey/Measures.ts"

const here = new URL("../../", import.meta.url).pathname

const treeOf = (root: string): Measures.Tree => {
  const proses = [
    ...Files.read(root, Files.ALL_SOURCES).map(({ path, text }) => PlainEnglish.proseOfSource(path, text)),
    ...Files.read(root, Files.PAGES).map(({ text }) => PlainEnglish.proseOfPage(text))
  ]
  return {
    sources: Files.read(root, Files.SOURCES).map(Measures.readingOf),
    english: proses.map(PlainEnglish.countOf).reduce(PlainEnglish.add, PlainEnglish.none)
  }
}

/** The files of a commit, in a folder that is removed afterwards. */
const atCommit = (commit: string): Measures.Tree => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-survey-"))
  try {
    const archive = join(folder, "archive.tar")
    execFileSync("git", ["archive", "--format=tar", "-o", archive, commit], { cwd: here })
    execFileSync("tar", ["-xf", archive, "-C", folder])
    return treeOf(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const { positionals, values } = parseArgs({
  options: { at: { type: "string", multiple: true }, list: { type: "string" } },
  allowPositionals: true
})
const commits = values.at ?? []
const folders = positionals.length > 0 || commits.length > 0 ? positionals : [here]
const columns = [
  ...commits.map((commit) => ({ title: commit, tree: atCommit(commit) })),
  ...folders.map((folder) => ({ title: basename(resolve(folder)), tree: treeOf(resolve(folder)) }))
].map(({ title, tree }) => ({ title, measures: Measures.measuresOf(tree) }))

if (values.list === undefined) console.log(Measures.tableOf(columns))
else
  for (const { measures, title } of columns)
    for (const { name, places, value } of measures.filter(({ name }) => name.includes(values.list ?? "")))
      console.log([`${title}, ${name}: ${value}`, ...places.map((place) => `  ${place}`)].join("\n"))
