/** The figures of dry runs side by side, as rows of a table. Pure. */
import { Count, DryRunFigures, type DryRunReport } from "@holdfast/wire"
import type { DryRunGroup } from "@holdfast/wire/api"
import * as Moments from "../text/Moments.ts"

/** A dry run and its name. */
interface Column {
  readonly name: string
  readonly report: DryRunReport.DryRunReport
}

/** The runs of an answer: the record, the configuration, and the changed settings. */
export const columnsOf = ({ against, replay, report }: DryRunGroup.DryRunAnswer): ReadonlyArray<Column> => [
  ...(replay === undefined ? [] : [{ name: "as it was", report: replay.was }]),
  { name: "as configured", report },
  ...(against === undefined ? [] : [{ name: "as changed", report: against }])
]

/** The rows of a comparison. */
export const rowsOf = (columns: ReadonlyArray<Column>): ReadonlyArray<DryRunFigures.Row> =>
  DryRunFigures.rowsOf(reportsOf(columns), { duration: Moments.duration, money: (usd) => `$${usd.toFixed(2)}` })

/** The ends of all runs in one sentence, for people who do not see the table. */
export const sentenceOf = (columns: ReadonlyArray<Column>): string =>
  `${columns
    .map(
      ({ name, report: { answered, failed, turns } }) => `${name}: ${answered} of ${turns} answered, ${failed} failed`
    )
    .join("; ")}.`

/** What the figures lack, where a limit ended a run. */
export const cutOf = (columns: ReadonlyArray<Column>): string | undefined => DryRunFigures.cutOf(reportsOf(columns))

/** Why turns failed, a sentence for each cause. */
export const failuresOf = ({ name, report }: Column): ReadonlyArray<string> =>
  report.failures.map(
    (failure) => `${name}: ${Count.format(failure.turns)} failed because ${DryRunFigures.because(failure)}`
  )

// --- internal

const reportsOf = (columns: ReadonlyArray<Column>) => columns.map(({ report }) => report)
