/** The row of a group of equal turns: how many there are, how they ended, and when. A click shows or hides them. */
import { Count } from "@holdfast/wire"
import { memo } from "react"
import * as ReasonText from "../text/ReasonText.ts"
import * as Period from "./Period.ts"
import * as CourseSpans from "./CourseSpans.ts"
import type { TurnGroup } from "./TurnGroups.ts"
import { Course, endWordOf, moveFocus } from "./TurnRow.tsx"

interface GroupRowProps {
  readonly group: TurnGroup
  readonly since: number
  readonly until: number
  readonly onToggle: (key: string) => void
}

/** The head of a group. */
export const GroupRow = memo(({ group: { isOpen, key, turns }, onToggle, since, until }: GroupRowProps) => {
  const [newest] = turns
  if (newest === undefined) return null
  const { attempts, error, model, status } = newest
  const ends = turns.map(({ endedAt = until }) => endedAt)
  const began = turns.reduce((least, { acceptedAt }) => Math.min(least, acceptedAt), until)
  const ended = ends.reduce((most, at) => Math.max(most, at), since)
  return (
    <button
      type="button"
      className="row group"
      aria-expanded={isOpen}
      onClick={() => onToggle(key)}
      onKeyDown={moveFocus}
    >
      <span className="row-words">
        <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span>{" "}
        <span className={`state ${status}`}>
          {turns.length} × {endWordOf(status)}
          {attempts > 1 && `, ${Count.of(attempts, "call")} each`}
        </span>{" "}
        {error !== undefined &&
          `${ReasonText.wordsOf(error.reason)}${error.code === undefined ? "" : ` (${error.code})`}: ${error.message} `}
        <span className="quiet">{model}</span>
      </span>
      <span className="line-of-time">
        <span className={`bar ${status} detailed`} style={Period.spanOf(began, ended, since, until)} />
        <Course paths={[[SHAPES[status] ?? "call", CourseSpans.marksOf(ends, since, until)]]} />
      </span>
    </button>
  )
})

// --- internal

/** What a turn's last call looks like on its own row. */
const SHAPES: Readonly<Record<string, CourseSpans.SpanShape>> = { completed: "answered", failed: "failed" }
