/** Writes the accounts of dry runs as a table, a column for each configuration. Pure. */
import { Count, DryRunFigures, type DryRunReport } from "@holdfast/wire"
import * as PeriodText from "../inspection/period/PeriodText.ts"
import * as Columns from "../text/Columns.ts"
import * as DurationText from "../text/DurationText.ts"

/** One account and the name of its column. */
export interface Column {
  readonly name: string
  readonly report: DryRunReport.DryRunReport
}

/** The table, without its head where there is only one column. */
export const table = (columns: ReadonlyArray<Column>): ReadonlyArray<string> => {
  const reports = columns.map(({ report }) => report)
  const head = columns.length > 1 ? [["", ...columns.map(({ name }) => name)]] : []
  const rows = DryRunFigures.rowsOf(reports, NOTATION).map(({ name, values }) => [
    name,
    ...values.map((value) => value ?? "-")
  ])
  const cut = DryRunFigures.cutOf(reports)
  return [...Columns.aligned([...head, ...rows]), ...failures(columns), ...(cut === undefined ? [] : ["", cut])]
}

// --- internal

const NOTATION: DryRunFigures.Notation = {
  duration: (ms) => DurationText.format(ms < 60_000 ? ms : Math.round(ms / 1000) * 1000),
  money: PeriodText.money
}

const failures = (columns: ReadonlyArray<Column>): ReadonlyArray<string> =>
  columns.flatMap(({ name, report: { failures } }) => {
    if (failures.length === 0) return []
    const where = columns.length > 1 ? `, ${name}` : ""
    return [
      "",
      `Failed${where}:`,
      ...failures.map((failure) => `  ${Count.format(failure.turns)} because ${DryRunFigures.because(failure)}`)
    ]
  })
