/** The schema of the spend guard in a configuration (X11). */
import { Checks, defined } from "@holdfast/wire"
import * as Schema from "effect/Schema"
import * as Durations from "./Durations.ts"
import { setting } from "./Setting.ts"
import * as SpendGuard from "../decision/SpendGuard.ts"

const Tokens = Schema.Int.check(Checks.isWithin(0, "Expected a number of tokens, 0 or more"))

const Guard = Schema.Struct({
  after: setting(Durations.NotNegative, {
    doc: "how long a step must have waited, in one wait or several, since a person's last decision",
    default: "1 hour"
  }),
  maxInputTokens: setting(Tokens, {
    doc: "ask if the next request is larger, by its provider's last count and an estimate of later text",
    unset: "no limit"
  }),
  maxTurnTokens: setting(Tokens, {
    doc: "ask if the turn has used more until then, input and output together",
    unset: "no limit"
  }),
  answerWithin: setting(Durations.Positive, {
    doc: "the time limit for an answer",
    default: "8 hours"
  }),
  unanswered: setting(Schema.Literals(["fail", "go-on"]).annotate({ message: 'Expected "fail" or "go-on"' }), {
    doc: 'what becomes of the turn without an answer: `"fail"` with that reason, or `"go-on"`, for a program that no person watches',
    default: "fail"
  })
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
    'Expected "none", or { "after": duration, "maxInputTokens": number, "maxTurnTokens": number, "answerWithin": duration, "unanswered": "fail" or "go-on" }'
})

/** The guard that settings describe. */
export const toSpendGuard = ({
  after,
  answerWithin,
  maxInputTokens,
  maxTurnTokens,
  unanswered
}: typeof Guard.Type): SpendGuard.SpendGuard => ({
  afterMs: Durations.millisOr(after, SpendGuard.AFTER_MS),
  ...defined({ maxInputTokens, maxTurnTokens }),
  ...(unanswered === "go-on" ? { goesOn: true } : {}),
  answerWithinMs: Durations.millisOr(answerWithin, SpendGuard.ANSWER_WITHIN_MS)
})
