/** Derives pauses of targets, credentials and accounts from failures (C12, P7, P8). */
import type { Directive } from "@holdfast/kernel"
import { defined, type Target } from "@holdfast/wire"
import * as Backoff from "../decision/Backoff.ts"
import type { RetryPolicy } from "../decision/RetryPolicy.ts"
import * as WaitRules from "../decision/WaitRules.ts"
import * as Standing from "./Standing.ts"

/** The pause of a credential whose error names no reset: providers count quotas by the hour and longer. */
const QUOTA_MS = 3_600_000

/**
 * Returns the pauses after a used-up quota, until its reset (P7).
 *
 * **Details**
 *
 * The called model is always limited with its credential. If the error named a model, there is no other pause. Otherwise the credential's
 * quota is used up too; it blocks other models only if the error named the account (C12).
 */
export const quota = (
  policy: RetryPolicy,
  situation: Directive.Situation,
  target: Target.Target,
  credential: string
): Standing.Standing => limits(situation, target, credential, pauseOf(policy, situation, QUOTA_MS))

/** Returns the pauses after a rate limit, at least `cooldownMs` long, as for targets; a hint lengthens them. */
export const rateLimit = (
  policy: RetryPolicy,
  situation: Directive.Situation,
  target: Target.Target,
  credential: string,
  cooldownMs: number
): Standing.Standing => limits(situation, target, credential, cooldownOf(policy, situation, cooldownMs))

/**
 * Returns the cooldown of a target, at least `cooldownMs` long; a hint lengthens it (P8).
 *
 * **Details**
 *
 * The reset of a credential's quota does not lengthen it: with another credential the target may be called before.
 */
export const cooldown = (
  policy: RetryPolicy,
  situation: Directive.Situation,
  target: Target.Target,
  cooldownMs: number,
  isOfCredential: boolean
): Standing.Standing => {
  const { failure, now } = situation
  const pause: Standing.Pause = isOfCredential
    ? { until: now + cooldownMs, reason: failure.reason, retryable: true, since: now }
    : cooldownOf(policy, situation, cooldownMs)
  return Standing.paused(Standing.target(target), pause)
}

// --- internal

const limits = (
  { failure: { reason, scope } }: Directive.Situation,
  target: Target.Target,
  credential: string,
  pause: Standing.Pause
): Standing.Standing => {
  const model = Standing.paused(Standing.model(target, credential), pause)
  const isQuota = reason === "quota-exhausted"
  if (scope === "account" || (scope === "credential" && !isQuota)) {
    return Standing.merge(model, Standing.paused(Standing.account(target.provider, credential), pause))
  }
  return isQuota && scope !== "model"
    ? Standing.merge(model, Standing.paused(Standing.credential(target.provider, credential), pause))
    : model
}

const cooldownOf = (policy: RetryPolicy, situation: Directive.Situation, cooldownMs: number): Standing.Pause => {
  const pause = pauseOf(policy, situation, cooldownMs)
  return { ...pause, until: Math.max(situation.now + cooldownMs, pause.until) }
}

/** A pause until the hint, or else for `defaultMs`. */
const pauseOf = ({ hints }: RetryPolicy, { failure, now }: Directive.Situation, defaultMs: number): Standing.Pause => {
  const asked = hints ? WaitRules.askedMs(failure) : undefined
  const askedUntil = asked === undefined ? undefined : now + Math.ceil(Math.min(asked, Backoff.LONGEST_MS))
  return {
    until: askedUntil ?? now + defaultMs,
    reason: failure.reason,
    retryable: failure.retryable,
    since: now,
    ...defined({ askedUntil })
  }
}
