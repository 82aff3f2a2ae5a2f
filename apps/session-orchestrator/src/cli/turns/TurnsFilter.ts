/** Filters the turns that `holdfast turns` prints. Pure. */
import type { TurnReport } from "../../inspection/TurnReport.ts"

/** The conditions; a turn must meet all of them. */
export interface Filter {
  readonly failed: boolean
  /** The turn was accepted or ended since then, or has not ended; epoch milliseconds. */
  readonly since: number | undefined
  /** `provider/model`, or a provider. */
  readonly model: string | undefined
  /** The number of turns at most; the newest are kept. */
  readonly limit: number | undefined
}

/** The turns that meet the conditions, in their order. */
export const apply = (turns: ReadonlyArray<TurnReport>, filter: Filter): ReadonlyArray<TurnReport> => {
  const passing = turns.filter((turn) => passes(turn, filter))
  return filter.limit === undefined ? passing : passing.slice(-filter.limit)
}

// --- internal

const passes = ({ acceptedAt, endedAt, model, state }: TurnReport, filter: Filter): boolean =>
  (!filter.failed || state === "failed") &&
  (filter.since === undefined || endedAt === undefined || Math.max(acceptedAt, endedAt) >= filter.since) &&
  (filter.model === undefined || model === filter.model || model.startsWith(`${filter.model}/`))
