/**
 * The text that a person writes: cursor, several lines, history, and what was cut. Pure.
 *
 * The cursor is always between two clusters of the text. The text has no control character but line feeds: it has passed
 * `Foreign.shown`. Browsing the history loses nothing: the way down leads back to the text that was being written.
 */
import * as Foreign from "../text/Foreign.ts"
import * as Width from "../text/Width.ts"
import type { KeyPress } from "./Key.ts"

/** The editor's contents. */
export interface Editor {
  readonly text: string
  /** Before which unit of the text the next character goes. */
  readonly cursor: number
  /** Prompts that were sent, oldest first. */
  readonly history: ReadonlyArray<string>
  /** The place in the history that is shown; absent: the text is a new one. */
  readonly shown?: number | undefined
  /** The new text, while the history is shown. */
  readonly draft: string
  /** What `yank` puts back. */
  readonly killed: string
}

/** Without text. */
export const empty: Editor = { text: "", cursor: 0, history: [], draft: "", killed: "" }

/** Inserts a text at the cursor. */
export const insert = (editor: Editor, foreign: string): Editor => {
  const added = Foreign.shown(foreign)
  if (added === "") return editor
  const text = editor.text.slice(0, editor.cursor) + added + editor.text.slice(editor.cursor)
  return at({ ...editor, text, shown: undefined }, editor.cursor + added.length)
}

/** With another text, and the cursor at its end. */
export const withText = (editor: Editor, text: string): Editor => {
  const shown = Foreign.shown(text)
  return { ...editor, text: shown, cursor: shown.length, shown: undefined }
}

/** Empties the editor and puts its text into the history. */
export const taken = (editor: Editor): Editor => {
  const { history, text } = editor
  const kept = text.trim() === "" || history.at(-1) === text ? history : [...history, text].slice(-MOST_HISTORY)
  return { ...editor, text: "", cursor: 0, shown: undefined, draft: "", history: kept }
}

/** With an earlier prompt in its history, such as those of a conversation that is resumed. */
export const remembering = (editor: Editor, prompts: ReadonlyArray<string>): Editor => ({
  ...editor,
  history: [...prompts.map(Foreign.shown), ...editor.history].slice(-MOST_HISTORY)
})

/** Applies a key that edits; any other key changes nothing. `width` is that of the text's rows. */
export const press = (editor: Editor, key: KeyPress, width: number): Editor => {
  const { cursor, text } = editor
  switch (key.type) {
    case "text":
    case "paste":
      return insert(editor, key.text)
    case "newline":
      return insert(editor, "\n")
    case "left":
      return at(editor, before(text, cursor))
    case "right":
      return at(editor, after(text, cursor))
    case "word-left":
      return at(editor, wordStart(text, cursor))
    case "word-right":
      return at(editor, wordEnd(text, cursor))
    case "home":
      return at(editor, lineStart(text, cursor))
    case "end":
      return at(editor, lineEnd(text, cursor))
    case "up":
      return vertical(editor, -1, width)
    case "down":
      return vertical(editor, 1, width)
    case "backspace":
      return without(editor, before(text, cursor), cursor)
    case "delete":
      return without(editor, cursor, after(text, cursor))
    case "kill-word":
      return killed(editor, wordStart(text, cursor), cursor)
    case "kill-start":
      return killed(editor, lineStart(text, cursor), cursor)
    case "kill-end":
      // At the end of a line it joins the next one.
      return killed(editor, cursor, text[cursor] === "\n" ? cursor + 1 : lineEnd(text, cursor))
    case "yank":
      return insert(editor, editor.killed)
    default:
      return editor
  }
}

/** The rows of the text in `width` columns, and the row and column of the cursor. */
export const layout = (
  { cursor, text }: Pick<Editor, "text" | "cursor">,
  width: number
): { readonly rows: ReadonlyArray<string>; readonly row: number; readonly column: number } => {
  const rows = rowsOf(text, width)
  const row = rowAt(rows, cursor)
  const { from = 0 } = rows[row] ?? {}
  return { rows: rows.map(({ text }) => text), row, column: Width.of(text.slice(from, cursor)) }
}

// --- internal

const MOST_HISTORY = 200

const at = (editor: Editor, cursor: number): Editor => ({ ...editor, cursor: snapped(editor.text, cursor) })

/** The next place between two clusters: a mark that is inserted after a letter joins it. */
const snapped = (text: string, cursor: number): number => {
  const within = Math.max(0, Math.min(cursor, text.length))
  if (within === 0 || within === text.length) return within
  const from = Math.max(0, lineStart(text, within - 1))
  let place = from
  for (const cluster of Width.clusters(text.slice(from, lineEnd(text, within) + 1))) {
    if (place >= within) return place
    place += cluster.length
  }
  return place
}

const before = (text: string, cursor: number): number => {
  const from = cursor > 0 && text[cursor - 1] === "\n" ? cursor - 1 : lineStart(text, cursor)
  return cursor - (Width.clusters(text.slice(from, cursor)).at(-1)?.length ?? 0)
}

const after = (text: string, cursor: number): number => {
  const to = text[cursor] === "\n" ? cursor + 1 : lineEnd(text, cursor)
  return cursor + (Width.clusters(text.slice(cursor, to))[0]?.length ?? 0)
}

const lineStart = (text: string, cursor: number): number => (cursor <= 0 ? 0 : text.lastIndexOf("\n", cursor - 1) + 1)

const lineEnd = (text: string, cursor: number): number => {
  const end = text.indexOf("\n", cursor)
  return end < 0 ? text.length : end
}

const wordStart = (text: string, cursor: number): number =>
  cursor -
  (/[\p{L}\p{N}\p{M}_]*[^\p{L}\p{N}\p{M}_]*$/u.exec(text.slice(Math.max(0, cursor - LONGEST_WORD), cursor))?.[0]
    .length ?? 0)

const wordEnd = (text: string, cursor: number): number =>
  cursor +
  (/^[^\p{L}\p{N}\p{M}_]*[\p{L}\p{N}\p{M}_]*/u.exec(text.slice(cursor, cursor + LONGEST_WORD))?.[0].length ?? 0)

/** Further characters are another word. */
const LONGEST_WORD = 1_000

const without = (editor: Editor, from: number, to: number): Editor =>
  from === to
    ? editor
    : at({ ...editor, text: editor.text.slice(0, from) + editor.text.slice(to), shown: undefined }, from)

const killed = (editor: Editor, from: number, to: number): Editor =>
  from === to ? editor : { ...without(editor, from, to), killed: editor.text.slice(from, to) }

/** A row with its place in the text. */
interface Row {
  readonly text: string
  readonly from: number
}

const rowsOf = (text: string, width: number): ReadonlyArray<Row> => {
  let from = 0
  return text.split("\n").flatMap((line) => {
    // The cursor behind the last character needs a column, too.
    const rows = Width.rows(line, width - 1).map((text): Row => {
      from += text.length
      return { text, from: from - text.length }
    })
    from += 1
    return rows
  })
}

const rowAt = (rows: ReadonlyArray<Row>, cursor: number): number => {
  const next = rows.findIndex(({ from }) => from > cursor)
  return next < 0 ? rows.length - 1 : next - 1
}

/** Up and down within the text, and from its first and last row into the history. */
const vertical = (editor: Editor, by: -1 | 1, width: number): Editor => {
  const rows = rowsOf(editor.text, width)
  const row = rowAt(rows, editor.cursor)
  const target = rows[row + by]
  if (target === undefined) return by < 0 ? older(editor) : newer(editor)
  const column = Width.of(editor.text.slice(rows[row]?.from ?? 0, editor.cursor))
  return at(editor, target.from + Width.beginning(target.text, column).length)
}

const older = (editor: Editor): Editor => {
  const shown = (editor.shown ?? editor.history.length) - 1
  const text = editor.history[shown]
  if (text === undefined) return editor
  const draft = editor.shown === undefined ? editor.text : editor.draft
  return { ...editor, draft, shown, text, cursor: text.length }
}

const newer = (editor: Editor): Editor => {
  if (editor.shown === undefined) return editor
  const shown = editor.shown + 1
  const text = editor.history[shown] ?? editor.draft
  return {
    ...editor,
    text,
    cursor: text.length,
    shown: shown < editor.history.length ? shown : undefined
  }
}
