/** Writes rows of cells in columns, for a terminal. Pure. */
import * as Prose from "./Prose.ts"

/** One line for each row. A column is as wide as its widest cell. */
export const aligned = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const widths = (rows[0] ?? []).map((_, n) => Math.max(...rows.map((row) => Prose.widthOf(row[n] ?? ""))))
  return rows.map((row) =>
    row
      .map((cell, n) => cell + " ".repeat(Math.max(0, (widths[n] ?? 0) - Prose.widthOf(cell))))
      .join("  ")
      .trimEnd()
  )
}
