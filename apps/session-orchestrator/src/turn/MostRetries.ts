/**
 * Counts the retries that a policy can lead to: what clients show as `maxAttempts`. Pure.
 *
 * MostRetries.M1. A number that the policy sets wins. Otherwise the schedule is followed until the budget refuses a wait.
 * MostRetries.M2. A policy without an end has no number.
 */
import { Preview, RetryPolicy } from "@holdfast/policy"

/** The most retries of a step; `undefined`: there is no limit, or it is too far away to be shown. */
export const of = (policy: RetryPolicy.RetryPolicy): number | undefined => {
  const most = RetryPolicy.mostRetries(policy)
  if (most !== undefined) return most
  const { budget, maxDelayMs, schedule } = policy
  const known = counted.get(schedule)
  if (known !== undefined && known.budget === budget && known.maxDelayMs === maxDelayMs) return known.most
  const { because, rows } = Preview.rows({ ...policy, enabled: true })
  const count = because === undefined ? undefined : rows.length
  counted.set(schedule, { budget, maxDelayMs, most: count })
  return count
}

// --- internal

/** A count with the parts of the policy that it follows from, beside the schedule. */
interface Counted {
  readonly budget: RetryPolicy.RetryPolicy["budget"]
  readonly maxDelayMs: number | undefined
  readonly most: number | undefined
}

/** Every turn has a copy of its policy, and the copies share their parts: a thousand turns need one count. */
const counted = new WeakMap<RetryPolicy.RetryPolicy["schedule"], Counted>()
