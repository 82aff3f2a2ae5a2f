/**
 * Previews a policy: lists its retries and waits before it runs.
 *
 * It uses the function that decides for real turns, with an endpoint that gives no hints and fails at once every time.
 */
import { defined, type Failure, Target } from "@holdfast/wire"
import * as RetryPolicy from "../decision/RetryPolicy.ts"
import * as Simulation from "./Simulation.ts"

/** One retry. */
export interface Row {
  /** 0-based. */
  readonly attempt: number
  /** The wait before it, in milliseconds. */
  readonly delayMs: number
  /** Its time in milliseconds after the first failure: the sum of all waits so far. */
  readonly atMs: number
  /** The budget cut this wait short. */
  readonly clipped: boolean
}

/** The retries of a policy, row by row. */
export interface Preview {
  readonly rows: ReadonlyArray<Row>
  /** The total sleep, in milliseconds. */
  readonly totalMs: number
  /** Why it ends after these rows; absent if it continues beyond the requested rows. */
  readonly because?: RetryPolicy.RefusalReason
}

/** One retry of an outlook: its wait and its target. */
export interface RetryStep {
  readonly delayMs: number
  /** `provider/model`. */
  readonly target: string
}

/** The course of a step after failures of one kind, or of several kinds that are treated alike. */
interface Outlook {
  /** The kinds, by reason. */
  readonly kinds: ReadonlyArray<string>
  readonly steps: ReadonlyArray<RetryStep>
  /** Why it ends after these steps; absent if it continues beyond the requested steps. */
  readonly because?: string
}

/** A policy may have no end; more rows are not useful. */
const MOST_ROWS = 1000

/** Returns every retry of a policy, up to `most`. */
export const rows = (policy: RetryPolicy.RetryPolicy, most: number = MOST_ROWS): Preview => {
  const rows: Array<Row> = []
  let atMs = 0
  for (;;) {
    const attempt = rows.length
    const spent = { sleptMs: atMs, elapsedMs: atMs, spread: 0 }
    const decision = RetryPolicy.decide(policy, attempt, undefined, spent)
    if (decision._tag === "Refused") return { rows, totalMs: atMs, because: decision.because }
    // Also after the last row: a policy that ends there has a reason.
    if (rows.length >= most) return { rows, totalMs: atMs }
    atMs += decision.delayMs
    rows.push({ attempt, delayMs: decision.delayMs, atMs, clipped: decision.clipped })
  }
}

/**
 * Returns the retries of a policy for every kind of failure, if it never ended and occurred on every target; kinds that are treated alike
 * are one entry.
 */
export const byKind = (
  policy: RetryPolicy.RetryPolicy,
  primary: Target.Target,
  most: number
): ReadonlyArray<Outlook> => {
  const outlooks = new Map<string, Outlook>()
  for (const [kind, failure] of KINDS) {
    const outlook = outlookOf(policy, primary, failure, most)
    const key = JSON.stringify(outlook)
    outlooks.set(key, { ...outlook, kinds: [...(outlooks.get(key)?.kinds ?? []), kind] })
  }
  return Array.from(outlooks.values())
}

// --- internal

const outlookOf = (
  policy: RetryPolicy.RetryPolicy,
  primary: Target.Target,
  failure: Failure.Failure,
  most: number
): Omit<Outlook, "kinds"> => {
  const { because, calls } = Simulation.run({ policy, primary, outage: () => failure, mostCalls: most + 1 })
  const steps = calls.flatMap(({ directive }, n) => {
    const next = calls[n + 1]
    return directive?._tag === "Retry" && next !== undefined
      ? [{ delayMs: directive.delayMs, target: Target.format(next.route.target) }]
      : []
  })
  return { steps, ...defined({ because }) }
}

const failure = (
  reason: Failure.Reason,
  retryable: boolean,
  status?: number
): readonly [kind: string, failure: Failure.Failure] => [
  reason,
  { reason, message: reason, retryable, ...defined({ status }) }
]

/** Failures as providers send them, without a hint. A context that is too long is not decided by a policy. */
const KINDS: ReadonlyArray<readonly [kind: string, failure: Failure.Failure]> = [
  failure("rate-limited", true, 429),
  failure("overloaded", true, 529),
  failure("server-error", true, 500),
  ["an error inside an answer", { reason: "server-error", message: "server-error", retryable: true }],
  failure("network", true),
  failure("timeout", true),
  failure("aborted", true),
  failure("invalid-response", true),
  failure("unknown", true),
  failure("quota-exhausted", false, 429),
  failure("auth", false, 401),
  failure("model-unavailable", false, 404),
  failure("bad-request", false, 400),
  failure("refused", false)
]
