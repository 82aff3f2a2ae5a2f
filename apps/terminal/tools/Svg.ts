/** A picture of a headless terminal's cells: light, and readable as text. */
import type { IBufferCell, Terminal } from "@xterm/headless"

/** The screen of a terminal as SVG, from a row on; `alt` describes it for people who do not see it. */
export const of = (terminal: Terminal, alt: string, from: number): string => {
  const { active } = terminal.buffer
  const rows = Array.from({ length: terminal.rows - from }, (_, row) => spansOf(terminal, active.baseY + from + row))
  const used = rows.findLastIndex((spans) => spans.length > 0) + 1
  const width = Math.ceil(terminal.cols * COLUMN + 2 * MARGIN)
  const height = used * ROW + 2 * MARGIN
  const cursor = `<rect x="${rounded(MARGIN + active.cursorX * COLUMN)}" y="${MARGIN + (active.cursorY - from) * ROW + 3}" width="${COLUMN}" height="${ROW - 4}" fill="#bcc4cf"/>`
  const lines = rows.slice(0, used).flatMap((spans, row) =>
    spans.map(({ column, columns, style, text }) => {
      const y = MARGIN + row * ROW + ROW - 6
      return `<text x="${rounded(MARGIN + column * COLUMN)}" y="${y}" textLength="${rounded(columns * COLUMN)}" lengthAdjust="spacingAndGlyphs"${style}>${escaped(text)}</text>`
    })
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(alt)}">`,
    `<rect width="${width}" height="${height}" rx="8" fill="#fbfbfa" stroke="#d8dbe0"/>`,
    cursor,
    `<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14" fill="#24292f">`,
    ...lines,
    "</g>",
    "</svg>",
    ""
  ].join("\n")
}

// --- internal

const COLUMN = 8.4
const ROW = 20
const MARGIN = 14

/** Dark enough on a light ground, by the number in a terminal's palette. */
const COLORS: { readonly [color: number]: string } = {
  1: "#b3261e",
  2: "#1a7f37",
  3: "#8a5a00",
  4: "#0550ae",
  5: "#8250df",
  6: "#0a6c74"
}

/** Cells of one style, without the blanks around them. */
interface Span {
  readonly column: number
  readonly columns: number
  readonly style: string
  readonly text: string
}

const spansOf = (terminal: Terminal, row: number): ReadonlyArray<Span> => {
  const line = terminal.buffer.active.getLine(row)
  const spans: Array<Span> = []
  for (let column = 0; column < terminal.cols; column++) {
    const cell = line?.getCell(column)
    if (cell === undefined || cell.getWidth() === 0) continue
    const style = styleOf(cell)
    const text = cell.getChars() || " "
    const last = spans.at(-1)
    if (last?.style === style)
      spans[spans.length - 1] = { ...last, columns: last.columns + cell.getWidth(), text: last.text + text }
    else spans.push({ column, columns: cell.getWidth(), style, text })
  }
  return spans.flatMap(({ column, style, text }) => {
    const bare = text.trim()
    const before = text.length - text.trimStart().length
    return bare === "" ? [] : [{ column: column + before, columns: bare.length, style, text: bare }]
  })
}

const styleOf = (cell: IBufferCell): string => {
  const color = cell.isFgPalette() ? COLORS[cell.getFgColor()] : undefined
  const fill = color ?? (cell.isDim() ? "#6b7280" : undefined)
  return `${fill === undefined ? "" : ` fill="${fill}"`}${cell.isBold() ? ' font-weight="bold"' : ""}`
}

const rounded = (number: number): number => Math.round(number * 10) / 10

const escaped = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll(" ", "\u00a0")
