/**
 * Finds the files that a page names, and reports those that do not exist. Pure: the caller knows which files there are.
 *
 * NamedPaths.P1. Named are: a code span with a file's ending or a folder of this repository in it, the same inside a code block, and the
 *     target of a relative link. In a column with the title "Where" every code span is a path.
 * NamedPaths.P2. A path may start at the root, at the page, or at the page's `src`; at a package (`kernel/Turn.ts`); or at a folder of the
 *     service (`storage/Store.ts`). The ending `.ts` may be left out in a column "Where".
 * NamedPaths.P3. `*` stands for any name.
 */
import { posix } from "node:path"

/** A page of Markdown. */
export interface Page {
  /** From the root of the repository, with `/`. */
  readonly path: string
  readonly text: string
}

/** The paths that a page names, each once, in its order (P1). */
export const namesIn = ({ text }: Page): ReadonlyArray<string> => {
  const { blocks, prose } = taken(text)
  const links = Array.from(prose.matchAll(/\]\(([^)\s]+)\)/g), ([, target = ""]) => target)
    .filter((target) => !/^(?:[a-z]+:|#|\/)/i.test(target))
    .map((target) => target.replace(/#.*$/, ""))
  const spans = spansIn(prose).filter(isPath)
  const inBlocks = blocks.flatMap((block) => Array.from(block.matchAll(FROM_ROOT), ([path]) => path))
  return Array.from(new Set([...links, ...spans, ...inBlocks, ...whereIn(prose)].map(withoutSlash)))
}

/** What is wrong, one sentence each. `exists` knows files and folders, from the root of the repository. */
export const problems = (page: Page, exists: (pattern: string) => boolean): ReadonlyArray<string> =>
  namesIn(page)
    .filter((name) => !candidates(page.path, name).some(exists))
    .map((name) => `${page.path} names ${name}, which does not exist. Name the file that has its content now.`)

/** Where a named path may be (P2). */
export const candidates = (page: string, name: string): ReadonlyArray<string> => {
  const [first = "", ...rest] = name.split("/")
  const below = rest.join("/")
  const folder = posix.dirname(page)
  const inPackage = ["packages", "apps"].flatMap((kind) => [
    `${kind}/${first}/src/${below}`,
    `${kind}/${first}/${below}`
  ])
  return [
    posix.join(folder, name),
    posix.join(folder, "src", name),
    name,
    ...(below === "" ? [] : inPackage),
    `apps/session-orchestrator/src/${name}`
  ].flatMap((path) => [withoutSlash(path), `${path}.ts`])
}

// --- internal

/** Endings of files that pages name. */
const ENDING = /\.(?:ts|js|json|md|sql|svg|yml|yaml|sh)$/

const FROM_ROOT = /(?<![\w/@.-])(?:packages|apps|tools|docs|bench|examples|simulate|\.ci)\/[\w./*-]*[\w*]/g

/** Files that a user of Holdfast has, and this repository has not. */
const usersFiles = new Set(["holdfast.config.json"])

const isPath = (span: string): boolean =>
  /^[\w*][\w./*@-]*$|^\.[\w-]+\/[\w./*-]+$/.test(span) &&
  !span.startsWith("@") &&
  !usersFiles.has(span) &&
  (ENDING.test(span) || /^(?:packages|apps|tools|docs|bench|examples|simulate|\.ci)\//.test(span))

const spansIn = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(/`([^`\n]+)`/g), ([, span = ""]) => span)

/** The code spans of columns with the title "Where". */
const whereIn = (text: string): ReadonlyArray<string> => {
  let column = -1
  return text.split("\n").flatMap((line) => {
    if (!line.startsWith("|")) {
      column = -1
      return []
    }
    const cells = line.split("|").map((cell) => cell.trim())
    const title = cells.indexOf("Where")
    if (title > 0) column = title
    return title > 0 || column < 0 ? [] : spansIn(cells[column] ?? "")
  })
}

/** Code blocks apart from the rest. */
const taken = (text: string): { readonly blocks: ReadonlyArray<string>; readonly prose: string } => {
  const blocks: Array<string> = []
  const prose = text.replaceAll(/^[ \t]*```[^\n]*\n([\s\S]*?)^[ \t]*```[ \t]*$/gm, (_, block: string) => {
    blocks.push(block)
    return ""
  })
  return { blocks, prose }
}

const withoutSlash = (path: string): string => path.replace(/\/$/, "")
