/** Which turns `holdfast turns` prints: a plain function over what the database has. */
import type { TurnReport } from "../inspection/TurnReport.ts"

export interface Filter {
  readonly failed: boolean
  /** Accepted or ended since then, or not ended yet; epoch milliseconds. */
  readonly since: number | undefined
  /** `provider/model`, or a provider. */
  readonly model: string | undefined
  /** The newest so many. */
  readonly limit: number | undefined
}

/** The turns that pass, in the order in which they came. */
export const apply = (turns: ReadonlyArray<TurnReport>, filter: Filter): ReadonlyArray<TurnReport> => {
  const passing = turns.filter((turn) => passes(turn, filter))
  return filter.limit === undefined ? passing : passing.slice(-filter.limit)
}

// --- internal

const passes = ({ acceptedAt, endedAt, model, state }: TurnReport, filter: Filter): boolean =>
  (!filter.failed || state === "failed") &&
  (filter.since === undefined || endedAt === undefined || Math.max(acceptedAt, endedAt) >= filter.since) &&
  (filter.model === undefined || model === filter.model || model.startsWith(`${filter.model}/`))
