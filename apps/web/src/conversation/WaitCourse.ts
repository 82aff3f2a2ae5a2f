/** Reads from a turn's explanation what the notice of its wait shows: failed attempts, deaths of the service, the budget. Pure. */
import type { TurnExplanation } from "@holdfast/wire"

/** The waiting step. */
export type WaitCourse = ReturnType<typeof of>

/** The course of the newest step. */
export const of = ({ steps }: Pick<TurnExplanation.TurnExplanation, "steps">) => {
  const attempts = steps.at(-1)?.attempts ?? []
  const failures = attempts.flatMap(({ endedAt, failure, outcome }) =>
    outcome === "failed" && endedAt !== undefined ? [{ at: endedAt, code: failure?.code }] : []
  )
  const newest = attempts.at(-1)
  /** When the service's next process found that the one before had died during this wait. */
  const deaths = (newest?.wait?.deaths ?? []).map(({ at }) => at)
  const decision = newest?.decision
  if (decision?.type !== "retry" || decision.spending === undefined) return { failures, deaths, budget: undefined }
  const { measure, spentMs, totalMs } = decision.spending
  const extendedMs = (newest?.wait?.changes ?? []).reduce(
    (sum, change) => (change.type === "extended" ? sum + change.byMs : sum),
    0
  )
  return {
    failures,
    deaths,
    /** The waiting time, this wait included; absent where the strategy recorded none. */
    budget: {
      // A clock that runs counts the wait as it passes; what counts sleeps has counted all of it.
      usedMs:
        measure === "scheduled"
          ? spentMs + decision.delayMs
          : spentMs + (newest?.wait?.retryAt ?? 0) - decision.decidedAt,
      totalMs: totalMs === undefined ? undefined : totalMs + extendedMs
    }
  }
}
