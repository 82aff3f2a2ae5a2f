/** Lays entries of the transcript out as lines. Pure. */
import * as Line from "../text/Line.ts"
import * as Markdown from "../text/Markdown.ts"
import * as Width from "../text/Width.ts"
import type { Entry, NoteTone } from "./Transcript.ts"

/** The lines of an entry in `width` columns, with the empty line before it, if any. */
export const of = (entry: Entry, width: number): ReadonlyArray<Line.Line> => {
  switch (entry.type) {
    case "prompt":
      return [[], ...promptLines(entry.text, width)]
    case "answer":
      return [[], ...Markdown.lines(entry.text, Math.min(width, READABLE))]
    case "note":
      return noteLines(entry.text, entry.tone, width)
    case "verbatim":
      return [[], ...entry.text.split("\n").flatMap((row) => Line.cut(row, {}, width))]
    default:
      return entry satisfies never
  }
}

/** The lines of a prompt, accepted or not. */
export const promptLines = (
  text: string,
  width: number,
  style: Line.Style = { bold: true }
): ReadonlyArray<Line.Line> =>
  text.split("\n").flatMap((row, index) =>
    Line.wrap([{ ...style, text: row }], width, {
      first: [{ text: index === 0 ? "> " : "  ", color: "cyan" }],
      rest: [{ text: "  " }]
    })
  )

// --- internal

/** Longer lines are hard to read. */
const READABLE = 100

/** More of an error page would not help; `/error` shows all of it. */
const MOST_NOTE_LINES = 3

const TONES: { readonly [T in NoteTone]: Line.Style } = {
  wait: { color: "yellow" },
  notice: { color: "yellow" },
  failure: { color: "red" },
  aside: { dim: true }
}

/** Lines of a note; a long one loses its middle, so that its end can still be read. */
const noteLines = (text: string, tone: NoteTone, width: number): ReadonlyArray<Line.Line> => {
  const style = TONES[tone]
  const lines = Line.wrap([{ ...style, text }], width)
  if (lines.length <= MOST_NOTE_LINES) return lines
  return [...lines.slice(0, MOST_NOTE_LINES - 1), Line.of(`… ${ending(text, width - 2)}`, style)]
}

/** The end of a text, as far as it fits. */
const ending = (text: string, width: number): string => {
  let kept = ""
  let used = 0
  // Few clusters have more units than columns: what is cut here would rarely fit.
  for (const cluster of Width.clusters(text.slice(-width * 4).toWellFormed()).toReversed()) {
    used += Width.of(cluster)
    if (used > width) break
    kept = cluster + kept
  }
  return kept.trimStart()
}
