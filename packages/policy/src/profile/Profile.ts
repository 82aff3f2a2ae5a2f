/**
 * Decodes the `retry` object of a configuration, and resolves it to a policy.
 *
 * A profile is a named policy; settings replace single primitives of it.
 *
 * Profile.S1. Decoding is strict: an unknown key, unit or value is an error with its path and the expected value.
 * Profile.S2. Every decoded schedule makes progress: none repeats a delay of 0 without end.
 */
import { defined } from "@holdfast/wire"
import * as Duration from "effect/Duration"
import type * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import type * as Budget from "../decision/Budget.ts"
import * as Durations from "./Durations.ts"
import * as Jitter from "../decision/Jitter.ts"
import { profiles } from "./Profiles.ts"
import { toBudget } from "./BudgetSettings.ts"
import { toReasons } from "./ReasonSettings.ts"
import { targetNames as namesIn, toRouting } from "./RoutingSettings.ts"
import { toSchedule } from "./ScheduleSettings.ts"
import { RetrySettings } from "./RetrySettings.ts"
import { toSpendGuard } from "./SpendGuardSettings.ts"
import type { RetryPolicy } from "../decision/RetryPolicy.ts"

export { profiles } from "./Profiles.ts"
export { ProfileName, RetrySettings } from "./RetrySettings.ts"

/** The parse options that Profile.S1 requires, for decoding settings inside a larger schema. */
export const PARSE_OPTIONS: SchemaAST.ParseOptions = { onExcessProperty: "error", errors: "all" }

/** Reads a `retry` object. The error's message has two lines for each fault: the expected value and the path. */
export const decode: (input: unknown) => Result.Result<RetrySettings, Schema.SchemaError> = Schema.decodeUnknownResult(
  RetrySettings,
  PARSE_OPTIONS
)

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

/** Returns every target in settings, `provider/model`, with its path. */
export const targetNames = ({
  routing
}: RetrySettings): ReadonlyArray<{ readonly path: ReadonlyArray<string | number>; readonly name: string }> =>
  routing === undefined ? [] : namesIn(routing).map(({ name, path }) => ({ name, path: ["routing", ...path] }))

// --- internal

const budgetOf = (profile: Budget.Budget, { budget, measure }: RetrySettings): Budget.Budget => {
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
