/** The rows of the timeline: equal turns beside each other are one row, which can be opened. Pure. */
import type { TurnState } from "@holdfast/wire"

/** Fewer turns than these have a row each. */
export const FEWEST = 3

/** Turns that have ended in the same way, on the same model, for the same cause and after as many calls; newest first. */
export interface TurnGroup {
  /** The oldest of them: when newer turns join, it stays open. */
  readonly key: string
  readonly turns: ReadonlyArray<TurnState.TurnSummary>
  readonly isOpen: boolean
}

/** A row: a turn, or the head of a group, whose turns follow while it is open. */
export type Row =
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
