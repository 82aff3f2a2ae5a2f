/** What a failure says about its target and its credential: how long they are better left alone (P7, P8). */
import type { Directive } from "@holdfast/kernel"
import * as Backoff from "../Backoff.ts"
import type { RetryPolicy } from "../RetryPolicy.ts"
import * as Waits from "../Waits.ts"
import type { Pause } from "./Standing.ts"

/** How long a credential is limited when nobody says until when: providers count quotas by the hour and longer. */
export const QUOTA_MS = 3_600_000

/** The limit of a credential whose quota is used up: until its reset (P7). */
export const limit = (policy: RetryPolicy, situation: Directive.Situation): Pause =>
  pauseOf(policy, situation, QUOTA_MS)

/**
 * The cooldown of a target, at least `cooldownMs` long; a hint lengthens it (P8).
 *
 * **Details**
 *
 * A used-up quota's reset does not: it is its credential's, and with another one the target is worth a call before.
 */
export const cooldown = (
  policy: RetryPolicy,
  situation: Directive.Situation,
  cooldownMs: number,
  isQuota: boolean
): Pause => {
  const least = situation.now + cooldownMs
  if (isQuota) return { until: least, reason: situation.failure.reason, retryable: true }
  const pause = pauseOf(policy, situation, cooldownMs)
  return { ...pause, until: Math.max(least, pause.until) }
}

// --- internal

/** Until what was asked for, or else for `otherwiseMs`. */
const pauseOf = ({ hints }: RetryPolicy, { failure, now }: Directive.Situation, otherwiseMs: number): Pause => {
  const asked = hints ? Waits.askedMs(failure) : undefined
  const askedUntil = asked === undefined ? undefined : now + Math.ceil(Math.min(asked, Backoff.LONGEST_MS))
  return {
    until: askedUntil ?? now + otherwiseMs,
    reason: failure.reason,
    retryable: failure.retryable,
    ...(askedUntil === undefined ? {} : { askedUntil })
  }
}
