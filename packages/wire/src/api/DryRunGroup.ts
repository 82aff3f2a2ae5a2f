/**
 * The call that tries a policy before it is trusted (X10).
 *
 * A run is bounded: by its turns, its hours and its calls. A request beyond that is refused, with the limit; of a record the newest
 * turns are replayed.
 */
import * as Schema from "effect/Schema"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { DryRunReport } from "../DryRunReport.ts"
import { MomentOrDate } from "../values/Moment.ts"
import { NonEmptyText } from "../values/Text.ts"
import { CreateConversation } from "./NewConversation.ts"
import { about, titled } from "./OpenApiDocument.ts"
import * as Problem from "./Problem.ts"
import { previewSchedule } from "./SchedulePreview.ts"

/** The most turns of one call. */
export const MOST_TURNS = 1_000
/** The most hours of one call: a week. */
export const MOST_HOURS = 168
/** The most calls of one run; a run that would make more ends there, and its report has `cut: "calls"`. */
export const MOST_CALLS = 50_000
/** The most outages of one call. */
export const MOST_OUTAGES = 20

const DAY_MS = 86_400_000

const between = (minimum: number, maximum: number) =>
  Schema.Int.check(
    Schema.isBetween({ minimum, maximum }, { message: `Expected a whole number from ${minimum} to ${maximum}` })
  )

/** A second policy, to try beside the first. */
const Against = Schema.Struct({
  model: CreateConversation.fields.model,
  retry: CreateConversation.fields.retry
})

/** A policy, and turns before outages or turns of the record. */
export const RunDryRun = Schema.Struct({
  outages: Schema.optionalKey(
    Schema.Array(NonEmptyText.check(Schema.isMaxLength(1_000)))
      .check(Schema.isMaxLength(MOST_OUTAGES))
      .annotate({
        description:
          "What turns meet, in the language of the simulated provider: `529 for 7h` for every endpoint, `openai=429 for 1h` for one. At most 20. With `replay` they describe targets that the record lacks."
      })
  ),
  replay: Schema.optionalKey(
    Schema.Struct({
      since: MomentOrDate.annotate({
        description:
          "Turns that were accepted or ended since then, and those that have not ended: at most the 1,000 newest."
      })
    }).annotate({ description: "Runs the turns of the record again, instead of new ones." })
  ),
  turns: Schema.optionalKey(between(1, MOST_TURNS).annotate({ description: "1 by default." })),
  withinMs: Schema.optionalKey(
    between(0, DAY_MS).annotate({ description: "The time over which the turns are prompted; a minute by default." })
  ),
  hours: Schema.optionalKey(between(1, MOST_HOURS).annotate({ description: "The longest run; 48 by default." })),
  model: CreateConversation.fields.model,
  retry: CreateConversation.fields.retry,
  against: Schema.optionalKey(
    Against.annotate({ description: "Another policy to try beside it: settings over the configuration's." })
  ),
  picture: Schema.optionalKey(Schema.Boolean.annotate({ description: "Answer with a picture, too." }))
}).annotate({
  identifier: "RunDryRun",
  examples: [
    { outages: ["529 for 7h"] },
    {
      outages: ["anthropic=529 for 7h", "openai=429 for 1h;retry-after=60"],
      turns: 1_000,
      retry: { profile: "interactive" },
      picture: true
    },
    { replay: { since: 1_771_106_400_000 }, against: { retry: { profile: "interactive" } } }
  ]
})
export type RunDryRun = typeof RunDryRun.Type

const Ending = Schema.Struct({
  status: Schema.Literals(["completed", "failed", "aborted", "waiting"]),
  at: Schema.optionalKey(Schema.Finite.annotate({ description: "Epoch milliseconds; absent: it has not ended." }))
})

/** How a replay differs from its record. */
const Replayed = Schema.Struct({
  was: DryRunReport.annotate({ description: "The turns as they were, counted alike." }),
  followed: Schema.Int.annotate({ description: "Turns that follow their record to the end." }),
  decisions: Schema.Int.annotate({ description: "Decisions that were made again as they are on record." }),
  changed: Schema.Int.annotate({ description: "Turns whose end differs." }),
  changes: Schema.Array(Schema.Struct({ turnId: Schema.String, was: Ending, would: Ending })).annotate({
    description: "Those turns, at most 100 of them."
  })
}).annotate({ description: "With `replay`: the record, and what the policy changes." })

/** The most changes of one answer. */
export const MOST_CHANGES = 100

/** The result of a dry run. */
export const DryRunAnswer = Schema.Struct({
  report: DryRunReport,
  outages: Schema.Array(Schema.String).annotate({ description: "The outages in words." }),
  assumptions: Schema.Array(Schema.String).annotate({ description: "What the run assumes, one sentence each." }),
  against: Schema.optionalKey(DryRunReport.annotate({ description: "The same by the policy of `against`." })),
  replay: Schema.optionalKey(Replayed),
  svg: Schema.optionalKey(Schema.String.annotate({ description: "The picture." }))
}).annotate({
  identifier: "DryRunAnswer",
  description: "How many turns were answered, when, after how many calls, and why the others failed.",
  examples: [
    {
      report: {
        startedAt: 1_901_232_000_000,
        endedAt: 1_901_257_306_467,
        turns: 1,
        answered: 1,
        failed: 0,
        waiting: 0,
        firstAnswerAt: 1_901_257_306_467,
        lastAnswerAt: 1_901_257_306_467,
        waitedMs: { median: 25_305_000, longest: 25_305_000, total: 25_305_000 },
        calls: 21,
        refused: 20,
        shared: 0,
        failures: [],
        endpoints: [{ target: "openai/gpt-5", calls: 21, answered: 1, failed: 20 }]
      },
      outages: ["Each turn meets a 529 (overloaded) for 7 h by the clock; then it is answered, 30 tokens a second."],
      assumptions: ["One process runs all turns, no client watches or sends a command, and a tool succeeds at once."]
    }
  ]
})
export type DryRunAnswer = typeof DryRunAnswer.Type

const dryRun = HttpApiEndpoint.post("dryRun", "/v1/dry-run", {
  payload: RunDryRun,
  success: DryRunAnswer,
  error: [Problem.InvalidRequest, Problem.StorageUnavailable]
}).annotateMerge(
  about(
    "Try a policy",
    "Runs turns before outages under a clock that jumps, by the functions of the service: nothing is sent or stored. With `replay` the turns of the",
    "record run again, and the answer has what they would do otherwise. `retry` are settings over the configuration's, as for a conversation. Runs",
    "follow each other, and a run gives way to turns."
  )
)

/** The calls about policies, as a group of the API. */
export const DryRunGroup = HttpApiGroup.make("policies")
  .add(previewSchedule, dryRun)
  .annotateMerge(titled("Policies", "A policy is tried before it is trusted."))
