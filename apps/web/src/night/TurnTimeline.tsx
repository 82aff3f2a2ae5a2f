/**
 * Turns on a line of time, newest first, below the outages of each endpoint; a click explains the attempt at its place. Equal turns beside each
 * other are one row, until it is opened.
 *
 * Only the rows in sight are drawn and read, so thousands of turns scroll like a few.
 */
import type { PeriodReport } from "@holdfast/wire"
import { useVirtualizer } from "@tanstack/react-virtual"
import { memo, useCallback, useMemo, useRef, useState } from "react"
import * as Moments from "../text/Moments.ts"
import { GroupRow, rowsOf } from "./GroupRow.tsx"
import * as Period from "./Period.ts"
import * as CourseSpans from "./CourseSpans.ts"
import { OutageSpans, type OutageSpansProps, type Selection, TurnRow } from "./TurnRow.tsx"
import { useCourses } from "./useCourses.ts"
import type { Night } from "./useNight.ts"
import "./timeline.css"

/** The height of each row in pixels; the style has the same. */
const ROW_PX = 46

/** Rows beyond both edges, so that a quick scroll shows no gaps. */
const AROUND = 8

interface TurnTimelineProps {
  readonly night: Night
  readonly outages: ReadonlyArray<PeriodReport.Outage>
  readonly selected: string | undefined
  readonly onSelect: (selection: Selection) => void
}

/** The timeline of a night. */
export const TurnTimeline = ({ night, onSelect, outages, selected }: TurnTimelineProps) => {
  const { turns, until } = night
  const moments = [...turns.map(({ acceptedAt }) => acceptedAt), ...outages.map(({ beganAt }) => beganAt)]
  const since = Period.begunOf(night.since, until, moments)
  const scroller = useRef<HTMLDivElement>(null)
  const { opened, toggle } = useOpened()
  const rows = useMemo(() => rowsOf(turns, opened), [turns, opened])
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: AROUND
  })
  const drawn = list.getVirtualItems()
  const { index: first = 0, start = 0 } = drawn[0] ?? {}
  const end = first + drawn.length
  const courses = useCourses(rows, { first, end }, until)
  return (
    <>
      <Legend />
      <div className="timeline">
        <div className="axis-labels" aria-hidden="true">
          {Period.ticksOf(since, until)
            .filter(({ place }) => place < LAST_LABEL)
            .map(({ at, place }) => (
              <span key={at} style={{ left: Period.percent(place) }}>
                {Moments.moment(at, at)}
              </span>
            ))}
        </div>
        <OutageLanes outages={outages} since={since} until={until} />
        <div className="rows" ref={scroller} tabIndex={0} role="region" aria-label="Turns on a line of time">
          <div className="canvas" style={{ height: list.getTotalSize() }}>
            <ol style={{ transform: `translateY(${start}px)` }}>
              {rows.slice(first, end).map((row, index) => (
                <li
                  key={row.turn?.turnId ?? `group ${row.group?.key}`}
                  className={row.turn !== undefined && row.isMember ? "member" : undefined}
                  aria-setsize={rows.length}
                  aria-posinset={first + index + 1}
                >
                  {row.turn === undefined ? (
                    <GroupRow group={row.group} since={since} until={until} onToggle={toggle} />
                  ) : (
                    <TurnRow
                      turn={row.turn}
                      course={courses.get(row.turn.turnId)}
                      outages={outages}
                      since={since}
                      until={until}
                      isSelected={row.turn.turnId === selected}
                      onSelect={onSelect}
                    />
                  )}
                </li>
              ))}
            </ol>
          </div>
        </div>
      </div>
    </>
  )
}

// --- internal

const Legend = memo(() => (
  <p className="legend" aria-hidden="true">
    {CourseSpans.SHAPES.map((shape) => (
      <span key={shape}>
        <svg className="course" viewBox={`0 0 18 ${CourseSpans.HEIGHT}`} width="18" height="16">
          <path className={shape} d={IS_SPAN.has(shape) ? "M1 8H17" : "M9 1V15"} />
        </svg>{" "}
        {CourseSpans.WORDS[shape]}
      </span>
    ))}
    <span>
      <i className="outage" /> outage
    </span>
  </p>
))

/** A label behind this part of the width would be cut off. */
const LAST_LABEL = 0.9

const IS_SPAN: ReadonlySet<CourseSpans.SpanShape> = new Set(["wait", "call"])

/** The groups that a person has opened, by their keys. */
const useOpened = () => {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const toggle = useCallback(
    (key: string): void =>
      setOpened((before) =>
        before.has(key) ? new Set([...before].filter((k) => k !== key)) : new Set([...before, key])
      ),
    []
  )
  return { opened, toggle }
}

/** Endpoints that have a lane; the report lists all outages. */
const MOST_LANES = 5

/** A lane for each endpoint that had an outage, those with most of them first. */
const OutageLanes = memo(({ outages, since, until }: OutageSpansProps) => {
  const lanes = Map.groupBy(outages, ({ target }) => target)
  const shown = [...lanes].toSorted(([, a], [, b]) => b.length - a.length).slice(0, MOST_LANES)
  if (shown.length === 0) return null
  return (
    <ul className="outage-lanes" aria-label="Outages">
      {shown.map(([target, outages]) => (
        <li key={target}>
          <span className="outage-words">
            {target} <span className="quiet">down {lengthOf(outages, since, until)}</span>
          </span>
          <span className="outage-line">
            <OutageSpans outages={outages} since={since} until={until} />
          </span>
        </li>
      ))}
    </ul>
  )
})

const lengthOf = (outages: ReadonlyArray<PeriodReport.Outage>, since: number, until: number): string =>
  Moments.duration(
    outages.reduce(
      (sum, outage) => sum + Math.max(0, Period.knownUntil(outage, until) - Math.max(since, outage.beganAt)),
      0
    )
  )
