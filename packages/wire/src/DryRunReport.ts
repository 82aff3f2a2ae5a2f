/** What a dry run found (X10). Times are in epoch milliseconds, durations in milliseconds. */
import * as Schema from "effect/Schema"
import { Reason } from "./Failure.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** The calls of one target. */
export const DryRunEndpoint = Schema.Struct({
  target: Schema.String.annotate({ description: "`provider/model`." }),
  calls: Count,
  answered: Count,
  failed: Count
})
export type DryRunEndpoint = typeof DryRunEndpoint.Type

/** Turns that failed alike. */
export const DryRunFailure = Schema.Struct({
  because: Schema.String.annotate({ description: "Why there was no further attempt, as in an explanation." }),
  reason: Schema.optionalKey(Reason.annotate({ description: "The reason of the last failure." })),
  turns: Count
})
export type DryRunFailure = typeof DryRunFailure.Type

/** What the answers cost. */
export const DryRunCost = Schema.Struct({
  usd: Schema.optionalKey(
    Schema.Finite.annotate({
      description: "US dollars, by the configured prices and those of well-known models; absent: no price is known."
    })
  ),
  unknown: Count.annotate({ description: "Answers whose price or tokens are not known; they are not in the sum." })
})
export type DryRunCost = typeof DryRunCost.Type

/** The tokens of the answers. */
export const DryRunTokens = Schema.Struct({
  input: Schema.Finite,
  output: Schema.Finite,
  unknown: Count.annotate({ description: "Answers whose tokens are not known; they are not in the sums." })
})
export type DryRunTokens = typeof DryRunTokens.Type

/** The account of all turns under one configuration. */
export const DryRunReport = Schema.Struct({
  startedAt: Schema.Finite,
  endedAt: Schema.Finite.annotate({ description: "The end of the last turn, or of the run." }),
  turns: Count,
  answered: Count,
  failed: Count,
  aborted: Schema.optionalKey(Count),
  waiting: Count.annotate({ description: "Turns that had not ended by `endedAt`." }),
  firstAnswerAt: Schema.optionalKey(Schema.Finite),
  lastAnswerAt: Schema.optionalKey(Schema.Finite),
  waitedMs: Schema.Struct({ median: Schema.Finite, longest: Schema.Finite, total: Schema.Finite }).annotate({
    description: "The time that turns spent in waits."
  }),
  calls: Count,
  refused: Count.annotate({ description: "Calls that failed." }),
  shared: Count.annotate({
    description: "Calls that were not made, because another turn's call had just failed there (X5)."
  }),
  failures: Schema.Array(DryRunFailure),
  endpoints: Schema.Array(DryRunEndpoint),
  tokens: Schema.optionalKey(DryRunTokens),
  cost: Schema.optionalKey(DryRunCost),
  cut: Schema.optionalKey(
    Schema.Literals(["time", "calls"]).annotate({ description: "The limit that ended the run before its turns." })
  )
}).annotate({ identifier: "DryRunReport" })
export type DryRunReport = typeof DryRunReport.Type
