/**
 * Lines of styled text, wrapped to a width. Pure.
 *
 * No wrapped line is wider than its width, of ten columns or more. Wrapping loses no character but the blank at which a line breaks.
 */
import * as Width from "./Width.ts"

/** How a piece of text looks. */
export interface Style {
  readonly color?: "yellow" | "red" | "green" | "cyan" | "magenta" | "blue"
  readonly bold?: boolean
  readonly dim?: boolean
  readonly italic?: boolean
  readonly underline?: boolean
  readonly inverse?: boolean
}

/** A piece of text in one style. */
export interface StyledText extends Style {
  readonly text: string
}

/** One row of a terminal. */
export type Line = ReadonlyArray<StyledText>

/** A line in one style. */
export const of = (text: string, style: Style = {}): Line => [{ ...style, text }]

/** The columns of a line. */
export const widthOf = (line: Line): number => line.reduce((sum, { text }) => sum + Width.of(text), 0)

/** The characters of a line. */
export const textOf = (line: Line): string => line.map(({ text }) => text).join("")

/** What stands before the first line, and before the following ones. */
interface Margin {
  readonly first?: Line
  readonly rest?: Line
}

/** Wraps at blanks where it is possible. A text without characters is one empty line. */
export const wrap = (spans: Line, width: number, margin: Margin = {}): ReadonlyArray<Line> => {
  const { first = [], rest = first } = margin
  const room = Math.max(1, width - Math.max(widthOf(first), widthOf(rest)))
  const lines: Array<Line> = []
  let line: Array<StyledText> = []
  let used = 0
  const end = (): void => {
    lines.push([...(lines.length === 0 ? first : rest), ...line])
    line = []
    used = 0
  }
  const put = (span: StyledText, columns: number): void => {
    const last = line.at(-1)
    if (last !== undefined && isSame(last, span)) line[line.length - 1] = { ...last, text: last.text + span.text }
    else line.push(span)
    used += columns
  }
  for (const { blank, columns, pieces } of wordsOf(spans)) {
    if (blank !== undefined) {
      const wide = Width.of(blank.text)
      if (used + wide + columns <= room) put(blank, wide)
      else if (used > 0 || lines.length > 0) {
        end()
      }
    }
    if (used + columns <= room) {
      for (const piece of pieces) put(piece, Width.of(piece.text))
      continue
    }
    if (used > 0 && columns <= room) end()
    for (const piece of pieces) {
      for (const cluster of Width.clusters(piece.text)) {
        const wide = Width.of(cluster)
        if (used > 0 && used + wide > room) end()
        put({ ...piece, text: cluster }, wide)
      }
    }
  }
  if (line.length > 0 || lines.length === 0) end()
  return lines
}

/** Splits at the width and nowhere else, for code, whose blanks count. */
export const cut = (text: string, style: Style, width: number, margin: Margin = {}): ReadonlyArray<Line> => {
  const { first = [], rest = first } = margin
  const room = Math.max(1, width - Math.max(widthOf(first), widthOf(rest)))
  return Width.rows(text, room).map((row, index) => [...(index === 0 ? first : rest), { ...style, text: row }])
}

/** The beginning of a text that fits, with `…` where it was cut. */
export const clip = (text: string, width: number): string =>
  Width.of(text) <= width ? text : `${Width.beginning(text, width - 1).trimEnd()}…`

// --- internal

/** Letters without a blank between them, in all their styles, and the blank before them. */
interface Word {
  readonly blank: StyledText | undefined
  readonly pieces: ReadonlyArray<StyledText>
  readonly columns: number
}

const wordsOf = (spans: Line): ReadonlyArray<Word> => {
  const words: Array<Word> = []
  let blank: StyledText | undefined
  let pieces: Array<StyledText> = []
  const end = (): void => {
    if (pieces.length === 0 && blank === undefined) return
    words.push({ blank, pieces, columns: pieces.reduce((sum, { text }) => sum + Width.of(text), 0) })
    blank = undefined
    pieces = []
  }
  for (const span of spans) {
    for (const text of span.text.split(/( +)/)) {
      if (text === "") continue
      if (!text.startsWith(" ")) pieces.push({ ...span, text })
      else {
        if (pieces.length > 0 || blank !== undefined) end()
        blank = { ...span, text }
      }
    }
  }
  end()
  return words
}

const isSame = (a: StyledText, b: StyledText): boolean =>
  a.color === b.color &&
  a.bold === b.bold &&
  a.dim === b.dim &&
  a.italic === b.italic &&
  a.underline === b.underline &&
  a.inverse === b.inverse
