/** The calls about a conversation, over the service that keeps them. */
import { Api } from "@holdfast/wire/api"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Conversations } from "../../conversation/Conversations.ts"
import { orProblem } from "./DomainProblems.ts"

export const layer = HttpApiBuilder.group(
  Api.Api,
  "conversations",
  Effect.fnUntraced(function* (handlers) {
    const conversations = yield* Conversations
    return handlers.handleAll({
      create: ({ payload }) =>
        conversations.create(payload ?? {}).pipe(
          Effect.map((conversationId) => ({ conversationId })),
          orProblem
        ),
      state: ({ params }) => orProblem(conversations.state(params.conversationId)),
      messages: ({ params }) =>
        conversations.messages(params.conversationId).pipe(
          Effect.map((messages) => ({ messages })),
          orProblem
        ),
      abort: ({ params }) => orProblem(conversations.abort(params.conversationId)).pipe(Effect.asVoid),
      abortRetry: ({ params }) => orProblem(conversations.abortRetry(params.conversationId)).pipe(Effect.asVoid),
      retryNow: ({ params }) => orProblem(conversations.retryNow(params.conversationId)).pipe(Effect.asVoid),
      setAutoRetry: ({ params, payload }) =>
        orProblem(conversations.setAutoRetry(params.conversationId, payload.enabled))
    })
  })
)
