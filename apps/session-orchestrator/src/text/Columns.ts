/** Writes rows of cells in columns, for a terminal. Pure. */
import * as Prose from "./Prose.ts"

/** One line for each row, whatever is in its cells. A column is as wide as its widest cell. */
export const aligned = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const shown = rows.map((row) => row.map((cell) => Prose.harmless(cell.replaceAll(/[\n\t]/g, " "))))
  const widths = (shown[0] ?? []).map((_, n) => Math.max(...shown.map((row) => Prose.widthOf(row[n] ?? ""))))
  return shown.map((row) =>
    row
      .map((cell, n) => cell + " ".repeat(Math.max(0, (widths[n] ?? 0) - Prose.widthOf(cell))))
      .join("  ")
      .trimEnd()
  )
}
