/** The result of a dry run: the figures side by side, why turns failed, and the picture. */
import type { DryRunGroup } from "@holdfast/wire/api"
import * as Moments from "../text/Moments.ts"
import * as Comparison from "./Comparison.ts"

/** The result. */
export const DryRunResult = ({ answer }: { readonly answer: DryRunGroup.DryRunAnswer }) => {
  const columns = Comparison.columnsOf(answer)
  const { replay } = answer
  const cut = Comparison.cutOf(columns)
  return (
    <section className="dry-run" aria-label="Result of the dry run">
      <h2>Result</h2>
      <p role="status">{Comparison.sentenceOf(columns)}</p>
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
            {Comparison.rowsOf(columns).map(({ name, values }) => (
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
      <Sentences head="Why turns failed" sentences={columns.flatMap(Comparison.failuresOf)} />
      {answer.svg !== undefined && (
        <div className="wide" tabIndex={0} role="region" aria-label="Picture of the dry run">
          <img
            className="dry-run-picture"
            src={`data:image/svg+xml,${encodeURIComponent(answer.svg)}`}
            alt={`Calls, waits and ends of the turns on a line of time. ${Comparison.sentenceOf(columns)}`}
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
