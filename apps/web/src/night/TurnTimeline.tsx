/**
 * Turns on a line of time, newest first, with the outages behind them; a click explains a turn.
 *
 * TurnTimeline.T1. Only the rows in sight are drawn, so thousands of turns scroll like a few.
 */
import type { PeriodReport, TurnState } from "@holdfast/wire"
import { useEffect, useRef, useState } from "react"
import * as Durations from "../text/Durations.ts"
import * as Period from "./Period.ts"
import * as Rows from "./Rows.ts"
import type { Night } from "./useNight.ts"

interface TurnTimelineProps {
  readonly night: Night
  readonly outages: ReadonlyArray<PeriodReport.Outage>
  readonly selected: string | undefined
  readonly onSelect: (turn: TurnState.TurnSummary) => void
}

/** The timeline of a night. */
export const TurnTimeline = ({ night, onSelect, outages, selected }: TurnTimelineProps) => {
  const { since, turns, until } = night
  const { height, scroller, top } = useSight()
  const { end, first } = Rows.drawn(turns.length, top, height)
  return (
    <div className="timeline">
      <div className="axis-labels" aria-hidden="true">
        {Period.ticksOf(since, until).map(({ at, place }) => (
          <span key={at} style={{ left: percent(place) }}>
            {Durations.moment(at, at)}
          </span>
        ))}
      </div>
      <div className="rows" ref={scroller} tabIndex={0} role="region" aria-label="Turns on a line of time">
        <div className="canvas" style={{ height: turns.length * Rows.ROW_PX }}>
          {outages.map((outage) => (
            <span
              key={`${outage.target} ${outage.beganAt}`}
              className="outage"
              style={spanOf(outage.beganAt, outage.endedAt ?? until, since, until)}
            />
          ))}
          <ol style={{ transform: `translateY(${first * Rows.ROW_PX}px)` }}>
            {turns.slice(first, end).map((turn, index) => (
              <li key={turn.turnId} aria-setsize={turns.length} aria-posinset={first + index + 1}>
                <button
                  type="button"
                  className={turn.turnId === selected ? "row selected" : "row"}
                  aria-pressed={turn.turnId === selected}
                  onClick={() => onSelect(turn)}
                >
                  <span className="row-words">
                    <span className={`state ${turn.status}`}>{wordsOf(turn, until)}</span>{" "}
                    {turn.prompt ?? "The model runs again"} <span className="quiet">{turn.model}</span>
                  </span>
                  <span
                    className={`bar ${turn.status}`}
                    style={spanOf(turn.acceptedAt, turn.endedAt ?? until, since, until)}
                  />
                </button>
              </li>
            ))}
          </ol>
        </div>
      </div>
    </div>
  )
}

// --- internal

const percent = (place: number): string => `${(place * 100).toFixed(3)}%`

const spanOf = (from: number, to: number, since: number, until: number) => {
  const left = Period.placeOf(from, since, until)
  return { left: percent(left), width: percent(Period.placeOf(to, since, until) - left) }
}

const wordsOf = ({ acceptedAt, attempts, endedAt, status, wait }: TurnState.TurnSummary, now: number): string => {
  if (status === "waiting") {
    return wait?.asks === undefined ? `waits until ${Durations.moment(wait?.retryAt ?? now, now)}` : "asks you"
  }
  const words = status === "completed" ? "done" : status === "aborted" ? "stopped" : status
  const took = endedAt === undefined ? "" : ` in ${Durations.duration(endedAt - acceptedAt)}`
  return `${words}${took}${attempts > 1 ? `, ${attempts} attempts` : ""}`
}

/** The part of a list that is in sight. */
const useSight = () => {
  const scroller = useRef<HTMLDivElement>(null)
  const [sight, setSight] = useState({ top: 0, height: 0 })
  useEffect(() => {
    const element = scroller.current
    if (element === null) return undefined
    const look = (): void => setSight({ top: element.scrollTop, height: element.clientHeight })
    const size = new ResizeObserver(look)
    size.observe(element)
    element.addEventListener("scroll", look, { passive: true })
    return () => {
      size.disconnect()
      element.removeEventListener("scroll", look)
    }
  }, [])
  return { scroller, ...sight }
}
