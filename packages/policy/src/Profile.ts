/**
 * The `retry` object of a configuration, and the named profiles that it changes.
 *
 * A profile is a policy and nothing more; settings replace single primitives of it.
 *
 * S1. Decoding is strict: an unknown key, unit or value is an error that names its path and what was expected.
 * S2. What is decoded can be waited out: no schedule repeats a delay of nothing for ever.
 */
import { Duration, type Result, Schema, type SchemaAST } from "effect"
import type * as Budget from "./Budget.ts"
import * as Durations from "./Durations.ts"
import * as Jitter from "./Jitter.ts"
import { profiles } from "./profile/Profiles.ts"
import { toBudget } from "./profile/BudgetSettings.ts"
import { toReasons } from "./profile/ReasonSettings.ts"
import { targetNames as namesIn, toRouting } from "./profile/RoutingSettings.ts"
import { toSchedule } from "./profile/ScheduleSettings.ts"
import { RetrySettings } from "./profile/Settings.ts"
import { toSpendGuard } from "./profile/SpendGuardSettings.ts"
import type { RetryPolicy } from "./RetryPolicy.ts"

export { profiles } from "./profile/Profiles.ts"
export { ProfileName, RetrySettings } from "./profile/Settings.ts"

/** How settings must be parsed for S1 to hold; for whoever decodes them inside a larger schema. */
export const PARSE_OPTIONS: SchemaAST.ParseOptions = { onExcessProperty: "error", errors: "all" }

/** Reads a `retry` object. The error's message has one line of expectation and one of path for everything wrong in it. */
export const decode: (input: unknown) => Result.Result<RetrySettings, Schema.SchemaError> = Schema.decodeUnknownResult(
  RetrySettings,
  PARSE_OPTIONS
)

/** The policy that settings describe: the profile first, then each primitive that is set, over it. */
export const resolve = (settings: RetrySettings = {}): RetryPolicy => {
  const profile = profiles[settings.profile ?? "overnight"]
  return {
    ...profile,
    ...(settings.enabled === undefined ? {} : { enabled: settings.enabled }),
    ...(settings.schedule === undefined ? {} : { schedule: toSchedule(settings.schedule) }),
    reasons: { ...profile.reasons, ...toReasons(settings.reasons ?? {}) },
    ...(settings.jitter === undefined ? {} : { jitter: settings.jitter === "none" ? Jitter.none : settings.jitter }),
    ...(settings.maxRetries === undefined ? {} : { maxRetries: settings.maxRetries }),
    ...(settings.counts === undefined ? {} : { counts: settings.counts }),
    budget: budgetOf(profile.budget, settings),
    ...(settings.maxDelay === undefined ? {} : { maxDelayMs: maxDelayOf(settings.maxDelay) }),
    ...(settings.hints === undefined ? {} : { hints: settings.hints }),
    ...(settings.spendGuard === undefined || settings.spendGuard === "none"
      ? {}
      : { spendGuard: toSpendGuard(settings.spendGuard) }),
    requestTimeout: {
      firstContentMs: Durations.millisOr(settings.requestTimeout?.firstContent, profile.requestTimeout.firstContentMs),
      idleMs: Durations.millisOr(settings.requestTimeout?.idle, profile.requestTimeout.idleMs)
    },
    ...(settings.maxResponseCharacters === undefined ? {} : { maxResponseCharacters: settings.maxResponseCharacters }),
    ...(settings.routing === undefined ? {} : { routing: toRouting(settings.routing) }),
    ...(settings.maxTurns === undefined ? {} : { maxTurns: settings.maxTurns }),
    ...(settings.maxFailedToolSteps === undefined ? {} : { maxFailedToolSteps: settings.maxFailedToolSteps }),
    ...(settings.finalReport === undefined ? {} : { finalReport: settings.finalReport })
  }
}

/** Every target that settings name, `provider/model`, and where in them. */
export const targetNames = ({
  routing
}: RetrySettings): ReadonlyArray<{ readonly path: ReadonlyArray<string | number>; readonly name: string }> =>
  routing === undefined ? [] : namesIn(routing).map(({ name, path }) => ({ name, path: ["routing", ...path] }))

// --- internal

const budgetOf = (profile: Budget.Budget, { budget, measure }: RetrySettings): Budget.Budget => {
  const { clip, totalMs = profile.totalMs ?? Infinity } = toBudget(budget)
  return {
    // A plain value is recorded as JSON, which has no Infinity: no limit is no key.
    ...(Number.isFinite(totalMs) ? { totalMs } : {}),
    measure: measure ?? profile.measure,
    clip: clip ?? profile.clip
  }
}

/** JSON again: a cap that is switched off is 0. */
const maxDelayOf = (maxDelay: Duration.Duration): number =>
  Duration.isFinite(maxDelay) ? Math.max(0, Duration.toMillis(maxDelay)) : 0
