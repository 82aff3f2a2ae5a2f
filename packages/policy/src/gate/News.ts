/**
 * Shares findings about an endpoint between processes, and applies them (X5, X6).
 *
 * News is small, it is late by about a second, and clocks differ: if it is wrong, a call is wasted. A process trusts its own calls first: while
 * one of them is answered, no news of a failure counts. And an answer elsewhere is worth one call here, not a crowd. Room and credit are not shared.
 */
import type { Failure } from "@holdfast/wire"
import * as Gate from "./Gate.ts"

/** The findings of one process about an endpoint. Times are epoch milliseconds, 0 for never. */
export interface News {
  /** When a call was last made. */
  readonly triedAt: number
  /** When it last answered. */
  readonly answeredAt: number
  readonly failedAt: number
  /** The failure at that time; absent: it did not fail. */
  readonly failure: Failure.Failure | undefined
  /** Refusals since its last answer, weighted. */
  readonly n: number
}

/** Returns the news of a process. */
export const of = ({ answeredAt, failure, n, refusedAt, triedAt }: Gate.Gate): News => ({
  triedAt: Math.max(0, triedAt),
  answeredAt: Math.max(0, answeredAt),
  failedAt: Math.max(0, refusedAt),
  failure,
  n
})

/** Whether `news` has a later time than `known`. */
export const isNewer = (news: News, known: News | undefined): boolean =>
  known === undefined ||
  news.triedAt > known.triedAt ||
  news.answeredAt > known.answeredAt ||
  news.failedAt > known.failedAt

/** Applies the news of another process to a gate. */
export const apply = (before: Gate.Gate, { answeredAt, failedAt, failure, n, triedAt }: News): Gate.Gate => {
  const gate = triedAt > Math.max(0, before.triedAt) ? { ...before, triedAt } : before // a probe of one process counts for all
  const refusedAt = Math.max(0, gate.refusedAt)
  if (failedAt > Math.max(refusedAt, gate.answeredAt) && answeredAt <= refusedAt) {
    const isTrusted = failure !== undefined && gate.answering === 0 && n > gate.n
    return isTrusted ? Gate.failedElsewhere(gate, n, failure, failedAt) : gate
  }
  const isBack = answeredAt > Math.max(failedAt, gate.answeredAt) && answeredAt - refusedAt >= Gate.PROBE_MIN_MS
  const isTried = gate.under > gate.answering
  if (!isBack || isTried || gate.n === 0) return gate
  // A gate that is not off, as it has met few refusals, does not take the answer for its own: it would hold due turns.
  return { ...gate, isToTry: true, answeredAt: Gate.isOff(gate) ? answeredAt : gate.answeredAt }
}
