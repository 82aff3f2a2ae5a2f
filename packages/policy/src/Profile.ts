/**
 * The `retry` object of a configuration, and the named profiles that it changes.
 *
 * A profile is a policy and nothing more; settings replace single primitives of it.
 *
 * S1. Decoding is strict: an unknown key, unit or value is an error that names its path and what was expected.
 * S2. What is decoded can be waited out: no schedule repeats a delay of nothing for ever.
 */
import { Duration, type Result, Schema, type SchemaAST } from "effect"
import * as Backoff from "./Backoff.ts"
import * as Budget from "./Budget.ts"
import * as Durations from "./Durations.ts"
import * as Jitter from "./Jitter.ts"
import type { RetryPolicy } from "./RetryPolicy.ts"

/** The profiles that ship. `overnight` is the default. */
export const ProfileName = Schema.Literals(["overnight", "interactive"]).annotate({
  message: 'Expected "overnight" or "interactive"; "cycling" is planned and not in this version'
})
export type ProfileName = typeof ProfileName.Type

const Steps = Schema.Struct({
  type: Schema.Literal("steps"),
  /** One by one. */
  delays: Schema.Array(Durations.NotNegative).check(
    Schema.makeFilter((delays) => delays.length > 0 || "Expected at least one delay")
  ),
  /** Then this, again and again. Absent: the last of `delays`. */
  tail: Schema.optionalKey(Durations.Positive)
}).check(
  Schema.makeFilter(({ delays, tail }) =>
    tail !== undefined || Duration.toMillis(delays.at(-1) ?? 1) >= Durations.SHORTEST_MS
      ? undefined
      : { path: ["tail"], issue: "Expected a tail, because the last delay is 0 and would be repeated for ever" }
  )
)

const Exponential = Schema.Struct({
  type: Schema.Literal("exponential"),
  base: Durations.Positive,
  /** Absent: 2 (P4). */
  factor: Schema.optionalKey(
    Schema.Finite.check(Schema.makeFilter((factor) => factor >= 1 || "Expected a factor of 1 or more"))
  )
})

const Linear = Schema.Struct({
  type: Schema.Literal("linear"),
  base: Durations.Positive,
  /** Absent: `base`, so that the nth wait is n times as long. */
  increment: Schema.optionalKey(Durations.NotNegative)
})

const Schedule = Schema.Union([Steps, Exponential, Linear]).annotate({
  message: 'Expected a schedule: an object whose "type" is "steps", "exponential" or "linear"'
})

const JitterSettings = Schema.Union([
  Schema.Literal("none"),
  Schema.Struct({
    factor: Schema.Finite.check(
      Schema.makeFilter((factor) => (factor >= 0 && factor <= 1) || "Expected a factor from 0 to 1")
    )
  })
]).annotate({ message: 'Expected "none" or { "factor": 0 to 1 }' })

const BudgetSettings = Schema.Union([
  Durations.Limit,
  Schema.Struct({
    total: Schema.optionalKey(Durations.Limit),
    /** Cut the last wait to what is left instead of refusing it (D1). */
    clip: Schema.optionalKey(Schema.Boolean)
  })
]).annotate({ message: 'Expected a duration such as "8 hours", or { "total": duration, "clip": boolean }' })

/** The `retry` object of the configuration file and of `POST /v1/conversations`. */
export const RetrySettings = Schema.Struct({
  /** Absent: `overnight`. */
  profile: Schema.optionalKey(ProfileName),
  enabled: Schema.optionalKey(Schema.Boolean),
  schedule: Schema.optionalKey(Schedule),
  jitter: Schema.optionalKey(JitterSettings),
  /** Retries after the first attempt (P3). */
  maxRetries: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  /** A bare duration is a total. "Infinity" means no limit in time. */
  budget: Schema.optionalKey(BudgetSettings),
  /** What the budget counts (D2). */
  measure: Schema.optionalKey(Schema.Literals(["scheduled", "wall-clock"])),
  /** A longer wait fails the turn at once (P6). "0 seconds", and anything below, switches the cap off (P3). */
  maxDelay: Schema.optionalKey(Durations.Any),
  /** Whether a provider's own delay counts (P5). */
  hints: Schema.optionalKey(Schema.Boolean),
  /** How long an attempt may go without content (C8). */
  requestTimeout: Schema.optionalKey(
    Schema.Struct({
      firstContent: Schema.optionalKey(Durations.Positive),
      idle: Schema.optionalKey(Durations.Positive)
    })
  )
})
export type RetrySettings = typeof RetrySettings.Type

/** How settings must be parsed for S1 to hold; for whoever decodes them inside a larger schema. */
export const PARSE_OPTIONS: SchemaAST.ParseOptions = { onExcessProperty: "error", errors: "all" }

/** Reads a `retry` object. The error's message has one line of expectation and one of path for everything wrong in it. */
export const decode: (input: unknown) => Result.Result<RetrySettings, Schema.SchemaError> = Schema.decodeUnknownResult(
  RetrySettings,
  PARSE_OPTIONS
)

/**
 * 10 minutes to the first content: what the SDKs of OpenAI and Anthropic allow a request, and what models that think
 * before they speak need. 5 minutes between contents.
 */
const requestTimeout = { firstContentMs: 600_000, idleMs: 300_000 }

/**
 * The policy behind each name.
 *
 * **Details**
 *
 * `overnight` (rules D) is the stepped schedule within 8 hours. It follows hints: one can only lengthen a wait, never
 * shorten it, so the schedule stays the lower bound; and one that asks for more than is left of the budget ends the
 * step at once, instead of spending the night on attempts that are known to fail. It has no cap on a single wait.
 *
 * `interactive` (rules P) makes 3 retries after 2, 4 and 8 seconds and fails rather than wait more than 5 minutes.
 */
export const profiles: { readonly [Name in ProfileName]: RetryPolicy } = {
  overnight: {
    enabled: true,
    schedule: Backoff.overnight,
    jitter: Jitter.none,
    budget: Budget.overnight,
    hints: true,
    requestTimeout
  },
  interactive: {
    enabled: true,
    schedule: Backoff.interactive,
    jitter: Jitter.none,
    maxRetries: 3,
    budget: Budget.unlimited,
    maxDelayMs: 300_000,
    hints: true,
    requestTimeout
  }
}

/** The policy that settings describe: the profile first, then each primitive that is set, over it. */
export const resolve = (settings: RetrySettings = {}): RetryPolicy => {
  const profile = profiles[settings.profile ?? "overnight"]
  return {
    ...profile,
    ...(settings.enabled === undefined ? {} : { enabled: settings.enabled }),
    ...(settings.schedule === undefined ? {} : { schedule: scheduleOf(settings.schedule) }),
    ...(settings.jitter === undefined ? {} : { jitter: settings.jitter === "none" ? Jitter.none : settings.jitter }),
    ...(settings.maxRetries === undefined ? {} : { maxRetries: settings.maxRetries }),
    budget: budgetOf(profile.budget, settings),
    ...(settings.maxDelay === undefined ? {} : { maxDelayMs: maxDelayOf(settings.maxDelay) }),
    ...(settings.hints === undefined ? {} : { hints: settings.hints }),
    requestTimeout: {
      firstContentMs: millisOr(settings.requestTimeout?.firstContent, profile.requestTimeout.firstContentMs),
      idleMs: millisOr(settings.requestTimeout?.idle, profile.requestTimeout.idleMs)
    }
  }
}

// --- internal

const scheduleOf = (schedule: typeof Schedule.Type): Backoff.Schedule => {
  switch (schedule.type) {
    case "steps": {
      const delaysMs = schedule.delays.map(Duration.toMillis)
      return { type: "steps", delaysMs, tailMs: millisOr(schedule.tail, delaysMs.at(-1) ?? 0) }
    }
    case "exponential":
      return Backoff.exponential(Duration.toMillis(schedule.base), schedule.factor ?? 2)
    case "linear": {
      const baseMs = Duration.toMillis(schedule.base)
      return Backoff.linear(baseMs, millisOr(schedule.increment, baseMs))
    }
    default:
      return schedule satisfies never
  }
}

const budgetOf = (profile: Budget.Budget, { budget, measure }: RetrySettings): Budget.Budget => {
  const { total, clip } = Duration.isDuration(budget) ? { total: budget, clip: undefined } : (budget ?? {})
  const totalMs = millisOr(total, profile.totalMs ?? Infinity)
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

const millisOr = (duration: Duration.Duration | undefined, otherwise: number): number =>
  duration === undefined ? otherwise : Duration.toMillis(duration)
