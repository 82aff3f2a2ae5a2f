/** Cuts a Markdown text that is arriving into blocks, so that a delta changes only the last one. Pure. */
import * as Formulas from "./Formulas.ts"

/**
 * The blocks of a text, in order; joined they are the text.
 *
 * **Details**
 *
 * A cut is behind blank lines, outside of fenced code and of formulas, before a line that begins at the margin: such a line cannot continue a list's entry. A
 * longer text has the same blocks, except for the last one.
 */
export const split = (text: string): ReadonlyArray<string> => {
  const blocks: Array<string> = []
  let from = 0
  let fence: string | undefined = undefined
  let formulaEnd: string | undefined = undefined
  let isAfterBlank = false
  let at = 0
  while (at < text.length) {
    const end = text.indexOf("\n", at)
    const next = end === -1 ? text.length : end + 1
    const line = text.slice(at, end === -1 ? text.length : end)
    // An unfinished line may still become anything.
    if (isAfterBlank && at > from && end !== -1 && /^\S/.test(line)) {
      blocks.push(text.slice(from, at))
      from = at
    }
    if (formulaEnd !== undefined) {
      if (line.includes(formulaEnd)) formulaEnd = undefined
    } else {
      fence = Formulas.fenceAfter(fence, line)
      if (fence === undefined) formulaEnd = Formulas.endOf(line)
    }
    isAfterBlank = fence === undefined && formulaEnd === undefined && line.trim() === ""
    at = next
  }
  if (from < text.length) blocks.push(text.slice(from))
  return blocks
}

/** A text in groups of blocks. Groups of a longer text are the same objects, except for the last one. */
export interface Grouped {
  readonly text: string
  readonly groups: ReadonlyArray<ReadonlyArray<string>>
}

/** The text before its beginning. */
export const none: Grouped = { text: "", groups: [] }

/**
 * The groups of a text, from those of its beginning where that was grouped before.
 *
 * **Details**
 *
 * A delta costs as much in a long text as in a short one: only the last group is cut and compared again.
 */
export const grouped = (before: Grouped, text: string): Grouped => {
  if (text === before.text) return before
  const finished = text.startsWith(before.text) ? before.groups.slice(0, -1) : []
  const from = finished.reduce((sum, group) => group.reduce((length, block) => length + block.length, sum), 0)
  const blocks = split(text.slice(from))
  const groups = [...finished]
  for (let at = 0; at < blocks.length; at += GROUP) groups.push(blocks.slice(at, at + GROUP))
  return { text, groups }
}

// --- internal

/** Blocks of one group: few enough to be compared in each frame. */
const GROUP = 16
