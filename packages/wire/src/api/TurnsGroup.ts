/**
 * Defines the calls that run, watch, read and explain a turn.
 *
 * While a turn waits, the response carries keep-alive bytes without meaning, so that proxies and clients keep it open: a space before
 * the next line or document (NDJSON, JSON), a comment frame (SSE).
 *
 * A stream without `turn-end` broke off. The connection is then cut, never closed as if the stream were complete. Over SSE a last frame
 * named `reconnect` gives the reason, if the client still reads.
 *
 * TurnsGroup.T1. A turn is on disk before the head of its response is sent. From then on it runs, with or without clients; only abort
 *     ends it.
 */
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Failure } from "../Failure.ts"
import { TurnId } from "../Ids.ts"
import { NonEmptyText } from "../values/Text.ts"
import * as Labels from "../Labels.ts"
import * as Ndjson from "../codec/Ndjson.ts"
import * as Sse from "../codec/Sse.ts"
import { Prompt } from "../Prompt.ts"
import { TurnEvent, TurnStatus } from "../TurnEvent.ts"
import { TurnExplanation } from "../TurnExplanation.ts"
import { TurnState } from "../TurnState.ts"
import { conversationParams, conversationProblems } from "./ConversationsGroup.ts"
import * as ExampleTurn from "./ExampleTurn.ts"
import { about, titled, withContent } from "./OpenApiDocument.ts"
import * as Problem from "./Problem.ts"

const turnId = Schema.optionalKey(
  TurnId.annotate({
    description:
      "Your own id for the turn. A repeated id refers to the same turn, so you can repeat a call if its response was lost.",
    examples: [TurnId.make("t_nightly-2031-04-01")]
  })
)

/** The body of the call that runs a turn. */
export const RunTurn = Schema.Struct({
  prompt: Prompt.annotate({
    description: "Text, or a list of texts and files, in the order in which the model gets them.",
    examples: ["Summarise yesterday's incidents."]
  }),
  turnId,
  ...Labels.fields,
  webhook: Schema.optionalKey(
    NonEmptyText.annotate({
      description:
        "A public http or https address that gets the turn's end, signed; the service needs `webhooks.secret` for that.",
      examples: ["https://example.org/holdfast"]
    })
  )
}).annotate({
  identifier: "RunTurn",
  examples: [
    { prompt: "Summarise yesterday's incidents." },
    { prompt: "Summarise yesterday's incidents.", turnId: TurnId.make("t_nightly-2031-04-01") },
    {
      prompt: [
        { type: "text", text: "What does this chart show?" },
        { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=", name: "chart.png" }
      ]
    }
  ]
})
export type RunTurn = typeof RunTurn.Type

/** The body of the call that runs the model again (M1). */
export const RetryTurn = Schema.Struct({ turnId }).annotate({
  identifier: "RetryTurn",
  description: "All of it is optional; so is the body.",
  examples: [{ turnId: TurnId.make("t_nightly-2031-04-01") }]
})
export type RetryTurn = typeof RetryTurn.Type

/** A sealed turn. A failed turn is an ordinary response, so its HTTP status is 200 too. */
export const TurnResult = Schema.Struct({
  turnId: TurnId,
  status: TurnStatus,
  text: Schema.String.annotate({ description: "The text of its last answer." }),
  error: Schema.optionalKey(Failure)
}).annotate({
  identifier: "TurnResult",
  description: "The turn has sealed. `error` is the error that it failed with.",
  examples: [{ turnId: TurnId.make("t_7hq2m1"), status: "completed", text: "Nothing happened." }]
})
export type TurnResult = typeof TurnResult.Type

/** A submitted turn: it is on disk and runs with no client attached (X15). */
export const TurnAccepted = Schema.Struct({
  turnId: TurnId
}).annotate({
  identifier: "TurnAccepted",
  description: "With `Prefer: respond-async`: the turn is on disk and runs. Read its state at `Location`.",
  examples: [{ turnId: TurnId.make("t_7hq2m1") }]
})
export type TurnAccepted = typeof TurnAccepted.Type

/** The preference for 202 (RFC 7240). */
export const RESPOND_ASYNC = "respond-async"

/** `TurnAccepted` with its headers. */
export const Submitted = HttpApiSchema.WithHeaders(TurnAccepted.pipe(HttpApiSchema.status(202)), {
  location: Schema.String,
  "preference-applied": Schema.Literal(RESPOND_ASYNC)
})

/** The response for a submitted turn. */
export const submitted = (turnId: TurnId): typeof Submitted.Type =>
  HttpApiSchema.withHeaders({
    body: { turnId },
    headers: { location: `/v1/turns/${turnId}`, "preference-applied": RESPOND_ASYNC }
  })

/** The request header `Prefer`. Unknown preferences are no error (RFC 7240). */
const prefer = {
  prefer: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "`respond-async` (RFC 7240): answer with 202 once the turn is accepted. Other preferences are ignored.",
      examples: [RESPOND_ASYNC]
    })
  )
}

/** The query of calls that stream one turn (rule D12). */
export const deltas = {
  deltas: Schema.optionalKey(
    Schema.Literals(["full", "bare"]).annotate({
      description:
        "`bare`: in a stream, `text-delta` and `reasoning-delta` come without the ids of conversation and turn, as `{type, delta}`. Default: `full`.",
      examples: ["bare"]
    })
  )
}

/** The event of both kinds of stream. */
export const Event = TurnEvent.annotate({ identifier: "TurnEvent" })

/**
 * The two stream types with an example of their bytes; the schema is that of one line, or of one frame's `data`. The generator
 * would describe every stream as NDJSON.
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
  "otherwise the response is sent when the turn has sealed, however long that takes.",
  "With `Prefer: respond-async` the response is 202 once the turn is on disk; read the turn at `Location` as often as you like.",
  "An answer that breaks off unseen is then tried again (`retry.midStream`).",
  "Disconnecting ends nothing: the turn runs on, and a request with the same `turnId` streams it from its start.",
  "",
  "While the turn waits, every 15 seconds a space (NDJSON, JSON) or a comment (SSE) keeps the connection alive.",
  "A stream that ends without `turn-end` broke off."
].join("\n")

/** Tools show the example of the first media type only, which is no stream; so the description has one. */
const howAStreamLooks = `A complete stream of \`application/x-ndjson\`:\n\n\`\`\`json\n${ExampleTurn.lines}\`\`\``

const run = HttpApiEndpoint.post("run", "/v1/conversations/:conversationId/turns", {
  params: conversationParams,
  query: deltas,
  headers: prefer,
  payload: RunTurn,
  success: answers,
  error: [...turnProblems, Problem.FileTooLarge]
})
  .annotateMerge(
    about(
      "Run a turn",
      "Submits a prompt: text, or a list of texts and files. On a busy conversation the turn is queued.\n",
      `${howItIsAnswered}\n\n${howAStreamLooks}`
    )
  )
  .annotateMerge(withContent(streams))

const retry = HttpApiEndpoint.post("retry", "/v1/conversations/:conversationId/retry", {
  params: conversationParams,
  query: deltas,
  headers: prefer,
  // An absent body decodes as `null`.
  payload: [RetryTurn, Schema.Null],
  success: answers,
  error: turnProblems
})
  .annotateMerge(
    about(
      "Run the model again",
      "After an error or an abort: answers the last prompt again, without the failed response.\n",
      howItIsAnswered
    )
  )
  .annotateMerge(withContent(streams))

/** The position in a conversation of the last event that a client has received; 0 is the beginning. */
const position = (description: string) =>
  Schema.String.annotate({ description, examples: ["41"] }).pipe(
    Schema.decodeTo(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)), SchemaTransformation.numberFromString)
  )

const events = HttpApiEndpoint.get("events", "/v1/conversations/:conversationId/events", {
  params: conversationParams,
  query: {
    after: Schema.optionalKey(position("Send the persisted events after this id; 0 or no value means all of them."))
  },
  headers: {
    "last-event-id": Schema.optionalKey(
      position("The same, as browsers send it when they reconnect. It wins over `after`.")
    )
  },
  success: HttpApiSchema.StreamNdjson({ schema: Event, contentType: Sse.CONTENT_TYPE }),
  error: conversationProblems
})
  .annotateMerge(
    about(
      "Watch it",
      "Streams the persisted events of the conversation, then live events without end. Persisted events carry an `id:`;",
      "a client that reconnects with the last id it received misses nothing and gets nothing twice.",
      "Events without an `id:` are sent again after a reconnect: `step-start` begins the text of a step anew, so discard the text",
      "that you hold of that step; the text so far follows. `step-discarded` means that the step's text is void.",
      "",
      "The server disconnects a client that falls 4 MiB behind or reads nothing for a minute; the client reconnects the same way.",
      "The last frame of a stream that ends early is named `reconnect` and gives the reason: `{code, message}`, the code `too-slow`,",
      "`turn-stopped`, `storage-unavailable`, `shutting-down`, `unexpected`, or `conversation-deleted`, after which there is nothing",
      "to reconnect to. `EventSource` reconnects by itself."
    )
  )
  .annotateMerge(withContent({ [Sse.CONTENT_TYPE]: streams[Sse.CONTENT_TYPE] }))

/** The media type of plain text. */
export const TEXT_CONTENT_TYPE = "text/plain"

/** The parameter of a path with a turn in it. */
export const turnParam = {
  turnId: Schema.String.annotate({ description: "The `turnId` of every event of the turn." }).pipe(
    Schema.decodeTo(TurnId)
  )
}

/** A turn's state, with its examples. */
export const State = TurnState.annotate({
  identifier: "TurnState",
  description: "The turn as it is now; while it waits, the cause and the due time; its answer once it is completed.",
  examples: [ExampleTurn.waitingTurn, ExampleTurn.endedTurn]
})

const turn = HttpApiEndpoint.get("turn", "/v1/turns/:turnId", {
  params: turnParam,
  success: State,
  error: [Problem.InvalidRequest, Problem.TurnNotFound, Problem.StorageUnavailable]
}).annotateMerge(
  about(
    "Read a turn",
    "The state of the turn, whichever process runs it: whether it waits, for what and until when, how many attempts it has made,",
    "and, once it has ended, its answer or its error. Reading it does not wake the turn, so you can poll it."
  )
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
    Schema.String.annotate({ description: "The same as text for people; times are UTC." }).pipe(
      HttpApiSchema.asText({ contentType: TEXT_CONTENT_TYPE })
    )
  ],
  error: [...conversationProblems, Problem.TurnNotFound]
}).annotateMerge(
  about(
    "Explain a turn",
    "Why the turn waited, retried, gave up or lost content: for each decision the failure, the rule, the numbers that it used,",
    "and when the turn is scheduled to wake. It is made from the turn's records, so it is the same while the turn runs and afterwards.",
    "",
    "`Accept: text/plain` returns it as text."
  )
)

/** The calls on turns. */
export const TurnsGroup = HttpApiGroup.make("turns")
  .add(run, retry, turn, events, explain)
  .annotateMerge(titled("Turns", "A turn answers one prompt, however long its provider is down."))
