/**
 * Handles the API's calls that run, watch or explain a turn.
 *
 * A client that disconnects does not affect the turn.
 *
 * TurnHandlers.T1. The head of an answer leaves after the turn is on disk, never before.
 */
import { defined, type Ids, Labels, LongJson, Ndjson, Sse, type TurnExplanation } from "@holdfast/wire"
import { Api, Problem, TurnsGroup } from "@holdfast/wire/api"
import { Clock, Effect, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Conversations, type TurnResult } from "../engine/conversation/Conversations.ts"
import * as ExplanationText from "../insight/inspection/ExplanationText.ts"
import { StoredTurns } from "../insight/inspection/StoredTurns.ts"
import * as CommandContext from "./CommandContext.ts"
import { orProblem } from "../engine/conversation/DomainProblems.ts"
import * as LiveResponse from "./body/LiveResponse.ts"
import * as EventStreams from "./EventStreams.ts"
import * as Negotiation from "./Negotiation.ts"

const JSON_TYPE = "application/json"

type TurnResponse = Effect.Effect<
  HttpServerResponse.HttpServerResponse | TurnsGroup.TurnResult | typeof TurnsGroup.Submitted.Type,
  Problem.StorageUnavailable | Problem.TurnStopped | Problem.ShuttingDown
>

/** The handlers of the `turns` group. */
export const layer = HttpApiBuilder.group(
  Api.Api,
  "turns",
  Effect.fnUntraced(function* (handlers) {
    const conversations = yield* Conversations
    const states = yield* StoredTurns
    const gates = yield* CommandContext.gates
    const { checkFiles, checkWebhook, unlessGoingDown } = gates

    /** Answers the request of an accepted turn, in the format that the client asked for. */
    const answer = (
      request: HttpServerRequest.HttpServerRequest,
      within: Ids.ConversationId,
      turnId: Ids.TurnId,
      deltas: EventStreams.Deltas
    ): TurnResponse => {
      if (isSubmitted(request)) return Effect.succeed(TurnsGroup.submitted(turnId)) // X15
      const types = [JSON_TYPE, Ndjson.CONTENT_TYPE, Sse.CONTENT_TYPE] as const
      const type = Negotiation.choose(request.headers["accept"], types)
      const items = conversations.watchTurn(turnId, within)
      // The calls of all turns that one commit has accepted leave before the first of their watchers reads.
      return Effect.andThen(
        Effect.yieldNow,
        type === JSON_TYPE
          ? answerSealed(request, conversations.result(turnId, within), gates)
          : LiveResponse.send(request, gates, { ...EventStreams.ofTurn(deltas, type), items, endless: false })
      )
    }

    return handlers.handleAll({
      // Suspended: the fiber of the request keeps the effect of its handler, and would keep the acceptance while the answer streams.
      run: ({ params, payload, query, request }) =>
        Effect.suspend(() =>
          Effect.andThen(
            Effect.andThen(unlessGoingDown, checkWebhook(payload.webhook)),
            conversations.prompt(params.conversationId, {
              ...payload,
              labels: Labels.among(payload),
              isSubmitted: isSubmitted(request)
            })
          ).pipe(
            orProblem,
            (accepted) => Effect.andThen(checkFiles(payload.prompt), accepted),
            Effect.flatMap((turnId) => answer(request, params.conversationId, turnId, query.deltas))
          )
        ),
      retry: ({ params, payload, query, request }) =>
        Effect.suspend(() =>
          Effect.andThen(
            unlessGoingDown,
            conversations.retry(params.conversationId, { ...payload, isSubmitted: isSubmitted(request) })
          ).pipe(
            orProblem,
            Effect.flatMap((turnId) => answer(request, params.conversationId, turnId, query.deltas))
          )
        ),
      events: ({ headers, params, query, request }) =>
        // An unknown conversation must be refused before the head leaves.
        orProblem(conversations.state(params.conversationId)).pipe(
          Effect.andThen(
            LiveResponse.send(request, gates, {
              ...EventStreams.sse,
              items: conversations.watch(params.conversationId, headers["last-event-id"] ?? query.after ?? 0),
              endless: true
            })
          )
        ),
      turn: ({ params, request }) =>
        Effect.flatMap(orProblem(states.find(params.turnId)), (state) => whole(request, gates, state, state.text)),
      explain: ({ params, request }) =>
        orProblem(states.explain(params.conversationId, params.turnId)).pipe(
          Effect.zipWith(Clock.currentTimeMillis, (explanation, now) =>
            Negotiation.choose(request.headers["accept"], [JSON_TYPE, TurnsGroup.TEXT_CONTENT_TYPE]) === JSON_TYPE
              ? explanation
              : HttpServerResponse.text(inWords(explanation, now))
          )
        )
    })
  })
)

// --- internal

/** X15 */
const isSubmitted = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  Negotiation.isAsync(headers["prefer"])

const toJson = ({ end, text, turnId }: TurnResult): TurnsGroup.TurnResult => ({
  turnId,
  status: end.status,
  text,
  ...defined({ error: end.error })
})

/** The explanation as text. Times are in UTC, because a client may be in any time zone. */
const inWords = (explanation: TurnExplanation.TurnExplanation, now: number): string =>
  `${ExplanationText.lines(explanation, { timeZone: "UTC", columns: ExplanationText.COLUMNS, now }).join("\n")}\n`

/**
 * Answers when a turn has sealed. A long answer leaves in pieces. If the seal takes longer than `LiveResponse.KEEP_ALIVE_INTERVAL`, the
 * head leaves first, and spaces follow until the document does: JSON may begin with spaces (RFC 8259, section 2).
 */
const answerSealed = (
  request: HttpServerRequest.HttpServerRequest,
  result: ReturnType<Conversations["Service"]["result"]>,
  gates: LiveResponse.Shared
): TurnResponse => {
  const sealed = Effect.map(result, toJson)
  return orProblem(sealed).pipe(
    Effect.raceFirst(Effect.as(Effect.sleep(LiveResponse.KEEP_ALIVE_INTERVAL), undefined)),
    Effect.raceFirst(Effect.andThen(gates.drain.ended, Effect.fail(goingDown))),
    Effect.flatMap((answer): TurnResponse => {
      return answer === undefined ? inPieces(request, gates, sealed) : whole(request, gates, answer, answer.text)
    })
  )
}

/** A document as it is, or in pieces if its text is long. */
const whole = <A>(
  request: HttpServerRequest.HttpServerRequest,
  gates: LiveResponse.Shared,
  document: A,
  text = ""
): Effect.Effect<A | HttpServerResponse.HttpServerResponse> =>
  LongJson.isLong(text) ? inPieces(request, gates, Effect.succeed(document)) : Effect.succeed(document)

/** Sends a document of megabytes piece by piece and waits for its client in between (LiveResponse.L3). */
const inPieces = <A, E>(
  request: HttpServerRequest.HttpServerRequest,
  gates: LiveResponse.Shared,
  document: Effect.Effect<A, E>
) =>
  LiveResponse.send(request, gates, {
    contentType: JSON_TYPE,
    keepAlive: Ndjson.KEEP_ALIVE,
    items: Stream.flatMap(Stream.fromEffect(document), (value) =>
      Stream.fromIterable(LongJson.pieces(value), { chunkSize: 1 })
    ),
    encode: (pieces) => Buffer.from(pieces.join("")),
    endless: false
  })

const goingDown = new Problem.ShuttingDown({
  detail: "The turn is on disk and resumes when the service is back. Send the request again with the same turnId."
})
