/** The call that lists the waits of a policy, and the settings that it comes from (X10). */
import * as Schema from "effect/Schema"
import { HttpApiEndpoint } from "effect/http-api"
import { JsonObject } from "../values/Text.ts"
import { CreateConversation } from "./NewConversation.ts"
import { about } from "./OpenApiDocument.ts"
import * as Problem from "./Problem.ts"

/** The most retries of an answer. */
export const MOST_RETRIES = 200

/** A policy: settings over the configuration's. */
export const PreviewSchedule = Schema.Struct({
  model: CreateConversation.fields.model,
  retry: CreateConversation.fields.retry
}).annotate({ identifier: "PreviewSchedule", examples: [{}, { retry: { profile: "interactive" } }] })
export type PreviewSchedule = typeof PreviewSchedule.Type

const Milliseconds = Schema.Finite

/** One retry. */
export const RetryRow = Schema.Struct({
  delayMs: Milliseconds.annotate({ description: "The wait before it." }),
  atMs: Milliseconds.annotate({ description: "Its time after the first failure." }),
  clipped: Schema.Boolean.annotate({ description: "The budget cut the wait short." })
})
export type RetryRow = typeof RetryRow.Type

/** The retries after failures of one kind, or of several kinds that are treated alike. */
export const KindOfFailure = Schema.Struct({
  kinds: Schema.Array(Schema.String).annotate({ description: "Reasons of failures." }),
  steps: Schema.Array(Schema.Struct({ delayMs: Milliseconds, target: Schema.String })),
  because: Schema.optionalKey(Schema.String.annotate({ description: "Why the turn fails behind them." }))
})
export type KindOfFailure = typeof KindOfFailure.Type

/** The waits of a policy. */
export const SchedulePreview = Schema.Struct({
  model: Schema.String,
  profile: Schema.String,
  retry: JsonObject.annotate({ description: "The settings in force, as `retry` of a configuration file has them." }),
  settings: Schema.Array(Schema.Struct({ name: Schema.String, value: Schema.String })).annotate({
    description: "Every setting in words, the profile's too."
  }),
  rows: Schema.Array(RetryRow).annotate({
    description: `The retries while an endpoint fails at once every time, ${MOST_RETRIES} at most.`
  }),
  conclusion: Schema.String.annotate({ description: "How many there are in all, and what ends them." }),
  isWhole: Schema.Boolean.annotate({ description: "No retry follows the rows." }),
  kinds: Schema.Array(KindOfFailure).annotate({
    description: "By kind of failure, while it lasts on every target; empty where all are treated as in the rows."
  }),
  remarks: Schema.Array(Schema.String).annotate({ description: "What else the policy does, one sentence each." })
}).annotate({
  identifier: "SchedulePreview",
  description: "Each retry of a policy with its wait, and the settings behind it.",
  examples: [
    {
      model: "openai/gpt-5",
      profile: "interactive",
      retry: { profile: "interactive" },
      settings: [{ name: "maxRetries", value: "3" }],
      rows: [
        { delayMs: 2_000, atMs: 2_000, clipped: false },
        { delayMs: 4_000, atMs: 6_000, clipped: false },
        { delayMs: 8_000, atMs: 14_000, clipped: false }
      ],
      conclusion:
        "3 retries, 14 s of waiting in all. Then the turn fails: there are no more than 3 retries (retry.maxRetries).",
      isWhole: true,
      kinds: [],
      remarks: ["A provider that asks for a longer wait gets it; one that asks for a shorter wait does not."]
    }
  ]
})
export type SchedulePreview = typeof SchedulePreview.Type

/** The endpoint, for the group of policies. */
export const previewSchedule = HttpApiEndpoint.post("previewSchedule", "/v1/schedule", {
  payload: PreviewSchedule,
  success: SchedulePreview,
  error: Problem.InvalidRequest
}).annotateMerge(
  about(
    "List the waits of a policy",
    "Each retry with its wait, as `holdfast schedule` prints it. `retry` are settings over the configuration's, as for a conversation; without it",
    "the answer is about the configuration itself."
  )
)
