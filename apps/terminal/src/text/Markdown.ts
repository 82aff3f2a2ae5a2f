/**
 * Lays Markdown out as lines of a terminal. Pure.
 *
 * Any text is valid. Text that ends in the middle of a mark is laid out up to there. The time is linear in the length of the text,
 * because a model chooses the text. Each line feed begins a new line: models mean it so, and nothing is joined that was apart.
 */
import * as Line from "./Line.ts"

/** The lines of a text, which must have passed `Foreign.shown`. */
export const lines = (text: string, width: number): ReadonlyArray<Line.Line> => {
  const rows = text.split("\n")
  const out: Array<Line.Line> = []
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] ?? ""
    const fence = row.length > MOST_MARKED ? null : FENCE.exec(row)
    if (fence !== null) {
      const [, mark = "", language = ""] = fence
      if (language !== "") out.push(Line.of(`  ${Line.clip(language, Math.max(1, width - 2))}`, { dim: true }))
      for (at++; at < rows.length && !isEndOf(mark, rows[at] ?? ""); at++) {
        out.push(...Line.cut(rows[at] ?? "", CODE, width, { first: INDENT }))
      }
      continue
    }
    if (isTable(rows, at)) {
      let end = at
      while (end < rows.length && (rows[end] ?? "").includes("|")) end++
      out.push(...table(rows.slice(at, end), width))
      at = end - 1
      continue
    }
    out.push(...single(row, width))
  }
  return out
}

/** The marks within a row: bold, italic, code and links. */
export const inline = (text: string, base: Line.Style = {}): Line.Line => {
  if (text.length > MOST_MARKED) return [{ ...base, text }]
  const spans: Array<Line.StyledText> = []
  let plain = ""
  let isBold = false
  let isItalic = false
  const put = (text: string, style: Line.Style): void => {
    if (text !== "") spans.push({ ...style, text })
  }
  const styleNow = (): Line.Style => ({
    ...base,
    ...(isBold ? { bold: true } : {}),
    ...(isItalic ? { italic: true } : {})
  })
  const flush = (): void => {
    put(plain, styleNow())
    plain = ""
  }
  /** Marks whose end was searched for and is not there: none is searched for twice. */
  const missing = new Set<string>()
  const endOf = (mark: string, from: number): number => {
    if (missing.has(mark)) return -1
    const end = text.indexOf(mark, from)
    if (end < 0) missing.add(mark)
    return end
  }
  for (let at = 0; at < text.length;) {
    const character = text[at] ?? ""
    if (character === "\\" && PUNCTUATION.test(text[at + 1] ?? "")) {
      plain += text[at + 1]
      at += 2
      continue
    }
    if (character === "`") {
      const mark = /^`+/.exec(text.slice(at, at + 8))?.[0] ?? "`"
      const end = endOf(mark, at + mark.length)
      if (end > 0) {
        flush()
        put(text.slice(at + mark.length, end), { ...styleNow(), ...CODE })
        at = end + mark.length
        continue
      }
      plain += mark
      at += mark.length
      continue
    }
    if (text.startsWith("**", at) || text.startsWith("__", at)) {
      const mark = text.slice(at, at + 2)
      if (isBold ? text[at - 1] !== " " : isOpening(text, at, mark) && endOf(mark, at + 3) > 0) {
        flush()
        isBold = !isBold
        at += 2
        continue
      }
      plain += mark
      at += 2
      continue
    }
    if (character === "*" || character === "_") {
      if (isItalic ? text[at - 1] !== " " : isOpening(text, at, character) && endOf(character, at + 2) > 0) {
        flush()
        isItalic = !isItalic
        at++
        continue
      }
    }
    if (character === "[") {
      const middle = endOf("](", at + 1)
      const end = middle < 0 ? -1 : endOf(")", middle + 2)
      const label = text.slice(at + 1, middle)
      if (end > 0 && !label.includes("[")) {
        flush()
        put(label, { ...styleNow(), underline: true })
        const address = text.slice(middle + 2, end)
        if (address !== label) put(` (${address})`, { ...styleNow(), dim: true })
        at = end + 1
        continue
      }
    }
    plain += character
    at++
  }
  flush()
  return spans
}

/** The end of a long text, from the beginning of a row on. Code stays code. */
export const ending = (text: string, most: number): string => {
  if (text.length <= most) return text
  const at = text.indexOf("\n", text.length - most) + 1
  // One row without an end.
  if (at === 0) return text.slice(-most).toWellFormed()
  const isCode = (text.slice(0, at).match(/^ {0,3}```/gm)?.length ?? 0) % 2 === 1
  return `${isCode ? "```\n" : ""}${text.slice(at)}`
}

// --- internal

/** A row of more characters than this is shown as it is. */
const MOST_MARKED = 2_000

const CODE: Line.Style = { color: "cyan" }
const INDENT: Line.Line = [{ text: "  " }]

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*?)\s*$/
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)(?:\s+#+)?\s*$/
const RULE = /^ {0,3}(?:-(?: *-){2,}|\*(?: *\*){2,}|_(?: *_){2,})\s*$/
const QUOTE = /^ {0,3}> ?(.*)$/
const LISTED = /^( *)([-*+]|\d{1,9}[.)])( +)(.*)$/
const UNDER_HEAD = /^ *\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$/
const PUNCTUATION = /^[!-/:-@[-`{-~]$/
const LETTER = /[\p{L}\p{N}]/u

const isEndOf = (mark: string, row: string): boolean => {
  const end = row.trim()
  return end.startsWith(mark) && end.replaceAll(mark[0] ?? "", "") === ""
}

/** A mark opens before a letter; `_` not within a word, because names have it. */
const isOpening = (text: string, at: number, mark: string): boolean => {
  const after = text[at + mark.length] ?? " "
  if (after === " ") return false
  return mark.startsWith("*") || !LETTER.test(text[at - 1] ?? " ")
}

const single = (row: string, width: number): ReadonlyArray<Line.Line> => {
  if (row.trim() === "") return [[]]
  if (row.length > MOST_MARKED) return Line.wrap([{ text: row }], width)
  if (RULE.test(row)) return [Line.of("─".repeat(Math.min(width, 40)), { dim: true })]
  const [, hashes, title = ""] = HEADING.exec(row) ?? []
  if (hashes !== undefined) return Line.wrap(inline(title, { bold: true, underline: hashes.length === 1 }), width)
  const [quote, quoted = ""] = QUOTE.exec(row) ?? []
  if (quote !== undefined)
    return Line.wrap(inline(quoted, { dim: true }), width, { first: [{ text: "│ ", dim: true }] })
  const [listed, indent = "", bullet = "", , text = ""] = LISTED.exec(row) ?? []
  if (listed !== undefined) {
    const mark = /\d/.test(bullet) ? `${bullet} ` : "• "
    // Deep lists leave room for their text.
    const before = " ".repeat(Math.min(indent.length, Math.floor(width / 3)))
    return Line.wrap(inline(text), width, {
      first: [{ text: before + mark }],
      rest: [{ text: before + " ".repeat(mark.length) }]
    })
  }
  const [lead = ""] = /^ */.exec(row) ?? []
  const margin = { first: [{ text: lead.slice(0, Math.floor(width / 3)) }] }
  return Line.wrap(inline(row.slice(lead.length)), width, lead === "" ? {} : margin)
}

const isTable = (rows: ReadonlyArray<string>, at: number): boolean =>
  (rows[at] ?? "").includes("|") && UNDER_HEAD.test((rows[at + 1] ?? "").slice(0, MOST_MARKED))

/** The rows of a table with their columns below each other; where that is too wide, as they were written. */
const table = (rows: ReadonlyArray<string>, width: number): ReadonlyArray<Line.Line> => {
  const cells = rows.flatMap((row, index) => (index === 1 ? [] : [cellsOf(row).map((cell) => inline(cell))]))
  const columns = cells.reduce((most, row) => Math.max(most, row.length), 0)
  const widths = Array.from({ length: columns }, (_, column) =>
    cells.reduce((most, row) => Math.max(most, Line.widthOf(row[column] ?? [])), 0)
  )
  const whole = widths.reduce((sum, wide) => sum + wide + 2, -2)
  if (whole > width || columns > width) return rows.flatMap((row) => Line.wrap([{ text: row }], width))
  const lines = cells.map((row, index) =>
    widths.flatMap((wide, column): Line.Line => {
      const cell = row[column] ?? []
      const bold = index === 0 ? { bold: true } : {}
      const gap = column === columns - 1 ? 0 : wide - Line.widthOf(cell) + 2
      return [...cell.map((span) => ({ ...span, ...bold })), ...(gap > 0 ? [{ text: " ".repeat(gap) }] : [])]
    })
  )
  const rule = Line.of(widths.map((wide) => "─".repeat(wide)).join("  "), { dim: true })
  return [...lines.slice(0, 1), rule, ...lines.slice(1)]
}

const cellsOf = (row: string): ReadonlyArray<string> =>
  row
    .trim()
    .replace(/^\|/, "")
    .replace(/\|$/, "")
    .split("|")
    .map((cell) => cell.trim())
