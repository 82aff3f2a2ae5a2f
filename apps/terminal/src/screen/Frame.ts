/**
 * The part of the screen that changes: text in progress, the wait, the editor. Pure.
 *
 * A frame has fewer rows than the terminal, and no line is wider than it: repainting relies on both. The countdown and the loader are
 * there while a turn waits or runs, and at no other time.
 */
import { COMMANDS, completions } from "../editor/SlashCommand.ts"
import * as Editor from "../editor/Editor.ts"
import * as KeyBindings from "../editor/KeyBindings.ts"
import * as Snapshot from "../Snapshot.ts"
import * as Foreign from "../text/Foreign.ts"
import * as Line from "../text/Line.ts"
import * as Markdown from "../text/Markdown.ts"
import * as Width from "../text/Width.ts"
import * as EntryLines from "../transcript/EntryLines.ts"
import * as Transcript from "../transcript/Transcript.ts"
import * as WaitText from "../wait/WaitText.ts"

/** The size of a terminal, and the present. */
interface Display {
  readonly columns: number
  readonly rows: number
  readonly now: number
}

/** Lines with the place of the cursor, both from 0. */
interface Frame {
  readonly lines: ReadonlyArray<Line.Line>
  readonly cursor: { readonly x: number; readonly y: number } | undefined
}

/** Columns of the editor: behind its mark. */
export const editorWidth = (columns: number): number => Math.max(2, columns - MARK.length)

/** The frame of a snapshot. */
export const of = (snapshot: Snapshot.Snapshot, { columns, now, rows }: Display): Frame => {
  const width = Math.max(4, columns)
  const room = Math.max(1, rows - 1)
  const input = inputOf(snapshot, width, Math.max(1, Math.min(MOST_EDITOR_ROWS, Math.floor(room / 3))))
  const below = belowOf(snapshot, width, now)
  const status = statusOf(snapshot, width, now)
  const fixed = tail([...status, ...input.lines, ...below], room)
  const above = tail(progressOf(snapshot, width), room - fixed.length)
  // Where the terminal is too low for all of it, the editor stays.
  const lost = status.length + input.lines.length + below.length - fixed.length
  const y = above.length + status.length - lost + input.row
  return {
    lines: [...above, ...fixed].map((line) => within(line, width)),
    cursor: input.column === undefined || y < 0 ? undefined : { x: Math.min(width - 1, input.column), y }
  }
}

// --- internal

const MARK = "> "
const MOST_EDITOR_ROWS = 8
const MOST_LIST_ROWS = 10
/** Tool calls that are asked about. */
const MOST_CALLS = 3
/** Characters of an answer in progress that are laid out for each frame: more than fit on a screen. */
const MOST_PROGRESS = 16_000
const MOST_COMPLETIONS = 6

/** The last rows of a list of lines. */
const tail = (lines: ReadonlyArray<Line.Line>, most: number): ReadonlyArray<Line.Line> =>
  most <= 0 ? [] : lines.slice(-most)

/** A line cut to the width. */
const within = (line: Line.Line, width: number): Line.Line => {
  if (Line.widthOf(line) <= width) return line
  const spans: Array<Line.StyledText> = []
  let left = width
  for (const span of line) {
    const text = Line.clip(span.text, left)
    if (left <= 0) break
    spans.push({ ...span, text })
    left -= Width.of(text)
  }
  return spans
}

/** The answer as far as it came. */
const progressOf = ({ view }: Snapshot.Snapshot, width: number): ReadonlyArray<Line.Line> => {
  const parts = view.progress?.parts ?? []
  return parts.flatMap((part) => {
    if (part.type === "file") return [[], Line.of(Line.clip(Transcript.fileLine(part), width), { dim: true })]
    const { text, type } = part
    const shown = Foreign.shown(Markdown.ending(text, MOST_PROGRESS)).trim()
    if (shown === "") return []
    return type === "text"
      ? [[], ...EntryLines.of({ type: "answer", text: shown }, width).slice(1)]
      : [[], ...tail(Line.wrap([{ text: Foreign.oneLine(shown), dim: true }], width), 3)]
  })
}

/** The wait, or what else the turn is doing, and what was sent. */
const statusOf = (snapshot: Snapshot.Snapshot, width: number, now: number): ReadonlyArray<Line.Line> => {
  const { budgetLeftMs, disconnected, sent, view } = snapshot
  const wait = Snapshot.waitOf(view)
  const phase = Snapshot.phaseOf(snapshot, now)
  const lines: Array<Line.Line> = []
  const tools = view.toolCalls
    .filter(({ state }) => state === "running")
    .map(({ toolName }) => Foreign.oneLine(toolName))
  if (wait !== undefined) {
    const calls = WaitText.askedCalls(wait).slice(0, MOST_CALLS)
    lines.push(...calls.map((call) => Line.of(Line.clip(call, width), { color: "yellow" })))
    lines.push(...Line.wrap([{ text: WaitText.countdown(wait, now), color: "yellow" }], width))
    const budget = budgetLeftMs === undefined ? "" : `budget left ${WaitText.duration(budgetLeftMs)} · `
    const commands = wait.asks?.because === "tools" ? "/approve all · Esc refuses" : "/now /wait /switch /giveup"
    lines.push(Line.of(Line.clip(`${budget}${phase === "retrying" ? commands : "trying"}`, width), { dim: true }))
  } else if (phase === "running") {
    const what =
      tools.length > 0
        ? `Running ${tools.join(", ")}`
        : (view.progress?.parts.length ?? 0) > 0
          ? "Answering"
          : "Waiting for the model"
    lines.push(Line.of(Line.clip(`${what}… (esc to abort)`, width), { dim: true }))
  }
  if (disconnected !== undefined) {
    lines.push(...Line.wrap([{ text: Foreign.oneLine(disconnected), color: "yellow" }], width).slice(0, 2))
  }
  for (const text of sent.filter((text) => text !== "").slice(0, 2)) {
    lines.push(...EntryLines.promptLines(Foreign.oneLine(text), width, { dim: true }).slice(0, 1))
  }
  return lines.length === 0 ? [] : [[], ...lines]
}

/** The editor, or the list that stands in its place. */
const inputOf = (
  { keyboard }: Snapshot.Snapshot,
  width: number,
  most: number
): { readonly lines: ReadonlyArray<Line.Line>; readonly row: number; readonly column: number | undefined } => {
  const { editor, list } = keyboard
  if (list !== undefined) {
    const from = Math.max(
      0,
      Math.min(list.selected - Math.floor(MOST_LIST_ROWS / 2), list.choices.length - MOST_LIST_ROWS)
    )
    const lines = list.choices.slice(from, from + MOST_LIST_ROWS).map(({ title }, index) => {
      const isSelected = from + index === list.selected
      return Line.of(
        Line.clip(`${isSelected ? "› " : "  "}${title}`, width),
        isSelected ? { color: "cyan", bold: true } : {}
      )
    })
    return { lines: [[], ...lines], row: 1 + list.selected - from, column: 0 }
  }
  const { column, row, rows } = Editor.layout(editor, editorWidth(width))
  const from = Math.max(0, Math.min(row - most + 1, rows.length - most))
  const lines = rows
    .slice(from, from + most)
    .map((text, index): Line.Line => [{ text: from + index === 0 ? MARK : "  ", color: "cyan" }, { text }])
  return { lines: [[], ...lines], row: 1 + row - from, column: MARK.length + column }
}

/** Below the editor: an answer to a key, completions, or where one is. */
const belowOf = (snapshot: Snapshot.Snapshot, width: number, now: number): ReadonlyArray<Line.Line> => {
  const { keyboard, model, notice, view } = snapshot
  if (notice !== undefined) {
    return Line.wrap([{ text: Foreign.oneLine(notice), color: "yellow" }], width).slice(0, 3)
  }
  if (keyboard.list !== undefined) return [Line.of(Line.clip("Enter opens, Esc closes", width), { dim: true })]
  const { text } = keyboard.editor
  const known = text.startsWith("/") ? completions(text) : []
  if (known.length > 0 && known.length < COMMANDS.length) {
    return known
      .slice(0, MOST_COMPLETIONS)
      .map(({ does, usage }) => Line.of(Line.clip(`${usage}  ${does}`, width), { dim: true }))
  }
  const phase = Snapshot.phaseOf(snapshot, now)
  const isRetryable = text === "" && KeyBindings.isRetryable({ phase, lastEnd: Snapshot.lastEndOf(view) })
  const hint = isRetryable ? "Enter asks again" : "/help"
  const name = model === undefined ? "" : Foreign.oneLine(model)
  const gap = width - Width.of(hint) - Width.of(name)
  const line = name === "" || gap < 2 ? hint : `${hint}${" ".repeat(gap)}${name}`
  return [Line.of(Line.clip(line, width), isRetryable ? { color: "yellow" } : { dim: true })]
}
