/**
 * What processes tell each other of an endpoint, and what one makes of it (X5, X6).
 *
 * It is little and it is late, by a second or so, and clocks differ: whoever believes it wrongly wastes a call.
 *
 * N1. What a process sees itself it knows better: while an answer comes to it, no news of a failure counts.
 * N2. A process that was refused where others are answered has found that there is no room for it. It tries again alone, after 5 s, 15 s,
 *     45 s …, and not as a crowd each time that somebody else has an answer.
 */
import type { Failure } from "@holdfast/wire"
import * as Gate from "./Gate.ts"

/** Times are epoch milliseconds, 0 for never. */
export interface News {
  /** When it was last called by somebody who had waited. */
  readonly triedAt: number
  /** When it last answered. */
  readonly answeredAt: number
  readonly failedAt: number
  /** What it failed with then; absent where it did not fail. */
  readonly failure: Failure.Failure | undefined
}

/** What a process has to tell. */
export const of = ({ last, triedAt }: Gate.Gate, answeredAt: number): News => ({
  triedAt,
  answeredAt,
  failedAt: last?.at ?? 0,
  failure: last?.failure
})

/** Whether there is something in `news` that `known` has not. */
export const isNewer = (news: News, known: News | undefined): boolean =>
  known === undefined ||
  news.triedAt > known.triedAt ||
  news.answeredAt > known.answeredAt ||
  news.failedAt > known.failedAt

/** A gate that has heard what others have found out. */
export const heard = (before: Gate.Gate, { answeredAt, failedAt, failure, triedAt }: News): Gate.Gate => {
  const gate = { ...before, triedAt: Math.max(before.triedAt, triedAt) } // probes of all are one another's
  const known = gate.last?.at ?? 0
  if (failure !== undefined && failedAt > known && failedAt > answeredAt) {
    return Gate.failedFirst(gate, failedAt, failure) // N1
  }
  if (gate.phase !== "shut" || answeredAt <= known) return gate
  if (gate.probes === undefined) return Gate.answeredFirst(gate)
  const tries = Math.min(gate.probes, Gate.EAGER_PROBES)
  return answeredAt - known >= Gate.PROBE_MIN_MS * Gate.EAGER_FACTOR ** tries ? { ...gate, triedAt: 0 } : gate // N2
}
