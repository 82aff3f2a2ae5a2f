/** One turn on the line of time: its attempts, waits, switches and crashes, with the outages of its endpoints behind them. */
import { Count, HeldCall, type PeriodReport, type TurnCourse, type TurnState } from "@holdfast/wire"
import { type KeyboardEvent, memo, type MouseEvent } from "react"
import * as Moments from "../text/Moments.ts"
import * as Period from "./Period.ts"
import * as CourseSpans from "./CourseSpans.ts"

/** A turn, and the attempt of it that a person asked about. */
export interface Selection {
  readonly turn: TurnState.TurnSummary
  readonly at?: Pick<TurnCourse.CourseAttempt, "step" | "attempt"> | undefined
}

interface TurnRowProps {
  readonly turn: TurnState.TurnSummary
  readonly course: TurnCourse.TurnCourse | undefined
  readonly outages: ReadonlyArray<PeriodReport.Outage>
  readonly since: number
  readonly until: number
  readonly isSelected: boolean
  readonly onSelect: (selection: Selection) => void
}

/** The row of a turn. A click explains the attempt at its place; by keyboard the turn is explained from its beginning. A scroll draws new rows alone. */
export const TurnRow = memo(({ course, isSelected, onSelect, outages, since, turn, until }: TurnRowProps) => {
  const targets = new Set([turn.model, ...(course?.attempts.map(({ target }) => target) ?? [])])
  const select = ({ clientX, currentTarget, detail }: MouseEvent<HTMLButtonElement>): void => {
    const line = currentTarget.querySelector(".line-of-time")?.getBoundingClientRect()
    // A click of the keyboard has no place.
    if (course === undefined || line === undefined || detail === 0) return onSelect({ turn })
    const place = (clientX - line.left) / Math.max(1, line.width)
    onSelect({ turn, at: CourseSpans.attemptAt(course, since + place * (until - since)) })
  }
  return (
    <button
      type="button"
      className={isSelected ? "row selected" : "row"}
      aria-pressed={isSelected}
      onClick={select}
      onKeyDown={moveFocus}
    >
      <span className="row-behind">
        <OutageSpans outages={outages.filter(({ target }) => targets.has(target))} since={since} until={until} />
      </span>
      <span className="row-words">
        <span className={`state ${turn.status}`}>{wordsOf(turn, until)}</span> {turn.prompt ?? "The model runs again"}{" "}
        <span className="quiet">{turn.model}</span>
        {course !== undefined && <span className="hidden">{CourseSpans.wordsOf(course)}</span>}
      </span>
      <span className="line-of-time">
        <span
          className={`bar ${turn.status} ${course === undefined ? "" : "detailed"}`}
          style={Period.spanOf(turn.acceptedAt, turn.endedAt ?? until, since, until)}
        />
        {course !== undefined && <Course paths={CourseSpans.pathsOf(course, since, until)} />}
      </span>
    </button>
  )
})

/** The shapes on the line of a turn or group. */
export const Course = ({ paths }: { readonly paths: ReturnType<typeof CourseSpans.pathsOf> }) => (
  <svg
    className="course"
    viewBox={`0 0 ${CourseSpans.WIDTH} ${CourseSpans.HEIGHT}`}
    preserveAspectRatio="none"
    aria-hidden="true"
  >
    {paths.map(([shape, path]) => (
      <path key={shape} className={shape} d={path} />
    ))}
  </svg>
)

/** Outages of one endpoint or several. */
export interface OutageSpansProps {
  readonly outages: ReadonlyArray<PeriodReport.Outage>
  readonly since: number
  readonly until: number
}

/** Outages on a line of time. */
export const OutageSpans = ({ outages, since, until }: OutageSpansProps) =>
  outages.map((outage) => (
    <span
      key={`${outage.target} ${outage.beganAt}`}
      className="outage"
      style={Period.spanOf(outage.beganAt, Period.knownUntil(outage, until), since, until)}
    />
  ))

/** How a turn has ended, in a word. */
export const endWordOf = (status: TurnState.TurnState["status"]): string => (status === "completed" ? "done" : status)

/** The arrows go to the row above and below. */
export const moveFocus = (event: KeyboardEvent<HTMLButtonElement>): void => {
  const item = event.currentTarget.closest("li")
  const next =
    event.key === "ArrowDown"
      ? item?.nextElementSibling
      : event.key === "ArrowUp"
        ? item?.previousElementSibling
        : undefined
  const row = next?.querySelector("button")
  if (row === undefined || row === null) return
  event.preventDefault()
  row.focus()
}

// --- internal

const wordsOf = (
  { acceptedAt, attempts, conversationId, endedAt, status, wait }: TurnState.TurnSummary,
  now: number
): string => {
  if (status === "waiting") {
    const { asks, retryAt = now } = wait ?? {}
    const next = asks === undefined ? `waits until ${Moments.moment(retryAt, now)}` : "asks you"
    return HeldCall.dueWords(conversationId, retryAt - now) ?? next
  }
  const took = endedAt === undefined ? "" : ` in ${Moments.duration(endedAt - acceptedAt)}`
  return `${endWordOf(status)}${took}${attempts > 1 ? `, ${Count.of(attempts, "call")}` : ""}`
}
