/**
 * Writes a document for people: sections with a table and notes, for a terminal and as Markdown. Pure.
 *
 * Text from outside is on one line, without control characters; in Markdown it is in code spans, or escaped. Commands are whole, on a
 * line of their own: people copy them.
 */
import * as Prose from "./Prose.ts"

/** A note under a section: a sentence, what to do, and the command. */
export interface Note {
  readonly text: string
  readonly advice?: string | undefined
  readonly command?: string | undefined
}

/** A title, a table and notes. */
export interface Section {
  readonly title: string
  /** The names of the columns. A terminal shows them where the rows cannot be read without them (`hasHead`). */
  readonly head?: ReadonlyArray<string>
  readonly hasHead?: boolean
  readonly rows?: ReadonlyArray<ReadonlyArray<string>>
  readonly notes?: ReadonlyArray<Note>
}

/** The lines of sections for a terminal. */
export const lines = (sections: ReadonlyArray<Section>): ReadonlyArray<string> =>
  sections.flatMap(({ hasHead, head = [], notes = [], rows = [], title }) => [
    "",
    title,
    ...aligned(hasHead === true ? [head.map((name) => name.toUpperCase()), ...rows] : rows).map((line) => `  ${line}`),
    ...notes.flatMap(({ advice, command, text }) => [
      `  ${text}`,
      ...(advice === undefined ? [] : [`    ${advice}`]),
      ...(command === undefined ? [] : [`    ${Prose.oneLine(command)}`])
    ])
  ])

/** The lines of sections as Markdown. */
export const markdown = (sections: ReadonlyArray<Section>): ReadonlyArray<string> =>
  sections.flatMap(({ head = [], notes = [], rows = [], title }) => [
    "",
    `## ${title}`,
    "",
    ...(rows.length === 0
      ? []
      : [
          `| ${head.join(" | ")} |`,
          `|${head.map(() => "---").join("|")}|`,
          ...rows.map((row) => `| ${row.map(escaped).join(" | ")} |`)
        ]),
    ...notes.flatMap(({ advice, command, text }) => [
      `- ${escaped(text)}${advice === undefined ? "" : ` ${escaped(advice)}`}`,
      ...(command === undefined ? [] : ["", "  ```sh", `  ${Prose.oneLine(command)}`, "  ```"])
    ])
  ])

/**
 * One line for each row, whatever is in its cells. A column is as wide as its widest cell.
 *
 * @param isNumeric aligns all columns but the last one to the right
 */
export const aligned = (rows: ReadonlyArray<ReadonlyArray<string>>, isNumeric = false): ReadonlyArray<string> => {
  const shown = rows.map((row) => row.map((cell) => Prose.harmless(cell.replaceAll(/[\n\t]/g, " "))))
  const widths = (shown[0] ?? []).map((_, n) =>
    shown.reduce((width, row) => Math.max(width, Prose.widthOf(row[n] ?? "")), 0)
  )
  return shown.map((row) =>
    row
      .map((cell, n) => {
        const blanks = " ".repeat(Math.max(0, (widths[n] ?? 0) - Prose.widthOf(cell)))
        return isNumeric && n < row.length - 1 ? blanks + cell : cell + blanks
      })
      .join(isNumeric ? "   " : "  ")
      .trimEnd()
  )
}

/** A text on one line, without Markdown of its own. */
export const escaped = (text: string): string => Prose.oneLine(text).replaceAll(/[\\`*_{}[\]<>|#~]/g, "\\$&")
