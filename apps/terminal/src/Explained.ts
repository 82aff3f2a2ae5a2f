/** Finds in an explanation what a screen shows beside events. Pure. */
import type { TurnExplanation } from "@holdfast/wire"

/** What the budget leaves for further waits after the wait before a retry; absent: not known, or without limit. */
export const budgetLeftMs = ({ steps }: TurnExplanation.TurnExplanation, retry: number): number | undefined => {
  for (const { attempts } of steps.toReversed()) {
    for (const { decision, wait } of attempts.toReversed()) {
      if (decision?.type !== "retry" || decision.retry !== retry) continue
      const { delayMs, spending } = decision
      if (spending?.totalMs === undefined) return undefined
      const changes = wait?.changes ?? []
      // The length of a wait that was moved is known when it has ended.
      if (changes.some(({ type }) => type === "moved")) return undefined
      const extendedMs = changes.reduce((sum, change) => sum + (change.type === "extended" ? change.byMs : 0), 0)
      return Math.max(0, spending.totalMs + extendedMs - spending.spentMs - delayMs)
    }
  }
  return undefined
}

/** The whole response of the last attempt that has one. */
export const lastBody = ({ steps }: TurnExplanation.TurnExplanation): string | undefined =>
  steps.flatMap(({ attempts }) => attempts.flatMap(({ body }) => body ?? [])).at(-1)
