/**
 * Counts idioms that slow a reader down, per 1,000 words of comments and pages. Pure.
 *
 * PlainEnglish.E1. Code is not prose: code blocks, code spans and link addresses are left out.
 * PlainEnglish.E2. A word list cannot know a sentence's subject, so "says" counts for a person too. The figure is a gauge, not a verdict.
 * PlainEnglish.E3. The recorded figure of a part may only fall. It is rounded up, so deleting a few plain words breaks nothing.
 */
import { parseSync } from "oxc-parser"

/** An idiom that is counted. */
export interface Idiom {
  readonly name: string
  readonly pattern: RegExp
}

/** What is counted. Subjects without a name, and verbs of speech, which software does not have. */
export const idioms: ReadonlyArray<Idiom> = [
  { name: "whoever", pattern: /\bwhoever\b/gi },
  { name: "those who", pattern: /\bthose\s+who\b/gi },
  { name: "one that", pattern: /\bones?\s+that\b/gi },
  { name: "nobody", pattern: /\bnobody\b/gi },
  { name: "somebody", pattern: /\bsomebody\b/gi },
  { name: "anybody", pattern: /\banybody\b/gi },
  { name: "tell", pattern: /\b(?:tells?|telling|told)\b/gi },
  { name: "hear", pattern: /\b(?:hears?|hearing|heard)\b/gi },
  { name: "say", pattern: /\b(?:says?|saying|said)\b/gi }
]

/** Words and idioms of a text. */
export interface Count {
  readonly words: number
  /** By name of the idiom; those that do not occur are absent. */
  readonly hits: { readonly [idiom: string]: number }
}

/** The count of an empty text. */
export const none: Count = { words: 0, hits: {} }

/** Counts words and idioms of a text without code. */
export const countOf = (prose: string): Count => ({
  words: prose.match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu)?.length ?? 0,
  hits: Object.fromEntries(
    idioms.flatMap(({ name, pattern }) => {
      const found = prose.match(pattern)?.length ?? 0
      return found === 0 ? [] : [[name, found]]
    })
  )
})

/** The comments of a TypeScript file, without the code in them. */
export const proseOfSource = (path: string, text: string): string =>
  withoutCode(
    parseSync(path, text)
      .comments.filter(({ value }) => !isDirective.test(value))
      .map(({ value }) => value.replaceAll(/^[ \t]*\*[ \t]?/gm, ""))
      .join("\n\n")
  )

/** The text of a Markdown page, without the code in it. */
export const proseOfPage = (text: string): string => withoutCode(text)

/** Adds two counts. */
export const add = (left: Count, right: Count): Count => {
  const hits = { ...left.hits }
  for (const [name, count] of Object.entries(right.hits)) hits[name] = (hits[name] ?? 0) + count
  return { words: left.words + right.words, hits }
}

/** Idioms per 1,000 words, rounded up to a tenth (PlainEnglish.E3). */
export const rateOf = ({ hits, words }: Count): number => {
  const total = Object.values(hits).reduce((sum, count) => sum + count, 0)
  return words === 0 ? 0 : Math.ceil((total * 10_000) / words) / 10
}

/** One line a part: its rate, its words, and which idioms there are. */
export const lineOf = (part: string, count: Count): string => {
  const hits = Object.entries(count.hits)
    .toSorted(([, left], [, right]) => right - left)
    .map(([name, hits]) => `${name} ${hits}`)
  return `${part}: ${rateOf(count).toFixed(1)} per 1,000 of ${count.words} words${hits.length === 0 ? "" : ` (${hits.join(", ")})`}`
}

/** What is wrong, one sentence each (PlainEnglish.E3). */
export const problems = (
  counts: ReadonlyMap<string, Count>,
  recorded: { readonly [part: string]: number }
): ReadonlyArray<string> => [
  ...Array.from(counts).flatMap(([part, count]) => {
    const most = recorded[part] ?? 0
    if (rateOf(count) <= most) return []
    return [`${lineOf(part, count)}, and the record allows ${most.toFixed(1)}. Name the subject and use a plain verb.`]
  }),
  ...Object.keys(recorded)
    .filter((part) => !counts.has(part))
    .map((part) => `${part} is recorded and does not exist: remove its line.`)
]

/** The record with every figure that has fallen; a part without a figure gets its own. */
export const lowered = (
  counts: ReadonlyMap<string, Count>,
  recorded: { readonly [part: string]: number }
): { readonly [part: string]: number } =>
  Object.fromEntries(
    Array.from(counts, ([part, count]) => [part, Math.min(rateOf(count), recorded[part] ?? Number.POSITIVE_INFINITY)])
  )

// --- internal

/** Comments that a tool reads. */
const isDirective = /^[/\s]*(?:#(?:end)?region|@ts-|oxlint-|eslint-)/

/** PlainEnglish.E1. */
const withoutCode = (text: string): string =>
  text
    .replaceAll(/^[ \t]*(`{3,}|~{3,})[^\n]*\n[\s\S]*?^[ \t]*\1[ \t]*$/gm, " ")
    .replaceAll(/`[^`\n]*`/g, " ")
    .replaceAll(/<!--[\s\S]*?-->/g, " ")
    .replaceAll(/\]\([^)\n]*\)/g, "] ")
    .replaceAll(/https?:\/\/\S+/g, " ")
