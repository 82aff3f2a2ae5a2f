/** Handles the API's calls about a conversation. */
import { Api } from "@holdfast/wire/api"
import { Labels } from "@holdfast/wire"
import type { Command } from "@holdfast/wire"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Conversations } from "../conversation/Conversations.ts"
import { TurnLists } from "../inspection/TurnLists.ts"
import * as Commands from "./CommandContext.ts"
import { orProblem } from "../conversation/DomainProblems.ts"
import { Drain } from "../system/Drain.ts"

/** The handlers of the `conversations` group. */
export const layer = HttpApiBuilder.group(
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
