/** The calls for work that is left: turns by their own ids, with no client attached (X15). */
import { Labels, Ndjson, Sse } from "@holdfast/wire"
import { Api, WorkGroup } from "@holdfast/wire/api"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { TurnWebhooks } from "../delivery/TurnWebhooks.ts"
import { Conversations, ShuttingDown, TurnConflict } from "../conversation/Conversations.ts"
import { PeriodReports } from "../inspection/period/PeriodReports.ts"
import { TurnLists } from "../inspection/TurnLists.ts"
import { StoredTurns } from "../inspection/StoredTurns.ts"
import { BulkCommands } from "./BulkCommands.ts"
import { Removal } from "../orchestrator/Removal.ts"
import { Submissions } from "../orchestrator/Submissions.ts"
import { Drain } from "../system/Drain.ts"
import * as LiveResponse from "./body/LiveResponse.ts"
import * as Commands from "./CommandContext.ts"
import * as FileLimit from "./FileLimit.ts"
import { orProblem } from "../conversation/DomainProblems.ts"
import * as EventStreams from "./EventStreams.ts"
import * as Negotiation from "./Negotiation.ts"

/** The handlers of the group `work`. */
export const layer = HttpApiBuilder.group(
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
    const mostFileBytes = yield* FileLimit.FileLimit

    const unlessGoingDown = Effect.flatMap(drain.hasBegun, (hasBegun) =>
      hasBegun ? Effect.fail(new ShuttingDown()) : Effect.void
    )

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
          (accepted) => Effect.andThen(FileLimit.check(payload.prompt, mostFileBytes), accepted),
          Effect.map(WorkGroup.submitted)
        ),
      watchTurn: ({ params, query, request }) =>
        Effect.flatMap(orProblem(states.conversationOf(params.turnId)), (within) => {
          const types = [Ndjson.CONTENT_TYPE, Sse.CONTENT_TYPE] as const
          const isSse = Negotiation.choose(request.headers["accept"], types) === Sse.CONTENT_TYPE
          return LiveResponse.send(request, drain, {
            ...EventStreams.ofTurn(query.deltas)[isSse ? "sse" : "ndjson"],
            items: conversations.watchTurn(params.turnId, within),
            endless: false
          })
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
