/** The schema of the spend guard in a configuration (X11). */
import { Checks, defined } from "@holdfast/wire"
import * as Schema from "effect/Schema"
import * as Durations from "./Durations.ts"
import * as SpendGuard from "../decision/SpendGuard.ts"

const Tokens = Schema.Int.check(Checks.isWithin(0, "Expected a number of tokens, 0 or more"))

const Guard = Schema.Struct({
  /** Absent: an hour. */
  after: Schema.optionalKey(Durations.NotNegative),
  /** The limit of the next request, as estimated. */
  maxInputTokens: Schema.optionalKey(Tokens),
  /** The limit of the turn so far, in and out. */
  maxTurnTokens: Schema.optionalKey(Tokens),
  /** Absent: 8 hours. */
  answerWithin: Schema.optionalKey(Durations.Positive)
}).check(
  Schema.makeFilter(
    ({ maxInputTokens, maxTurnTokens }) =>
      maxInputTokens === undefined && maxTurnTokens === undefined
        ? {
            path: ["maxInputTokens"],
            issue: "Expected maxInputTokens or maxTurnTokens, or both: what is not to be exceeded"
          }
        : undefined,
    { toJsonSchema: () => ({ anyOf: [{ required: ["maxInputTokens"] }, { required: ["maxTurnTokens"] }] }) }
  )
)

/** `none`: nothing is asked. */
export const SpendGuardSettings = Schema.Union([Schema.Literal("none"), Guard]).annotate({
  message:
    'Expected "none", or { "after": duration, "maxInputTokens": number, "maxTurnTokens": number, "answerWithin": duration }'
})

/** The guard that settings describe. */
export const toSpendGuard = ({
  after,
  answerWithin,
  maxInputTokens,
  maxTurnTokens
}: typeof Guard.Type): SpendGuard.SpendGuard => ({
  afterMs: Durations.millisOr(after, SpendGuard.AFTER_MS),
  ...defined({ maxInputTokens, maxTurnTokens }),
  answerWithinMs: Durations.millisOr(answerWithin, SpendGuard.ANSWER_WITHIN_MS)
})
