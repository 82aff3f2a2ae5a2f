/**
 * Shares findings about an endpoint between processes, and applies them (X5, X6).
 *
 * News is small, it is late by about a second, and clocks differ: if it is wrong, a call is wasted.
 *
 * News.N1. A process trusts its own calls first: while one of them is answered, no news of a failure counts.
 * News.N2. A process whose calls are refused while those of others are answered has no room at the endpoint. It tries with a single probe,
 *     after 5 s, 15 s, 45 s …, and not with its crowd each time that another process has an answer.
 */
import type { Failure } from "@holdfast/wire"
import * as Gate from "./Gate.ts"

/** The findings of one process about an endpoint. Times are epoch milliseconds, 0 for never. */
export interface News {
  /** When a turn that had waited last called it. */
  readonly triedAt: number
  /** When it last answered. */
  readonly answeredAt: number
  readonly failedAt: number
  /** The failure at that time; absent: it did not fail. */
  readonly failure: Failure.Failure | undefined
}

/** Returns the news of a process. */
export const of = ({ last, triedAt }: Gate.Gate, answeredAt: number): News => ({
  triedAt,
  answeredAt,
  failedAt: last?.at ?? 0,
  failure: last?.failure
})

/** Whether `news` has a later time than `known`. */
export const isNewer = (news: News, known: News | undefined): boolean =>
  known === undefined ||
  news.triedAt > known.triedAt ||
  news.answeredAt > known.answeredAt ||
  news.failedAt > known.failedAt

/** Applies the news of other processes to a gate. */
export const apply = (before: Gate.Gate, { answeredAt, failedAt, failure, triedAt }: News): Gate.Gate => {
  const gate = { ...before, triedAt: Math.max(before.triedAt, triedAt) } // a probe of one process counts for all
  const known = gate.last?.at ?? 0
  if (failure !== undefined && failedAt > known && failedAt > answeredAt) {
    return Gate.failedFirst(gate, failedAt, failure) // News.N1
  }
  if (gate.phase !== "shut" || answeredAt <= known) return gate
  if (gate.probes === undefined) return Gate.answeredFirst(gate)
  const tries = Math.min(gate.probes, Gate.EAGER_PROBES)
  return answeredAt - known >= Gate.PROBE_MIN_MS * Gate.EAGER_FACTOR ** tries ? { ...gate, triedAt: 0 } : gate // News.N2
}
