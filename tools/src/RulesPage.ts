/**
 * The rules with the tests that name each, which `pnpm rules` prints.
 *
 * R1. A title names rules by beginning with `rule` and their ids: `rule D4: ...`, `rule P6, P11: ...`. Codes without
 *     `rule` are a file's own.
 * R2. A title is the first argument of a call, or a `title` in a table of tests. A skipped test proves nothing.
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
  return [
    ...titles.flatMap(({ path, ids, text }) =>
      ids.filter((id) => !known.has(id)).map((id) => `${path}: "${text}" names ${id}, and there is no such rule.`)
    ),
    ...rules
      .filter((rule) => isClaimed(rule) && testsOf(rule, titles).length === 0)
      .map(({ id }) => `${id} is claimed, and no test names it.`)
  ]
}

/** Each rule with the files and titles that name it, for a terminal; only those with an id of `ids`, if there are any. */
export const withTests = (
  chapters: ReadonlyArray<Chapter>,
  titles: ReadonlyArray<Title>,
  ids: ReadonlyArray<string>
): string =>
  chapters
    .flatMap(({ rules }) => rules.filter(({ id }) => ids.length === 0 || ids.includes(id)))
    .map((rule) => `${entryOf(rule, testsOf(rule, titles))}\n`)
    .join("\n")

// --- internal

/** R2: a call's first argument or a `title`, then `rule`, ids, a colon and the rest of the string. */
const TITLE =
  /(?:(?<!\.(?:skip|todo))\(|\btitle:)\s*(["'`])rules? ([A-Z][0-9]+(?:, ?[A-Z][0-9]+)*): ((?:\\.|(?!\1)[^\\])*)\1/g

const isClaimed = ({ claimed }: Rule): boolean => claimed !== false

const testsOf = ({ id }: Rule, titles: ReadonlyArray<Title>): ReadonlyArray<Title> =>
  titles.filter(({ ids }) => ids.includes(id))

const entryOf = (rule: Rule, tests: ReadonlyArray<Title>): string => {
  const standing = isClaimed(rule) ? "" : tests.length === 0 ? " Not claimed." : " Not claimed; in part:"
  const files = Map.groupBy(tests, ({ path }) => path)
  const lines = Array.from(files, ([path, tests]) =>
    [`  ${path}`, ...unique(tests.map(({ text }) => `    ${text}`))].join("\n")
  )
  return [`${rule.id} ${rule.says}${standing}`, ...lines].join("\n")
}

const unique = (lines: ReadonlyArray<string>): ReadonlyArray<string> => Array.from(new Set(lines))
