/**
 * Reads the `retry` object of a configuration. `Profile.ts` resolves it; its parts are in the other files of this folder.
 *
 * An unknown key, unit or value is an error with its path and the expected value. Every schedule that was read makes progress: none
 * repeats a delay of 0 without end.
 */
import { Checks } from "@holdfast/wire"
import type * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Counts from "./Counts.ts"
import * as Durations from "./Durations.ts"
import { FinalReport } from "./FinalReportSettings.ts"
import { BudgetSettings } from "./BudgetSettings.ts"
import { MidStreamSettings } from "./MidStreamSettings.ts"
import { Reasons } from "./ReasonSettings.ts"
import { RoutingSettings, targetNames as namesIn } from "./RoutingSettings.ts"
import { Schedule } from "./ScheduleSettings.ts"
import { SpendGuardSettings } from "./SpendGuardSettings.ts"

/** The profiles that ship. `overnight` is the default. */
export const ProfileName = Schema.Literals(["overnight", "interactive", "cycling"]).annotate({
  message: 'Expected "overnight", "interactive" or "cycling"'
})
export type ProfileName = typeof ProfileName.Type

const JitterSettings = Schema.Union([
  Schema.Literal("none"),
  Schema.Struct({
    factor: Schema.Finite.check(Checks.isWithin(0, "Expected a factor from 0 to 1", 1))
  })
]).annotate({ message: 'Expected "none" or { "factor": 0 to 1 }' })

/** A longer text, with the rest of its record, would exceed the longest string. */
const MOST_RESPONSE_CHARACTERS = 256 * 1024 * 1024

/** The `retry` object of the configuration file and of `POST /v1/conversations`. */
export const RetrySettings = Schema.Struct({
  /** Absent: `overnight`. */
  profile: Schema.optionalKey(ProfileName),
  enabled: Schema.optionalKey(Schema.Boolean),
  schedule: Schema.optionalKey(Schedule),
  /** The waits and limits of single reasons (A6, A7, X11); they replace the profile's. */
  reasons: Schema.optionalKey(Reasons),
  jitter: Schema.optionalKey(JitterSettings),
  /** Counted by `counts` (P3, A2). */
  maxRetries: Schema.optionalKey(Counts.from(0)),
  /** Whether `maxRetries` counts the retries after the first attempt, or all attempts. */
  counts: Schema.optionalKey(Schema.Literals(["retries", "attempts"])),
  /** A bare duration is a total. "Infinity" means no limit in time. */
  budget: Schema.optionalKey(BudgetSettings),
  /** The time that the budget counts (D2). */
  measure: Schema.optionalKey(Schema.Literals(["scheduled", "wall-clock"])),
  /** A longer wait fails the turn at once (P6). "0 seconds", and anything below, switches the cap off (P3). */
  maxDelay: Schema.optionalKey(Durations.Any),
  /** Whether a provider's own delay counts (P5). */
  hints: Schema.optionalKey(Schema.Boolean),
  /** What follows a failure after content (X7). Absent: `fail`, and `unseen` for a turn that was submitted. */
  midStream: Schema.optionalKey(MidStreamSettings),
  /** The tokens that are not spent without a question after a long wait (X11). */
  spendGuard: Schema.optionalKey(SpendGuardSettings),
  /** The limits of an attempt without content (C8). */
  requestTimeout: Schema.optionalKey(
    Schema.Struct({
      firstContent: Schema.optionalKey(Durations.Positive),
      idle: Schema.optionalKey(Durations.Positive)
    })
  ),
  /** Characters of one response: text, reasoning, files in base64 and tool arguments together (C11). */
  maxResponseCharacters: Schema.optionalKey(
    Schema.Int.check(
      Checks.isWithin(
        1,
        `Expected a number of characters from 1 to ${MOST_RESPONSE_CHARACTERS}`,
        MOST_RESPONSE_CHARACTERS
      )
    )
  ),
  /** The routing of attempts (P7 to P9, A4, A5). */
  routing: Schema.optionalKey(RoutingSettings),
  /** Steps of a turn; the last is the final one (A11). */
  maxTurns: Schema.optionalKey(Counts.from(1)),
  /** Steps in a row with nothing but failed tool calls, after which the turn fails. 0: no limit. */
  maxFailedToolSteps: Schema.optionalKey(Counts.from(0)),
  /** The final report of a turn (A9 to A14). */
  finalReport: Schema.optionalKey(FinalReport)
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
