/**
 * Reads the `retry` object of a configuration. `Profile.ts` resolves it; its parts are in the other files of this folder.
 *
 * An unknown key, unit or value is an error with its path and the expected value. Every schedule that was read makes progress: none
 * repeats a delay of 0 without end.
 */
import { Checks } from "@holdfast/wire"
import type * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Durations from "./Durations.ts"
import { FinalReportSetting } from "./FinalReportSettings.ts"
import { Reasons, budget, countFrom, MidStreamSettings } from "./ReasonSettings.ts"
import { RoutingSettings, targetNames as namesIn } from "./RoutingSettings.ts"
import { Schedule } from "./ScheduleSettings.ts"
import { required, setting } from "./Setting.ts"
import { SpendGuardSettings } from "./SpendGuardSettings.ts"

/** The profiles that ship. `overnight` is the default. */
export const ProfileName = Schema.Literals(["overnight", "weekly", "interactive", "cycling"]).annotate({
  message: 'Expected "overnight", "weekly", "interactive" or "cycling"'
})
export type ProfileName = typeof ProfileName.Type

const JitterSettings = Schema.Union([
  Schema.Literal("none"),
  Schema.Struct({
    factor: required(Schema.Finite.check(Checks.isWithin(0, "Expected a factor from 0 to 1", 1)), {
      doc: "the most that is added, as a share of the wait, from 0 to 1"
    })
  })
]).annotate({ message: 'Expected "none" or { "factor": 0 to 1 }' })

/** A longer text, with the rest of its record, would exceed the longest string. */
const MOST_RESPONSE_CHARACTERS = 256 * 1024 * 1024

const BUDGETS = ['`"8 hours"`', "no limit", "no limit"] as const

/** The `retry` object of the configuration file and of `POST /v1/conversations`. */
export const RetrySettings = Schema.Struct({
  profile: setting(ProfileName, {
    doc: "where the other values come from ([profiles](profiles.md)): `weekly` is `overnight` with a budget of 8 days; the flag is one of `schedule` and `run`",
    default: "overnight",
    env: "HOLDFAST_RETRY_PROFILE",
    flag: "--profile"
  }),
  enabled: setting(Schema.Boolean, {
    doc: "`false`: a new conversation begins with automatic retries switched off, so that the first error ends a turn",
    default: true,
    env: "HOLDFAST_RETRY_ENABLED"
  }),
  schedule: setting(Schedule, {
    doc: "the waits, one after another",
    unset: "5 s, 10 s, 30 s, 1 m, 5 m, 10 m, 15 m, then every 30 m",
    profiles: ["5 s, 10 s, 30 s, 1 m, 5 m, 10 m, 15 m, then every 30 m", "2 s, 4 s, 8 s ...", "1 s, 2 s, 3 s ..."]
  }),
  reasons: setting(Reasons, {
    doc: "[waits and limits](configuration.md#waits-and-limits-by-reason) of their own for single kinds of failure, over those of the profile",
    profiles: ["none", "none", "rate limits, network, timeouts, bad answers"]
  }),
  jitter: setting(JitterSettings, {
    doc: '`"none"`, or an object: chance added to each wait, never taken away',
    default: "none"
  }),
  maxRetries: setting(countFrom(0), {
    doc: "retries of a step, those without a wait too",
    profiles: ["no limit", "`3`", "`3`"]
  }),
  counts: setting(Schema.Literals(["retries", "attempts"]), {
    doc: "what `maxRetries` counts: `retries` after the first attempt, or all `attempts`",
    default: "retries",
    profiles: ["`retries`", "`retries`", "`attempts`"]
  }),
  budget: setting(
    budget(
      { doc: "the same, in the object", default: "8 hours", profiles: BUDGETS },
      { doc: "cut the last wait to the rest of the budget, instead of refusing it", default: false }
    ),
    { doc: "how much waiting a step may cost in all: a duration, or an object", default: "8 hours", profiles: BUDGETS }
  ),
  measure: setting(Schema.Literals(["scheduled", "wall-clock"]), {
    doc: "what the budget counts: `scheduled` waits, or `wall-clock` time since the first failure",
    default: "scheduled"
  }),
  maxDelay: setting(Durations.Any, {
    doc: 'a longer wait fails the turn at once; `"0 seconds"` means no such limit',
    profiles: ["no limit", '`"5 minutes"`', "no limit"]
  }),
  hints: setting(Schema.Boolean, { doc: "whether a provider's `Retry-After` and the like count", default: true }),
  midStream: setting(MidStreamSettings, {
    doc: "what follows when an [answer breaks off](configuration.md#when-an-answer-breaks-off): `fail`, `discard` or `unseen`. Without the key a turn that was submitted has `unseen`",
    default: "fail"
  }),
  spendGuard: setting(SpendGuardSettings, {
    doc: 'when a turn asks before it spends after a long wait: `"none"`, or an [object](configuration.md#asking-before-it-spends)',
    default: "none"
  }),
  requestTimeout: Schema.optionalKey(
    Schema.Struct({
      firstContent: setting(Durations.Positive, {
        doc: "how long an attempt may go without content",
        default: "10 minutes"
      }),
      idle: setting(Durations.Positive, {
        doc: "how long between two pieces of content",
        default: "5 minutes",
        profiles: ['`"5 minutes"`', '`"5 minutes"`', '`"10 minutes"`']
      })
    })
  ),
  maxResponseCharacters: setting(
    Schema.Int.check(
      Checks.isWithin(
        1,
        `Expected a number of characters from 1 to ${MOST_RESPONSE_CHARACTERS}`,
        MOST_RESPONSE_CHARACTERS
      )
    ),
    {
      doc: "the most characters of one response, text, reasoning, files in base64 and tool arguments together; beyond it the attempt has failed and is not retried. A conversation's own settings can lower it, not raise it",
      default: 16_777_216
    }
  ),
  routing: setting(RoutingSettings, {
    doc: "where attempts go ([routing](configuration.md#routing))",
    profiles: ["`fallback-chain`", "`fallback-chain`", "`round-robin`"]
  }),
  maxTurns: setting(countFrom(1), {
    doc: "the steps of a turn, of which the last is the final one",
    profiles: ["no limit", "no limit", "`10`"]
  }),
  maxFailedToolSteps: setting(countFrom(0), {
    doc: "steps in a row in which every tool call failed, after which the turn fails (`invalid-response`): a model that calls a missing tool does not end by itself. `0`: no limit",
    default: 5
  }),
  finalReport: Schema.optionalKey(FinalReportSetting)
})
export type RetrySettings = typeof RetrySettings.Type

/** Reads a `retry` object. The error's message has two lines for each fault: the expected value and the path. */
export const decode: (input: unknown) => Result.Result<RetrySettings, Schema.SchemaError> = Schema.decodeUnknownResult(
  RetrySettings,
  { onExcessProperty: "error", errors: "all" }
)

/** Returns every target in settings, `provider/model`, with its path. */
export const targetNames = ({
  routing
}: RetrySettings): ReadonlyArray<{ readonly path: ReadonlyArray<string | number>; readonly name: string }> =>
  routing === undefined ? [] : namesIn(routing).map(({ name, path }) => ({ name, path: ["routing", ...path] }))
