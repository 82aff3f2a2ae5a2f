/**
 * Resolves the `retry` object of a configuration to a policy. `RetrySettings.ts` reads that object.
 *
 * A profile is a named policy; settings replace single primitives of it.
 */
import { defined } from "@holdfast/wire"
import * as Duration from "effect/Duration"
import type * as Budget from "../decision/Budget.ts"
import * as Durations from "./Durations.ts"
import * as Jitter from "../decision/Jitter.ts"
import { profiles } from "./Profiles.ts"
import { toBudget } from "./LimitSettings.ts"
import { toReasons } from "./ReasonSettings.ts"
import { toRouting } from "./RoutingSettings.ts"
import { toSchedule } from "./ScheduleSettings.ts"
import type { RetrySettings } from "./RetrySettings.ts"
import { toSpendGuard } from "./SpendGuardSettings.ts"
import type { RetryPolicy } from "../decision/RetryPolicy.ts"

export { profiles } from "./Profiles.ts"
export type { ProfileName, RetrySettings } from "./RetrySettings.ts"

/** Returns the policy of settings: the profile, with each primitive replaced that is set. */
export const resolve = (settings: RetrySettings = {}): RetryPolicy => {
  const {
    budget: _,
    jitter,
    maxDelay,
    measure: __,
    profile: name,
    reasons,
    requestTimeout,
    routing,
    schedule,
    spendGuard,
    ...plain
  } = settings
  const profile = profiles[name ?? "overnight"]
  return {
    ...profile,
    ...plain, // a setting that is its primitive as it is written
    ...defined({
      schedule: schedule && toSchedule(schedule),
      jitter: jitter === "none" ? Jitter.none : jitter,
      maxDelayMs: maxDelay && maxDelayOf(maxDelay),
      spendGuard: spendGuard === "none" ? undefined : spendGuard && toSpendGuard(spendGuard),
      routing: routing && toRouting(routing)
    }),
    reasons: { ...profile.reasons, ...toReasons(reasons ?? {}) },
    budget: budgetOf(profile.budget, settings),
    requestTimeout: {
      firstContentMs: Durations.millisOr(requestTimeout?.firstContent, profile.requestTimeout.firstContentMs),
      idleMs: Durations.millisOr(requestTimeout?.idle, profile.requestTimeout.idleMs)
    }
  }
}

// --- internal

const budgetOf = (profile: Budget.WaitBudget, { budget, measure }: RetrySettings): Budget.WaitBudget => {
  const { clip, totalMs = profile.totalMs ?? Infinity } = toBudget(budget)
  return {
    // Policies are recorded as JSON, which has no Infinity: without a limit the key is absent.
    ...(Number.isFinite(totalMs) ? { totalMs } : {}),
    measure: measure ?? profile.measure,
    clip: clip ?? profile.clip
  }
}

/** A cap that is switched off is 0, because JSON has no Infinity. */
const maxDelayOf = (maxDelay: Duration.Duration): number =>
  Duration.isFinite(maxDelay) ? Math.max(0, Duration.toMillis(maxDelay)) : 0
