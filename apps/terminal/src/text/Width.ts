/**
 * Counts the columns of a text in a terminal: never fewer than a terminal takes.
 *
 * Terminals disagree about joined emoji and about some marks. A line that is wider than it was counted would wrap by itself, and what is
 * painted below it would shift. So each code point counts by itself.
 */
import { eastAsianWidth } from "get-east-asian-width"

/** The columns of a text. ASCII, which is nearly all text, takes one each. */
export const of = (text: string): number => {
  if (ASCII.test(text)) return text.length
  let width = 0
  for (const character of text) width += ofCharacter(character)
  return width
}

/** The characters of a text that stay together, such as a letter with its marks: eight columns at most, because a model can join emoji without end. */
export const clusters = (text: string): ReadonlyArray<string> =>
  ASCII.test(text)
    ? text.split("")
    : Array.from(segmenter.segment(text)).flatMap(({ segment }) =>
        of(segment) <= WIDEST ? [segment] : Array.from(segment)
      )

/** The text in rows no wider than a room; a cluster that is wider has a row of its own. */
export const rows = (text: string, room: number): ReadonlyArray<string> => {
  if (of(text) <= room) return [text]
  const full: Array<string> = []
  let row = ""
  let used = 0
  for (const cluster of clusters(text)) {
    const wide = of(cluster)
    if (used > 0 && used + wide > room) {
      full.push(row)
      row = ""
      used = 0
    }
    row += cluster
    used += wide
  }
  return [...full, row]
}

/** The beginning of a text, as far as it fits a room. */
export const beginning = (text: string, room: number): string => {
  let kept = ""
  let used = 0
  for (const cluster of clusters(text)) {
    used += of(cluster)
    if (used > room) break
    kept += cluster
  }
  return kept
}

// --- internal

const ASCII = /^[ -~]*$/

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** A family of four. */
const WIDEST = 8

const ofCharacter = (character: string): number => {
  // The emoji variant of a narrow character: one column in some terminals and two in others.
  if (character === "\ufe0f") return 1
  return ZERO.test(character) ? 0 : eastAsianWidth(character.codePointAt(0) ?? 0)
}

/** Marks that a terminal writes onto the character before them, and invisible characters. */
const ZERO = /^[\p{Mn}\p{Me}\u200b-\u200d\u2060\ufeff]$/u
