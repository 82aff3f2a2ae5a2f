/**
 * Resolves the `retry` object of a configuration to a policy. `RetrySettings.ts` reads that object.
 *
 * A profile is a named policy; settings replace single primitives of it.
 */
import { defined } from "@holdfast/wire"
import * as Duration from "effect/Duration"
import * as Budget from "../decision/Budget.ts"
import * as Durations from "./Durations.ts"
import * as Backoff from "../decision/Backoff.ts"
import { toReasons, toBudget } from "./ReasonSettings.ts"
import { toRouting } from "./RoutingSettings.ts"
import { toSchedule } from "./ScheduleSettings.ts"
import type { RetrySettings, ProfileName } from "./RetrySettings.ts"
import { toSpendGuard } from "./SpendGuardSettings.ts"
import type { RetryPolicy } from "../decision/RetryPolicy.ts"
import * as Routing from "../routing/Routing.ts"
import * as WaitRules from "../decision/WaitRules.ts"

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
      jitter: jitter === "none" ? Backoff.noJitter : jitter,
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

/**
 * 10 minutes to the first content: the default of the SDKs of OpenAI and Anthropic, and enough for models that think before they answer. 5
 * minutes between contents.
 */
const requestTimeout = { firstContentMs: 600_000, idleMs: 300_000 }

/** A8: `llmTimeout`. */
const LLM_TIMEOUT_MS = 600_000

const overnight: RetryPolicy = {
  enabled: true,
  schedule: Backoff.overnight,
  reasons: {},
  jitter: Backoff.noJitter,
  counts: "retries",
  budget: Budget.overnight,
  hints: true,
  requestTimeout,
  routing: Routing.noChains
}

/**
 * The policy behind each name.
 *
 * **Details**
 *
 * `overnight` (rules D) is the stepped schedule within 8 hours. It follows hints: a hint can only lengthen a wait, so the schedule stays
 * the lower bound. A hint beyond the rest of the budget ends the step at once, instead of spending the night on attempts that are known to
 * fail. It has no cap on a single wait.
 * `weekly` does the same within 8 days: a plan's weekly limit is waited for.
 *
 * `interactive` (rules P) makes 3 retries after 2, 4 and 8 seconds and fails rather than wait more than 5 minutes.
 *
 * Both switch from a used-up credential to the next credential of its provider (P7), and use a fallback chain if there is one (P8).
 *
 * `cycling` (rules A) makes 3 attempts, on its targets in turn, with a wait for each kind of failure; a step without progress for 10
 * minutes fails (A8), and a turn has 10 steps (A11). Its schedule applies to failures without a rule.
 */
export const profiles: { readonly [Name in ProfileName]: RetryPolicy } = {
  overnight,
  weekly: { ...overnight, budget: Budget.weekly },
  interactive: {
    enabled: true,
    schedule: Backoff.interactive,
    reasons: {},
    jitter: Backoff.noJitter,
    maxRetries: 3,
    counts: "retries",
    budget: Budget.unlimited,
    maxDelayMs: 300_000,
    hints: true,
    requestTimeout,
    routing: Routing.noChains
  },
  cycling: {
    enabled: true,
    schedule: Backoff.linear(1_000, 1_000),
    reasons: WaitRules.cycling,
    jitter: Backoff.noJitter,
    maxRetries: 3,
    counts: "attempts",
    budget: Budget.unlimited,
    hints: true,
    requestTimeout: { firstContentMs: LLM_TIMEOUT_MS, idleMs: LLM_TIMEOUT_MS },
    routing: Routing.ownTarget,
    maxTurns: 10
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
