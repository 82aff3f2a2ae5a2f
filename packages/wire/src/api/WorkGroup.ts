/**
 * Calls for work that is left: turns that are submitted, watched, ended and listed by their own ids (X15).
 *
 * None of these calls needs the conversation's id: a client that left has the turn's id alone.
 */
import * as Schema from "effect/Schema"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { ConversationId, TurnId } from "../Ids.ts"
import * as Ndjson from "../codec/Ndjson.ts"
import * as Sse from "../codec/Sse.ts"
import { PeriodReport } from "../PeriodReport.ts"
import { TurnCourse } from "../TurnCourse.ts"
import { LimitName } from "../TurnEvent.ts"
import * as BulkCommands from "./BulkCommands.ts"
import { conversationParams, conversationProblems } from "./ConversationsGroup.ts"
import * as ExampleReport from "./ExampleReport.ts"
import * as Listing from "./Listing.ts"
import { CreateConversation } from "./NewConversation.ts"
import { about, titled, withContent } from "./OpenApiDocument.ts"
import * as Problem from "./Problem.ts"
import { deltas, Event, RunTurn, streams, turnParam } from "./TurnsGroup.ts"

/** A prompt with what its conversation is to be opened with. */
export const SubmitTurn = Schema.Struct({ ...RunTurn.fields, ...CreateConversation.fields }).annotate({
  identifier: "SubmitTurn",
  examples: [
    { prompt: "Summarise yesterday's incidents." },
    {
      prompt: "Summarise yesterday's incidents.",
      turnId: TurnId.make("t_nightly-2031-04-01"),
      model: "openai/gpt-5",
      system: "Answer in one sentence.",
      retry: { profile: "overnight" },
      tags: ["nightly"],
      metadata: { ticket: "OPS-4711" }
    }
  ]
})
export type SubmitTurn = typeof SubmitTurn.Type

/** A turn in a conversation of its own, on disk. */
export const TurnSubmitted = Schema.Struct({
  turnId: TurnId,
  conversationId: ConversationId,
  isNew: Schema.Boolean.annotate({ description: "False where the same turn was submitted before: nothing was added." })
}).annotate({
  identifier: "TurnSubmitted",
  description: "The turn is on disk and runs with no client attached; `Location` is where to read what it is at.",
  examples: [{ turnId: TurnId.make("t_7hq2m1"), conversationId: ConversationId.make("c_4f2k9x"), isNew: true }]
})
export type TurnSubmitted = typeof TurnSubmitted.Type

/** The same with its header. */
export const Submitted = HttpApiSchema.WithHeaders(TurnSubmitted.pipe(HttpApiSchema.status(202)), {
  location: Schema.String
})

/** Answers for a turn that was submitted. */
export const submitted = (body: TurnSubmitted): typeof Submitted.Type =>
  HttpApiSchema.withHeaders({ body, headers: { location: `/v1/turns/${body.turnId}` } })

const submit = HttpApiEndpoint.post("submit", "/v1/turns", {
  payload: SubmitTurn,
  success: Submitted,
  error: [
    Problem.InvalidRequest,
    Problem.FileTooLarge,
    Problem.TurnConflict,
    Problem.StorageUnavailable,
    Problem.ShuttingDown
  ]
}).annotateMerge(
  about(
    "Submit a turn",
    "Opens a conversation and hands in its first prompt, in one call. It is answered with 202 once the turn is on disk, and the turn runs",
    "with no client attached.",
    "",
    "With a `turnId` of your own the call can be made again: the same id, prompt and settings are the same turn, and `isNew` is false. The",
    "same id with another prompt, model, system prompt or `retry` is a conflict. Metadata and tags are those of the turn and of its",
    "conversation."
  )
)

const turnProblems = [Problem.InvalidRequest, Problem.TurnNotFound, Problem.StorageUnavailable] as const

const watchTurn = HttpApiEndpoint.get("watchTurn", "/v1/turns/:turnId/events", {
  params: turnParam,
  query: deltas,
  success: HttpApiSchema.StreamNdjson({ schema: Event, contentType: [Ndjson.CONTENT_TYPE, Sse.CONTENT_TYPE] }),
  error: turnProblems
})
  .annotateMerge(
    about(
      "Watch a turn",
      "The events of a turn from its first to `turn-end`, whenever a client begins to watch. `Accept: text/event-stream` gives server-sent",
      "events. A stream that ends without `turn-end` broke off: the same call again begins with the first event."
    )
  )
  .annotateMerge(withContent(streams))

const abortTurn = HttpApiEndpoint.post("abortTurn", "/v1/turns/:turnId/abort", {
  params: turnParam,
  success: HttpApiSchema.Empty(202).annotate({
    description: "The turn is ended, which is on disk; or it had ended before."
  }),
  error: [...turnProblems, Problem.TurnStopped, Problem.ShuttingDown]
}).annotateMerge(
  about(
    "End a turn",
    "Ends the turn's wait first, then the turn, which seals `aborted`. A turn that is queued behind another one does not run. Does nothing to a",
    "turn that has ended, and nothing to other turns of its conversation."
  )
)

const listTurns = HttpApiEndpoint.get("listTurns", "/v1/turns", {
  query: Listing.turnsQuery,
  success: Listing.TurnPage,
  error: [Problem.InvalidRequest, Problem.StorageUnavailable]
}).annotateMerge(
  about(
    "List turns",
    "Turns of all conversations, newest first: by their end with `status=completed`, `failed` or `aborted`, otherwise by their acceptance.",
    "`next` is the cursor of the next page. Turns that are accepted meanwhile come on no later page, so no turn comes twice."
  )
)

const listConversations = HttpApiEndpoint.get("listConversations", "/v1/conversations", {
  query: Listing.conversationsQuery,
  success: Listing.ConversationPage,
  error: [Problem.InvalidRequest, Problem.StorageUnavailable]
}).annotateMerge(about("List conversations", "Newest first. `next` is the cursor of the next page."))

const deleteConversation = HttpApiEndpoint.delete("deleteConversation", "/v1/conversations/:conversationId", {
  params: conversationParams,
  success: HttpApiSchema.NoContent.annotate({ description: "It is deleted." }),
  error: [...conversationProblems, Problem.TurnStopped, Problem.ShuttingDown]
}).annotateMerge(
  about(
    "Delete a conversation",
    "Aborts its turns, and deletes it with all its turns, events and records. SQLite overwrites what is deleted and empties its log;",
    "PostgreSQL reuses the space after its own vacuum. Backups, copies and logs keep what they have."
  )
)

const runBulk = HttpApiEndpoint.post("runBulk", "/v1/turns/commands", {
  payload: BulkCommands.RunBulk,
  success: BulkCommands.BulkReport,
  error: [Problem.InvalidRequest, Problem.StorageUnavailable, Problem.ShuttingDown]
}).annotateMerge(
  about(
    "Command many turns",
    "Carries out one command for each turn of a page of the list, and reports each: `done`, `idle` (there was nothing to do) or `refused`",
    "with the reason. `next` continues with the following turns. Every turn reported as `done` is on disk.",
    "",
    "`retry` runs the model again for turns that are the newest of their conversation. Its turn has an id of its own that follows from the",
    "turn's, so the same call again retries nothing twice."
  )
)

const more = {
  money: Schema.optionalKey(
    Schema.Finite.check(Schema.isGreaterThan(0)).annotate({
      description: "US dollars more; absent: those of the limit."
    })
  ),
  tokens: Schema.optionalKey(
    Schema.Int.check(Schema.isGreaterThan(0)).annotate({ description: "Tokens more; absent: those of the limit." })
  )
}

/** A limit to be raised. */
export const RaiseLimit = Schema.Struct({ ...LimitName.fields, ...more }).annotate({
  identifier: "RaiseLimit",
  examples: [{ limit: 0 }, { limit: 1, tag: "nightly", tokens: 500_000 }]
})
export type RaiseLimit = typeof RaiseLimit.Type

/** What a limit allows that was raised. */
export const RaisedLimit = Schema.Struct({
  ...LimitName.fields,
  money: Schema.optionalKey(Schema.Finite),
  tokens: Schema.optionalKey(Schema.Finite),
  until: Schema.optionalKey(
    Schema.Finite.annotate({ description: "Its end, at midnight; absent: it lasts as long as its conversation." })
  )
}).annotate({
  identifier: "RaisedLimit",
  description: "All that the sum may be by now, with what was spent before.",
  examples: [{ limit: 0, money: 9.5, until: 1_901_232_000_000 }]
})
export type RaisedLimit = typeof RaisedLimit.Type

const raiseLimit = HttpApiEndpoint.post("raiseLimit", "/v1/spend/raise", {
  payload: RaiseLimit,
  success: RaisedLimit,
  error: [Problem.InvalidRequest, Problem.StorageUnavailable, Problem.ShuttingDown]
}).annotateMerge(
  about(
    "Raise a limit of spending",
    "From now on the limit allows so much more, by default as much again: until midnight, or as long as its conversation. It is on disk when",
    "this is answered, and turns that ask about it go on. An answer to one of them does the same."
  )
)

/** The most turns of one call for courses. */
export const MOST_COURSES = 50

/** Turns whose courses are read. */
export const ReadCourses = Schema.Struct({
  turnIds: Schema.Array(TurnId)
    .check(Schema.isMinLength(1), Schema.isMaxLength(MOST_COURSES))
    .annotate({ description: `1 to ${MOST_COURSES} ids.` })
}).annotate({ identifier: "ReadCourses", examples: [{ turnIds: [TurnId.make("t_7hq2m1")] }] })
export type ReadCourses = typeof ReadCourses.Type

/** The courses of turns. */
export const Courses = Schema.Struct({ courses: Schema.Array(TurnCourse) }).annotate({
  identifier: "Courses",
  description: "In the order of the request, without turns that are not known.",
  examples: [
    {
      courses: [
        {
          turnId: TurnId.make("t_7hq2m1"),
          attempts: [
            {
              step: 0,
              attempt: 0,
              target: "openai/gpt-5",
              from: 1_901_232_000_000,
              to: 1_901_232_000_420,
              outcome: "failed",
              code: "529",
              wait: { from: 1_901_232_000_420, to: 1_901_232_005_420 }
            }
          ],
          omitted: 0
        }
      ]
    }
  ]
})
export type Courses = typeof Courses.Type

const readCourses = HttpApiEndpoint.post("readCourses", "/v1/turns/courses", {
  payload: ReadCourses,
  success: Courses,
  error: [Problem.InvalidRequest, Problem.StorageUnavailable]
}).annotateMerge(
  about(
    "Read the courses of turns",
    "Attempts and waits of turns as spans of time, for a picture of many turns: what a call of `explain` for each has, without its words. It",
    "changes nothing."
  )
)

const report = HttpApiEndpoint.get("report", "/v1/report", {
  query: Listing.reportQuery,
  success: PeriodReport.annotate({ identifier: "PeriodReport", examples: [ExampleReport.night] }),
  error: [Problem.InvalidRequest, Problem.ConversationNotFound, Problem.StorageUnavailable]
}).annotateMerge(
  about(
    "Report a period",
    "What happened since a moment: turns by their ends, outages with beginning and end, causes of failures with the command that mends each,",
    "switches, calls that the gate saved, tokens, and money. `line` has it in one line.",
    "",
    "Turns count if they ended since then, or have not ended. A cost that is not known is `unknown`, never 0. With `conversation` the report is of",
    "one conversation; `conversations` names those of several turns that cost most."
  )
)

/** The calls as a group of the API. */
export const WorkGroup = HttpApiGroup.make("work")
  .add(
    submit,
    listTurns,
    watchTurn,
    abortTurn,
    listConversations,
    deleteConversation,
    runBulk,
    raiseLimit,
    readCourses,
    report
  )
  .annotateMerge(
    titled("Work that is left", "Turns that are submitted, read and ended by their ids, with no client attached.")
  )
