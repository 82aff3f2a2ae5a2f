/**
 * Text from outside, made fit for a terminal, a log and a notice.
 *
 * A provider's error page, a model's answer or a tool's name must not move the cursor, change colours, set a title, or change the
 * order in which a line is read (U+202E and the other bidirectional controls).
 *
 * X1. `plain`, `oneLine`, `wrap` and `harmless` leave no such character; `inJson` escapes them, so the value stays the same.
 * X2. `onTerminal` is the last filter, in front of a terminal: of what the others have not seen it leaves colours alone.
 */
import { CliOutput } from "effect/cli"
import { stripVTControlCharacters } from "node:util"

/** An answer as it streams: line breaks and tabs stay, every other control character goes. */
export const harmless = (text: string): string => text.replaceAll(CONTROL, "")

/** A text of several lines, whole: escape sequences go as a whole, as `[31m` is no text either. */
export const plain = (text: string): string => harmless(stripVTControlCharacters(text))

/** A message on one line, its blanks collapsed. */
export const oneLine = (text: string): string => plain(text.replaceAll(SEPARATOR, "\n")).replaceAll(/\s+/g, " ").trim()

/** JSON of the same value, with an escape for every character that `harmless` would take away. */
export const inJson = (json: string): string =>
  json.replaceAll(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** What a terminal may get: text, colours, and what repaints a line. */
export const onTerminal = (text: string): string => text.replaceAll(OURS_OR_CONTROL, "$1")

/** The columns that a text takes in a terminal. Nearly all text is ASCII, a column each; looking closer takes a hundred times as long. */
export const widthOf = (text: string): number => (ASCII.test(text) ? text.length : CliOutput.displayWidth(text))

/**
 * Lines no wider than `width`, broken at blanks where there are any, `most` of them at most; what does not fit ends in `…`.
 *
 * **Gotchas**
 *
 * Counts columns as terminals do, where some characters take two.
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

/** The beginning of a text that fits, with `…` where something was left out. */
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

// --- internal

/**
 * Tab and line feed apart, the control characters of ASCII and of Latin-1 (ECMA-48 has a CSI at 0x9b), the separators of lines and
 * paragraphs, and the controls of the order of text. All of them are one unit of UTF-16.
 */
const CONTROLS = String.raw`[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\p{Bidi_Control}]`
const CONTROL = new RegExp(CONTROLS, "gu")

/** Colours, up some lines, erase a line or all below; back to the beginning of the line. */
const OURS_OR_CONTROL = new RegExp(String.raw`(\u001b\[[\d;]*m|\u001b\[\d*A|\u001b\[[JK]|\r)|${CONTROLS}`, "gu")

/** They end a line as a line feed does. */
const SEPARATOR = /[\u2028\u2029]/g

/** What is printed of ASCII. */
const ASCII = /^[ -~]*$/

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** A word that no line can hold, in pieces that it can. */
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
