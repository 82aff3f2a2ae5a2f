/** Handles the API's calls about a conversation, and those for work that is left: turns by their own ids, with no client attached (X15). */
import { Api, WorkGroup } from "@holdfast/wire/api"
import { type Command, Labels, Ndjson, Sse } from "@holdfast/wire"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Conversations, TurnConflict } from "../conversation/Conversations.ts"
import { TurnLists } from "../inspection/TurnLists.ts"
import * as Commands from "./CommandContext.ts"
import { orProblem } from "../conversation/DomainProblems.ts"
import { Drain } from "../system/Drain.ts"
import { TurnWebhooks } from "../delivery/TurnWebhooks.ts"
import { PeriodReports } from "../inspection/period/PeriodReports.ts"
import { StoredTurns } from "../inspection/StoredTurns.ts"
import { BulkCommands } from "./BulkCommands.ts"
import { Removal } from "../orchestrator/Removal.ts"
import { Submissions } from "../orchestrator/Submissions.ts"
import * as LiveResponse from "./body/LiveResponse.ts"
import * as EventStreams from "./EventStreams.ts"
import * as Negotiation from "./Negotiation.ts"

/** The handlers of the `conversations` group. */
export const conversations = HttpApiBuilder.group(
  Api.Api,
  "conversations",
  Effect.fnUntraced(function* (handlers) {
    const conversations = yield* Conversations
    const lists = yield* TurnLists
    const drain = yield* Drain
    const command = Commands.unlessDown(drain)
    const steer = (steering: Command.Steering, request: HttpServerRequest.HttpServerRequest) =>
      command(orProblem(conversations.steer(steering, Commands.originOf(request))))

    return handlers.handleAll({
      create: ({ payload }) =>
        conversations.create({ ...payload, labels: Labels.among(payload ?? {}) }).pipe(
          Effect.map((conversationId) => ({ conversationId })),
          orProblem
        ),
      state: ({ params }) => orProblem(conversations.state(params.conversationId)),
      messages: ({ params }) =>
        conversations.messages(params.conversationId).pipe(
          Effect.map((messages) => ({ messages })),
          orProblem
        ),
      abort: ({ params }) => command(orProblem(conversations.abort(params.conversationId))),
      abortRetry: ({ params, payload, request }) => steer({ type: "abort-retry", ...params, ...payload }, request),
      retryNow: ({ params, payload, request }) => steer({ type: "retry-now", ...params, ...payload }, request),
      waitUntil: ({ params, payload, request }) => steer({ type: "wait-until", ...params, ...payload }, request),
      switchTarget: ({ params, payload, request }) => steer({ type: "switch-target", ...params, ...payload }, request),
      extendBudget: ({ params, payload, request }) => steer({ type: "extend-budget", ...params, ...payload }, request),
      answerTool: ({ params, payload, request }) => steer({ type: "answer-tool", ...params, ...payload }, request),
      setTitle: ({ params, payload }) => orProblem(lists.setTitle(params.conversationId, payload.title)),
      setAutoRetry: ({ params, payload }) =>
        orProblem(conversations.setAutoRetry(params.conversationId, payload.enabled)),
      setModel: ({ params, payload }) => orProblem(conversations.setModel(params.conversationId, payload.model)),
      setToolAnswers: ({ params, payload }) =>
        orProblem(conversations.setToolAnswers(params.conversationId, payload.toolAnswers))
    })
  })
)

/** The handlers of the group `work`. */
export const work = HttpApiBuilder.group(
  Api.Api,
  "work",
  Effect.fnUntraced(function* (handlers) {
    const conversations = yield* Conversations
    const states = yield* StoredTurns
    const lists = yield* TurnLists
    const reports = yield* PeriodReports
    const webhooks = yield* TurnWebhooks
    const submissions = yield* Submissions
    const removal = yield* Removal
    const bulk = yield* BulkCommands
    const drain = yield* Drain
    const mostFileBytes = yield* Commands.FileLimit

    const unlessGoingDown = Commands.unlessGoingDown(drain)

    return handlers.handleAll({
      listTurns: ({ query: { cursor, limit, ...filter } }) => orProblem(lists.turns(filter, { cursor, limit })),
      listConversations: ({ query: { cursor, limit, ...filter } }) =>
        orProblem(lists.conversations(filter, { cursor, limit })),
      report: ({ query: { conversation, since } }) =>
        orProblem(conversation === undefined ? reports.report(since) : reports.ofConversation(conversation, since)),
      submit: ({ payload }) =>
        Effect.andThen(
          Effect.andThen(unlessGoingDown, webhooks.check(payload.webhook)),
          submissions.submit({ ...payload, labels: Labels.among(payload) })
        ).pipe(
          // It opens its conversation itself.
          Effect.catchTag("ConversationNotFound", Effect.die),
          orProblem,
          (accepted) => Effect.andThen(Commands.checkFiles(payload.prompt, mostFileBytes), accepted),
          Effect.map(WorkGroup.submitted)
        ),
      watchTurn: ({ params, query, request }) =>
        Effect.flatMap(orProblem(states.conversationOf(params.turnId)), (within) => {
          const types = [Ndjson.CONTENT_TYPE, Sse.CONTENT_TYPE] as const
          const format = EventStreams.ofTurn(query.deltas, Negotiation.choose(request.headers["accept"], types))
          const items = conversations.watchTurn(params.turnId, within)
          return LiveResponse.send(request, drain, { ...format, items, endless: false })
        }),
      runBulk: ({ payload, request }) =>
        orProblem(Effect.andThen(unlessGoingDown, bulk.run(payload, Commands.originOf(request)))),
      readCourses: ({ payload }) => orProblem(Effect.map(states.courses(payload.turnIds), (courses) => ({ courses }))),
      deleteConversation: ({ params }) =>
        orProblem(removal.remove(params.conversationId)).pipe(Commands.unlessDown(drain)),
      abortTurn: ({ params: { turnId } }) =>
        Effect.gen(function* () {
          const within = yield* states.conversationOf(turnId)
          if (yield* conversations.abort(within, turnId)) return
          const { status } = yield* states.find(turnId)
          if (status === "queued") {
            return yield* new TurnConflict({
              message: `Turn ${turnId} is queued behind another turn of conversation ${within}. End that one first.`
            })
          }
        }).pipe(Effect.catchTag("ConversationNotFound", Effect.die), orProblem, Commands.unlessDown(drain))
    })
  })
)
