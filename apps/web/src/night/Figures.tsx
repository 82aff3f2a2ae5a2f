/** The report of a period: its line, figures, outages, and causes of failures with what mends each (X12). */
import { Count, type PeriodReport } from "@holdfast/wire"
import { CopyButton } from "../conversation/CopyButton.tsx"
import * as Moments from "../text/Moments.ts"
import * as ReasonText from "../text/ReasonText.ts"

/** The report, with the line to send on. */
export const Figures = ({ report }: { readonly report: PeriodReport.PeriodReport }) => {
  const {
    answeredCalls = 0,
    calls,
    causes,
    outages,
    savedCalls,
    spend,
    switches,
    turns,
    until,
    waited,
    waitedMs
  } = report
  const failed = turns.failed - turns.retried
  return (
    <section className="figures" aria-label="Report">
      <p className="report-line">
        <span>{report.line}</span> <CopyButton textOf={() => report.line} />
      </p>
      <dl>
        <Figure name="answered" value={turns.answered} />
        <Figure
          name="failed"
          value={turns.failed}
          isBad={failed > 0}
          note={turns.retried > 0 ? `${turns.retried} retried` : undefined}
        />
        <Figure name="aborted" value={turns.aborted} />
        <Figure name="waiting now" value={turns.waiting} />
        <Figure name="running or queued" value={turns.running + turns.queued} />
        <Figure name="waited" value={Moments.duration(waitedMs)} note={Count.of(waited, "turn")} />
        <Figure name="calls" value={calls} note={savedCalls > 0 ? `${savedCalls} saved` : undefined} />
        {answeredCalls > 0 && <Figure name="through the gateway" value={answeredCalls} note="answered at once" />}
        <Figure
          name="cost"
          value={spend.cost === "unknown" ? "unknown" : `$${spend.cost.toFixed(2)}`}
          note={`${spend.outputTokens} tokens of output`}
        />
      </dl>
      {outages.length > 0 && (
        <>
          <h2>Outages</h2>
          <ul>
            {outages.map(({ beganAt, code, endedAt, failures, hasUnknownEnd, lastFailureAt, reason, target }) => (
              <li key={`${target} ${beganAt}`}>
                <strong>{target}</strong> {code !== undefined && <code className="code-tag">{code}</code>} from{" "}
                {Moments.moment(beganAt, until)}{" "}
                {endedAt === undefined
                  ? `on; it has answered no turn since${hasUnknownEnd === true ? `, and was not called after ${Moments.moment(lastFailureAt, until)}` : ""}`
                  : `to ${Moments.moment(endedAt, until)}, ${Moments.duration(endedAt - beganAt)}`}
                <span className="quiet">
                  {" "}
                  · {ReasonText.wordsOf(reason)} · {Count.of(failures, "failed call")}
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
      {causes.length > 0 && (
        <>
          <h2>Failures</h2>
          <ul>
            {causes.map(({ code, failed, message, reason, remedy, target, turnId }) => (
              <li key={`${target} ${reason} ${code} ${turnId}`}>
                <strong>
                  {failed} × {target}
                </strong>{" "}
                {code !== undefined && <code className="code-tag">{code}</code>} {ReasonText.wordsOf(reason)}
                <p className="quiet verbatim">{message}</p>
                <p>
                  {remedy.advice} <code>{remedy.command}</code> <CopyButton textOf={() => remedy.command} />
                </p>
              </li>
            ))}
          </ul>
        </>
      )}
      {switches.length > 0 && <p>{switches.map(({ count, from, to }) => `${count} × ${from} to ${to}`).join(", ")}</p>}
    </section>
  )
}

// --- internal

interface FigureProps {
  readonly name: string
  readonly value: number | string
  readonly note?: string | undefined
  readonly isBad?: boolean
}

const Figure = ({ isBad = false, name, note, value }: FigureProps) => (
  <div>
    <dt>{name}</dt>
    <dd className={isBad ? "bad" : undefined}>
      {value}
      {note !== undefined && <span className="quiet"> {note}</span>}
    </dd>
  </div>
)
