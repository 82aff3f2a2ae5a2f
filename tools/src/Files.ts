/** Finds the sources and pages that the checks and the survey read. */
import { globSync, readFileSync } from "node:fs"

export interface File {
  /** From the root of the repository, with `/`. */
  readonly path: string
  readonly text: string
}

/** What the program and its embedders run. */
export const SOURCES = ["{packages,apps}/*/{src,testing}/**/*.{ts,tsx}"]

/** Every source with comments of ours. */
export const ALL_SOURCES = [
  "{packages,apps}/*/{src,test,testing,tools}/**/*.{ts,tsx}",
  "{tools,bench,examples,simulate}/{src,test}/**/*.ts"
]

/** Pages that a person writes. */
export const PAGES = ["*.md", "docs/**/*.md", "{packages,apps}/*/*.md", "{tools,bench,examples,simulate}/*.md"]

/** Pages that programs write. */
const generated = new Set(["docs/profiles.md", "docs/crowd.md"])

/** The files below `root` that match, by path. */
export const read = (root: string, patterns: ReadonlyArray<string>): ReadonlyArray<File> =>
  globSync(patterns, { cwd: root, exclude: (path) => path.endsWith("node_modules") })
    .filter((path) => !generated.has(path))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(`${root}/${path}`, "utf8") }))
