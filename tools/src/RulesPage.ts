/**
 * `docs/rules.md`: every rule, and the tests that name it.
 *
 * R1. A title names rules by beginning with their ids: `D4: ...`, `P6, P11: ...`. Ids of other letters are a file's own.
 * R2. A title is the first argument of a call, or a `title` in a table of tests. A skipped test proves nothing.
 * R3. The page follows from the rules and the titles alone; nothing that moves with every edit (a line's number) is on it.
 */
import type { Chapter, Rule } from "./RuleBook.ts"

/** A test file. */
export interface Source {
  /** From the root of the repository, with `/`. */
  readonly path: string
  readonly text: string
}

/** A test that names rules. */
export interface Title {
  readonly path: string
  readonly ids: ReadonlyArray<string>
  /** Without the ids; `…` for what a table of tests fills in. */
  readonly text: string
}

/** The titles in a file, in its order. */
export const titlesOf = ({ path, text }: Source): ReadonlyArray<Title> =>
  Array.from(text.matchAll(TITLE), ([, , ids = "", title = ""]) => ({
    path,
    ids: ids.split(/, ?/),
    text: title.replaceAll(/\$\{[^}]*\}|%[sijd#]/g, "…").replaceAll(/\\(.)/g, "$1")
  }))

/** What is wrong, one sentence each. */
export const problems = (chapters: ReadonlyArray<Chapter>, titles: ReadonlyArray<Title>): ReadonlyArray<string> => {
  const rules = chapters.flatMap((chapter) => chapter.rules)
  const known = new Set(rules.map(({ id }) => id))
  const letters = new Set(rules.map(({ id }) => id.charAt(0)))
  const isUnknown = (id: string) => letters.has(id.charAt(0)) && !known.has(id)
  return [
    ...titles.flatMap(({ path, ids, text }) =>
      ids.filter(isUnknown).map((id) => `${path}: "${text}" names ${id}, and there is no such rule.`)
    ),
    ...rules
      .filter((rule) => isClaimed(rule) && testsOf(rule, titles).length === 0)
      .map(({ id }) => `${id} is claimed, and no test names it.`)
  ]
}

/** The page as it stands in the repository. */
export const render = (chapters: ReadonlyArray<Chapter>, titles: ReadonlyArray<Title>): string =>
  `${[introduction(chapters), ...chapters.map((chapter) => chapterOf(chapter, titles))].join("\n\n")}\n`

// --- internal

/** R2: a call's first argument or a `title`, then ids, a colon and the rest of the string. */
const TITLE = /(?:(?<!\.(?:skip|todo))\(|\btitle:)\s*(["'`])([A-Z][0-9]+(?:, ?[A-Z][0-9]+)*): ((?:\\.|(?!\1)[^\\])*)\1/g

const isClaimed = ({ claimed }: Rule): boolean => claimed !== false

const testsOf = ({ id }: Rule, titles: ReadonlyArray<Title>): ReadonlyArray<Title> =>
  titles.filter(({ ids }) => ids.includes(id))

const introduction = (chapters: ReadonlyArray<Chapter>): string => {
  const rules = chapters.flatMap((chapter) => chapter.rules)
  const open = rules.filter((rule) => !isClaimed(rule)).map(({ id }) => id)
  return [
    "# Rules and their tests",
    "What Holdfast owes its users, by number, with the tests that prove it: a test names the rules it proves at the start of\n" +
      "its title, and the build fails when a rule that is claimed has none. Written by `pnpm fix` from `tools/src/RuleBook.ts` and\n" +
      "the titles; not to be edited.",
    `${rules.length - open.length} of ${rules.length} rules are claimed.${open.length === 0 ? "" : ` Not claimed: ${open.join(", ")}.`}`
  ].join("\n\n")
}

const chapterOf = ({ title, rules }: Chapter, titles: ReadonlyArray<Title>): string =>
  [`## ${title}`, ...rules.map((rule) => entryOf(rule, testsOf(rule, titles)))].join("\n\n")

const entryOf = (rule: Rule, tests: ReadonlyArray<Title>): string => {
  const standing = isClaimed(rule) ? "" : tests.length === 0 ? " *Not claimed.*" : " *Not claimed; in part:*"
  const files = Map.groupBy(tests, ({ path }) => path)
  const lines = Array.from(files, ([path, tests]) => {
    const name = path.split("/").at(-1) ?? path
    return [`- [${name}](../${path})`, ...unique(tests.map(({ text }) => `  - ${escaped(text)}`))].join("\n")
  })
  return [`**${rule.id}** ${rule.says}${standing}`, ...(lines.length === 0 ? [] : [lines.join("\n")])].join("\n\n")
}

const unique = (lines: ReadonlyArray<string>): ReadonlyArray<string> => Array.from(new Set(lines))

/** Titles are plain text; of Markdown they may use code spans. */
const escaped = (text: string): string => text.replaceAll(/[<>*_[\]]/g, "\\$&")
