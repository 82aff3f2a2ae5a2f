/** The result of a dry run: the figures side by side, why turns failed, and the picture. */
import type { DryRunGroup } from "@holdfast/wire/api"
import { Count, DryRunFigures, type DryRunReport } from "@holdfast/wire"
import * as Moments from "../text/Moments.ts"

/** The result. */
export const DryRunResult = ({ answer }: { readonly answer: DryRunGroup.DryRunAnswer }) => {
  const columns = columnsOf(answer)
  const { replay } = answer
  const cut = cutOf(columns)
  return (
    <section className="dry-run" aria-label="Result of the dry run">
      <h2>Result</h2>
      <p role="status">{sentenceOf(columns)}</p>
      <div className="wide" tabIndex={0} role="region" aria-label="Figures side by side">
        <table>
          <thead>
            <tr>
              <td />
              {columns.map(({ name }) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rowsOf(columns).map(({ name, values }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {values.map((value, column) => (
                  <td key={column}>{value ?? "–"}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {cut !== undefined && <p>{cut}</p>}
      {replay !== undefined && (
        <p>
          By the configuration {replay.followed} turns follow their record to the end, and {replay.changed} end
          otherwise.
        </p>
      )}
      <Sentences head="Why turns failed" sentences={columns.flatMap(failuresOf)} />
      {answer.svg !== undefined && (
        <div className="wide" tabIndex={0} role="region" aria-label="Picture of the dry run">
          <img
            className="dry-run-picture"
            src={`data:image/svg+xml,${encodeURIComponent(answer.svg)}`}
            alt={`Calls, waits and ends of the turns on a line of time. ${sentenceOf(columns)}`}
          />
        </div>
      )}
      <p className="quiet">
        {answer.outages.join(" ")} Assumed: {answer.assumptions.join(" ")} The turns took{" "}
        {Moments.duration(Math.max(...columns.map(({ report }) => report.endedAt - report.startedAt)))} of simulated
        time.
      </p>
    </section>
  )
}

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

const Sentences = ({ head, sentences }: { readonly head: string; readonly sentences: ReadonlyArray<string> }) =>
  sentences.length === 0 ? null : (
    <>
      <h3>{head}</h3>
      <ul>
        {sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </>
  )

const reportsOf = (columns: ReadonlyArray<Column>) => columns.map(({ report }) => report)
