/**
 * Calls that run a turn, or watch one.
 *
 * T1. A turn is on disk before the head of its answer leaves. From then on it runs, whoever listens; only abort ends it.
 * T2. While a turn waits, its answer says so in bytes that mean nothing, so that neither proxies nor clients give up on it:
 *     a space before the next line or document (NDJSON, JSON), a comment frame (SSE).
 * T3. A stream without `turn-end` broke off. The connection is cut then, never ended as if it were complete. Over SSE a last frame
 *     named `reconnect` says why, where the client still reads.
 */
import { Schema, SchemaTransformation } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Failure } from "../Failure.ts"
import { TurnId } from "../Ids.ts"
import * as Ndjson from "../Ndjson.ts"
import * as Sse from "../Sse.ts"
import { NonEmptyText } from "../Text.ts"
import { TurnEvent, TurnStatus } from "../TurnEvent.ts"
import { TurnExplanation } from "../TurnExplanation.ts"
import { TurnState } from "../TurnState.ts"
import { conversationParams, conversationProblems } from "./ConversationsGroup.ts"
import * as ExampleTurn from "./ExampleTurn.ts"
import { withContent } from "./OpenApiDocument.ts"
import * as Problem from "./Problem.ts"

const turnId = Schema.optionalKey(
  TurnId.annotate({
    description:
      "Your own name for the turn: the same id again is the same turn, so a call whose answer was lost can be made again.",
    examples: [TurnId.make("t_nightly-2031-04-01")]
  })
)

export const RunTurn = Schema.Struct({
  prompt: NonEmptyText.annotate({ examples: ["Summarise yesterday's incidents."] }),
  turnId
}).annotate({
  identifier: "RunTurn",
  examples: [
    { prompt: "Summarise yesterday's incidents." },
    { prompt: "Summarise yesterday's incidents.", turnId: TurnId.make("t_nightly-2031-04-01") }
  ]
})
export type RunTurn = typeof RunTurn.Type

export const RetryTurn = Schema.Struct({ turnId }).annotate({
  identifier: "RetryTurn",
  description: "All of it is optional; so is the body.",
  examples: [{ turnId: TurnId.make("t_nightly-2031-04-01") }]
})
export type RetryTurn = typeof RetryTurn.Type

/** A turn that has sealed. A failed turn is an answer like any other, so its status is 200 too. */
export const TurnResult = Schema.Struct({
  turnId: TurnId,
  status: TurnStatus,
  text: Schema.String.annotate({ description: "The text of its last answer." }),
  error: Schema.optionalKey(Failure)
}).annotate({
  identifier: "TurnResult",
  description: "The turn has sealed. `error` says what it failed with.",
  examples: [{ turnId: TurnId.make("t_7hq2m1"), status: "completed", text: "Nothing happened." }]
})
export type TurnResult = typeof TurnResult.Type

/** A turn that was submitted: it is on disk, and runs with no client attached (X15). */
export const TurnAccepted = Schema.Struct({
  turnId: TurnId
}).annotate({
  identifier: "TurnAccepted",
  description: "The turn is on disk and runs, with `Prefer: respond-async`; `Location` is where to read what it is at.",
  examples: [{ turnId: TurnId.make("t_7hq2m1") }]
})
export type TurnAccepted = typeof TurnAccepted.Type

/** The preference for 202 (RFC 7240). */
export const RESPOND_ASYNC = "respond-async"

/** The same with its headers. */
export const Submitted = HttpApiSchema.WithHeaders(TurnAccepted.pipe(HttpApiSchema.status(202)), {
  location: Schema.String,
  "preference-applied": Schema.Literal(RESPOND_ASYNC)
})

/** Answers for a turn that was submitted. */
export const submitted = (turnId: TurnId): typeof Submitted.Type =>
  HttpApiSchema.withHeaders({
    body: { turnId },
    headers: { location: `/v1/turns/${turnId}`, "preference-applied": RESPOND_ASYNC }
  })

/** `Prefer` as a request carries it; it is no error to prefer what a server does not know. */
const prefer = {
  prefer: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "`respond-async` (RFC 7240): answer with 202 once the turn is accepted. Other preferences are ignored.",
      examples: [RESPOND_ASYNC]
    })
  )
}

/** What both kinds of stream carry. */
export const Event = TurnEvent.annotate({ identifier: "TurnEvent" })

/**
 * Both media types as their bytes look; the schema is that of one line, or of one frame's `data`. The generator would call
 * a stream NDJSON whatever its media type.
 */
export const streams = {
  [Ndjson.CONTENT_TYPE]: {
    schema: { $ref: "#/components/schemas/TurnEvent" },
    example: ExampleTurn.lines
  },
  [Sse.CONTENT_TYPE]: {
    schema: { $ref: "#/components/schemas/TurnEvent" },
    example: ExampleTurn.frames
  }
}

const answers = [
  TurnResult,
  HttpApiSchema.StreamNdjson({ schema: Event, contentType: [Ndjson.CONTENT_TYPE, Sse.CONTENT_TYPE] }),
  Submitted
] as const

const turnProblems = [...conversationProblems, Problem.TurnConflict, Problem.TurnStopped, Problem.ShuttingDown] as const

const howItIsAnswered = [
  "`Accept: application/x-ndjson` or `text/event-stream` streams the turn's events, up to `turn-end`;",
  "otherwise the call is answered when the turn has sealed, however long that takes.",
  "`Prefer: respond-async` is answered with 202 once the turn is on disk: read it at `Location`, as often as you like.",
  "Going away ends nothing: the turn runs on, and the same `turnId` again watches it from its start.",
  "",
  "While the turn waits, every 15 seconds a space (NDJSON, JSON) or a comment (SSE) keeps the connection alive.",
  "A stream that ends without `turn-end` broke off."
].join("\n")

/** Readers of the format show the example of the first media type alone, which is no stream. */
const howAStreamLooks = `A stream of \`application/x-ndjson\`, whole:\n\n\`\`\`json\n${ExampleTurn.lines}\`\`\``

const run = HttpApiEndpoint.post("run", "/v1/conversations/:conversationId/turns", {
  params: conversationParams,
  headers: prefer,
  payload: RunTurn,
  success: answers,
  error: turnProblems
}).annotateMerge(
  OpenApi.annotations({
    summary: "Run a turn",
    description: `Hands in a prompt. On a conversation that is busy it waits its turn.\n\n${howItIsAnswered}\n\n${howAStreamLooks}`,
    transform: withContent(streams)
  })
)

const retry = HttpApiEndpoint.post("retry", "/v1/conversations/:conversationId/retry", {
  params: conversationParams,
  headers: prefer,
  // `null` is what an absent body decodes as.
  payload: [RetryTurn, Schema.Null],
  success: answers,
  error: turnProblems
}).annotateMerge(
  OpenApi.annotations({
    summary: "Run the model again",
    description: `After an error or an abort: answers the last prompt again, without what had failed.\n\n${howItIsAnswered}`,
    transform: withContent(streams)
  })
)

/** A position in a conversation: that of the last event a client has seen; 0 is the beginning. */
const position = (description: string) =>
  Schema.String.annotate({ description, examples: ["41"] }).pipe(
    Schema.decodeTo(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)), SchemaTransformation.numberFromString)
  )

const events = HttpApiEndpoint.get("events", "/v1/conversations/:conversationId/events", {
  params: conversationParams,
  query: {
    after: Schema.optionalKey(position("Send the persisted events after this id; 0, or nothing, means all of them."))
  },
  headers: {
    "last-event-id": Schema.optionalKey(
      position("The same, as browsers send it when they reconnect. It wins over `after`.")
    )
  },
  success: HttpApiSchema.StreamNdjson({ schema: Event, contentType: Sse.CONTENT_TYPE }),
  error: conversationProblems
}).annotateMerge(
  OpenApi.annotations({
    summary: "Watch it",
    description: [
      "The persisted events of the conversation, then live ones without end. Persisted events carry an `id:`;",
      "a client that comes back with the last one it saw misses nothing and gets nothing twice.",
      "Events without an `id:` are told again to a client that comes back: `step-start` begins the text of a step anew, so what was",
      "held of that step is to be forgotten, and the text so far follows; `step-discarded` says that it is void.",
      "",
      "A client that falls 4 MiB behind, or takes nothing for a minute, is sent away; it comes back the same way. The last frame of a",
      "stream that ends before its time is named `reconnect` and says why: `{code, message}`, the code `too-slow`, `turn-stopped`,",
      "`storage-unavailable`, `shutting-down` or `unexpected`. `EventSource` comes back by itself."
    ].join("\n"),
    transform: withContent({ [Sse.CONTENT_TYPE]: streams[Sse.CONTENT_TYPE] })
  })
)

/** What plain text goes by. */
export const TEXT_CONTENT_TYPE = "text/plain"

/** What a path with a turn in it carries. */
export const turnParam = {
  turnId: Schema.String.annotate({ description: "As it stands in every event of the turn." }).pipe(
    Schema.decodeTo(TurnId)
  )
}

export const State = TurnState.annotate({
  identifier: "TurnState",
  description: "The turn as it is now; while it waits, what for and until when; its answer once it is completed.",
  examples: [ExampleTurn.waitingTurn, ExampleTurn.endedTurn]
})

const turn = HttpApiEndpoint.get("turn", "/v1/turns/:turnId", {
  params: turnParam,
  success: State,
  error: [Problem.InvalidRequest, Problem.TurnNotFound, Problem.StorageUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Read a turn",
    description: [
      "What the turn is at, whichever process runs it: whether it waits, for what and until when, how many attempts it has made, and,",
      "once it has ended, its answer or its error. Reading it wakes nothing, so it can be asked for again and again."
    ].join("\n")
  })
)

const explain = HttpApiEndpoint.get("explain", "/v1/conversations/:conversationId/turns/:turnId/explain", {
  params: {
    ...conversationParams,
    ...turnParam
  },
  success: [
    TurnExplanation.annotate({
      identifier: "TurnExplanation",
      description: "Every attempt, decision, wait and tool call, and the seal."
    }),
    Schema.String.annotate({ description: "The same for people; times are UTC." }).pipe(
      HttpApiSchema.asText({ contentType: TEXT_CONTENT_TYPE })
    )
  ],
  error: [...conversationProblems, Problem.TurnNotFound]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Explain a turn",
    description: [
      "Why it waited, retried, gave up or lost something: for each decision the failure, the rule, the numbers that it was made from,",
      "and when the turn is to wake. From the record, so it says the same while the turn runs and afterwards.",
      "",
      "`Accept: text/plain` gives it in words."
    ].join("\n")
  })
)

export const TurnsGroup = HttpApiGroup.make("turns")
  .add(run, retry, turn, events, explain)
  .annotateMerge(
    OpenApi.annotations({
      title: "Turns",
      description: "A turn answers one prompt, however long its provider is down."
    })
  )
