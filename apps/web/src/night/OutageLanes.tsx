/** The outages of each endpoint, above the turns, on the same line of time. */
import type { PeriodReport } from "@holdfast/wire"
import { memo } from "react"
import * as Moments from "../text/Moments.ts"
import * as Period from "./Period.ts"

interface OutageLanesProps {
  readonly outages: ReadonlyArray<PeriodReport.Outage>
  readonly since: number
  readonly until: number
}

/** Endpoints that have a lane; the report lists all outages. */
const MOST_LANES = 5

/** A lane for each endpoint that had an outage, those with most of them first. */
export const OutageLanes = memo(({ outages, since, until }: OutageLanesProps) => {
  const lanes = new Map<string, Array<PeriodReport.Outage>>()
  for (const outage of outages) {
    const lane = lanes.get(outage.target)
    if (lane === undefined) lanes.set(outage.target, [outage])
    else lane.push(outage)
  }
  const shown = [...lanes].toSorted(([, a], [, b]) => b.length - a.length).slice(0, MOST_LANES)
  if (shown.length === 0) return null
  return (
    <ul className="outage-lanes" aria-label="Outages">
      {shown.map(([target, outages]) => (
        <li key={target}>
          <span className="outage-line">
            {outages.map((outage) => (
              <span
                key={outage.beganAt}
                className="outage"
                style={Period.spanOf(outage.beganAt, Period.knownUntil(outage, until), since, until)}
              />
            ))}
          </span>
          <span className="outage-words">
            {target} <span className="quiet">down {lengthOf(outages, since, until)}</span>
          </span>
        </li>
      ))}
    </ul>
  )
})

// --- internal

const lengthOf = (outages: ReadonlyArray<PeriodReport.Outage>, since: number, until: number): string =>
  Moments.duration(
    outages.reduce(
      (sum, outage) => sum + Math.max(0, Period.knownUntil(outage, until) - Math.max(since, outage.beganAt)),
      0
    )
  )
