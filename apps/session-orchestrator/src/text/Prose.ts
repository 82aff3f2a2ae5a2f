/**
 * Text from elsewhere, made fit for a terminal.
 *
 * A provider's error page or a model's answer must not move the cursor, change colours, or set a title.
 */
import { CliOutput } from "effect/cli"
import { stripVTControlCharacters } from "node:util"

/** An answer as it streams: line breaks and tabs stay, every other control character goes. */
export const harmless = (text: string): string => text.replaceAll(CONTROL, "")

/** A message on one line, its blanks collapsed. */
export const oneLine = (text: string): string => harmless(stripVTControlCharacters(text)).replaceAll(/\s+/g, " ").trim()

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

/** Tab and line feed apart, the control characters of ASCII and of Latin-1 (ECMA-48 has a CSI at 0x9b). */
// oxlint-disable-next-line no-control-regex -- they are what is looked for.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

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
