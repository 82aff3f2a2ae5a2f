/**
 * A policy laid out in time, for people who want to see it before they trust it.
 *
 * Made by the function that decides for real turns, for an endpoint that gives no hints and fails at once every time.
 */
import * as RetryPolicy from "./RetryPolicy.ts"

/** One retry. */
export interface Row {
  /** 0-based. */
  readonly attempt: number
  /** The wait before it, in milliseconds. */
  readonly delayMs: number
  /** When it happens, in milliseconds after the first failure: the sum of all waits so far. */
  readonly atMs: number
  /** The budget cut this wait short. */
  readonly clipped: boolean
}

export interface Preview {
  readonly rows: ReadonlyArray<Row>
  /** Sleep in all, in milliseconds. */
  readonly totalMs: number
  /** Why it ends after these; absent when it goes on beyond the rows that were asked for. */
  readonly because?: RetryPolicy.Because
}

/** A policy may have no end; nobody reads further than this. */
const MOST_ROWS = 1000

/** Every retry of a policy, up to `most` of them. */
export const rows = (policy: RetryPolicy.RetryPolicy, most: number = MOST_ROWS): Preview => {
  const rows: Array<Row> = []
  let atMs = 0
  while (rows.length < most) {
    const attempt = rows.length
    const spent = { sleptMs: atMs, elapsedMs: atMs, spread: 0 }
    const decision = RetryPolicy.decide(policy, attempt, undefined, spent)
    if (decision._tag === "Refused") return { rows, totalMs: atMs, because: decision.because }
    atMs += decision.delayMs
    rows.push({ attempt, delayMs: decision.delayMs, atMs, clipped: decision.clipped })
  }
  return { rows, totalMs: atMs }
}
