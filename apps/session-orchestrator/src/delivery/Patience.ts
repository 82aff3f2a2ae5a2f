/**
 * Decides when a failed delivery is tried again. Pure.
 *
 * The wait is the longer of the schedule's and the receiver's hint, up to a limit. A receiver that is gone (410), and an address that
 * may not be reached, are given up at once.
 */
import { Backoff } from "@holdfast/policy"
import type { Failure } from "@holdfast/wire"

/** A schedule of deliveries. */
export interface Patience {
  readonly waits: Backoff.Schedule
  readonly mostRetries: number
  /** Whether a failure that is permanent for a provider is tried again: an operator may mend the receiver. */
  readonly triesRefusals: boolean
  /** The longest wait that a receiver may ask for. */
  readonly longestHintMs: number
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** A turn's end is worth three days: 12 attempts. */
export const OF_TURN_ENDS: Patience = {
  waits: Backoff.steps([
    5 * SECOND,
    30 * SECOND,
    2 * MINUTE,
    10 * MINUTE,
    30 * MINUTE,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    24 * HOUR
  ]),
  mostRetries: 11,
  triesRefusals: true,
  longestHintMs: 24 * HOUR
}

/** A notice is of use while it is news, a report in the morning: 9 attempts within two hours. */
export const OF_NOTICES: Patience = {
  waits: Backoff.steps([SECOND, 5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE]),
  mostRetries: 8,
  triesRefusals: false,
  longestHintMs: HOUR
}

/** Milliseconds before the next attempt; `undefined`: the message is given up. */
export const waitAfter = (
  { longestHintMs, mostRetries, triesRefusals, waits }: Patience,
  failedAttempts: number,
  { hint, reason, retryable, status }: Failure.Failure
): number | undefined => {
  const isFinal = status === 410 || (status === undefined && reason === "refused")
  if (isFinal || (!retryable && !triesRefusals) || failedAttempts > mostRetries) return undefined
  return Math.max(Backoff.delayAt(waits, failedAttempts - 1), Math.min(hint?.retryAfterMs ?? 0, longestHintMs))
}
