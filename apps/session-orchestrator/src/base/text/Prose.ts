/**
 * Makes text from outside safe for a terminal, a log and a notice.
 *
 * A provider's error page, a model's answer or a tool's name must not move the cursor, change colours, set a title, or change the
 * order in which a line is read (U+202E and the other bidirectional controls).
 *
 * `plain`, `oneLine`, `wrap` and `harmless` remove every such character; `inJson` escapes them, so the value stays the same. `onTerminal`
 * is the last filter before a terminal: of the control sequences it keeps colours and repainting only.
 */
import { Printable } from "@holdfast/wire"
import { CliOutput } from "effect/cli"
import { stripVTControlCharacters } from "node:util"

/** A streaming answer: line breaks and tabs stay, every other control character is removed. */
export const harmless = Printable.harmless

/** A complete text of several lines: escape sequences are removed as a whole, because `[31m` alone is no text either. */
export const plain = (text: string): string => harmless(stripVTControlCharacters(text))

/** A message on one line, its blanks collapsed. */
export const oneLine = (text: string): string => plain(text.replaceAll(SEPARATOR, "\n")).replaceAll(/\s+/g, " ").trim()

/** JSON of the same value, with an escape for every character that `harmless` would remove. */
export const inJson = (json: string): string =>
  json.replaceAll(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** Text for a terminal: text, colours, and the sequences that repaint a line. */
export const onTerminal = (text: string): string => text.replaceAll(OURS_OR_CONTROL, "$1")

/** The columns of a text in a terminal. ASCII, which is nearly all text, takes a column each; other text takes a hundred times as long to measure. */
export const widthOf = (text: string): number => (ASCII.test(text) ? text.length : CliOutput.displayWidth(text))

/**
 * Wraps a text into `most` lines at most, no wider than `width`, at blanks if possible. A text that does not fit ends in `…`.
 *
 * **Gotchas**
 *
 * Counts columns as terminals do: some characters take two.
 */
export const wrap = (text: string, width: number, most: number): ReadonlyArray<string> => {
  const room = Math.max(width, 2)
  const lines: Array<string> = []
  let line = ""
  for (const word of oneLine(text)
    .split(" ")
    .flatMap((word) => pieces(word, room))) {
    const longer = line === "" ? word : `${line} ${word}`
    if (widthOf(longer) <= room) {
      line = longer
      continue
    }
    if (lines.length === most - 1) return [...lines, clip(longer, room)]
    lines.push(line)
    line = word
  }
  return line === "" ? lines : [...lines, line]
}

/** The beginning of a text that fits into `width` columns, with `…` if it was cut. */
export const clip = (text: string, width: number): string => {
  if (widthOf(text) <= width) return text
  let kept = ""
  let used = 0
  for (const { segment } of segmenter.segment(text)) {
    used += widthOf(segment)
    if (used > width - 1) break
    kept += segment
  }
  return `${kept.trimEnd()}…`
}

/** A message on one line behind its code, unless the message has the code as a word of its own: `connect ECONNREFUSED 127.0.0.1:9`. */
export const coded = (code: string | undefined, message: string): string => {
  const text = oneLine(message)
  return code === undefined || text.startsWith(code) || text.split(/[^\w-]+/).includes(code)
    ? text
    : `${oneLine(code)} ${text}`
}

/** Text as HTML or SVG has it, in an attribute too. */
export const markup = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)

// --- internal

const CONTROL = new RegExp(Printable.CONTROLS, "gu")

/** The sequences of Holdfast: colours, cursor up, erase a line or everything below, return to the beginning of the line. */
const OURS_OR_CONTROL = new RegExp(
  String.raw`(\u001b\[[\d;]*m|\u001b\[\d*A|\u001b\[[JK]|\r)|${Printable.CONTROLS}`,
  "gu"
)

/** These end a line, as a line feed does. */
const SEPARATOR = /[\u2028\u2029]/g

/** The printable characters of ASCII. */
const ASCII = /^[ -~]*$/

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** Splits a word that is wider than a line. */
const pieces = (word: string, width: number): ReadonlyArray<string> => {
  if (widthOf(word) <= width) return [word]
  const parts: Array<string> = []
  let part = ""
  for (const { segment } of segmenter.segment(word)) {
    if (part !== "" && widthOf(part + segment) > width) {
      parts.push(part)
      part = ""
    }
    part += segment
  }
  return part === "" ? parts : [...parts, part]
}
