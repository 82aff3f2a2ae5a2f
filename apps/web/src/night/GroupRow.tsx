/** The row of a group of equal turns: how many there are, how they ended, and when. A click shows or hides them. */
import { Count, type TurnState } from "@holdfast/wire"
import { memo } from "react"
import * as ReasonText from "../text/ReasonText.ts"
import * as Period from "./Period.ts"
import * as CourseSpans from "./CourseSpans.ts"
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

/** Fewer turns than these have a row each. */
export const FEWEST = 3

/** Turns that have ended in the same way, on the same model, for the same cause and after as many calls; newest first. */
interface TurnGroup {
  /** The oldest of them: when newer turns join, it stays open. */
  readonly key: string
  readonly turns: ReadonlyArray<TurnState.TurnSummary>
  readonly isOpen: boolean
}

/** A row: a turn, or the head of a group, whose turns follow while it is open. */
type Row =
  | { readonly turn: TurnState.TurnSummary; readonly isMember: boolean; readonly group?: never }
  | { readonly group: TurnGroup; readonly turn?: never }

/** The rows of turns, in their order. */
export const rowsOf = (turns: ReadonlyArray<TurnState.TurnSummary>, opened: ReadonlySet<string>): ReadonlyArray<Row> =>
  runsOf(turns).flatMap((run): ReadonlyArray<Row> => {
    const members = (isMember: boolean) => run.map((turn) => ({ turn, isMember }))
    const oldest = run.at(-1)
    if (oldest === undefined || run.length < FEWEST) return members(false)
    const group = { key: oldest.turnId, turns: run, isOpen: opened.has(oldest.turnId) }
    return [{ group }, ...(group.isOpen ? members(true) : [])]
  })

// --- internal

/** What a turn's last call looks like on its own row. */
const SHAPES: Readonly<Record<string, CourseSpans.SpanShape>> = { completed: "answered", failed: "failed" }

/** Neighbours that are equal. */
const runsOf = (turns: ReadonlyArray<TurnState.TurnSummary>): ReadonlyArray<ReadonlyArray<TurnState.TurnSummary>> => {
  const runs: Array<Array<TurnState.TurnSummary>> = []
  let before: string | undefined
  for (const turn of turns) {
    const end = endOf(turn)
    if (end !== undefined && end === before) runs.at(-1)?.push(turn)
    else runs.push([turn])
    before = end
  }
  return runs
}

/** How a turn has ended; a turn that goes on is like no other. */
const endOf = ({ attempts, endedAt, error, model, status }: TurnState.TurnSummary): string | undefined =>
  endedAt === undefined
    ? undefined
    : JSON.stringify([status, model, attempts, error?.reason, error?.code, error?.message])
