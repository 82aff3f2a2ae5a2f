/** Handles the API's calls about a conversation, and those for work that is left: turns by their own ids, with no client attached (X15). */
import { Api, WorkGroup } from "@holdfast/wire/api"
import { type Command, Commands, type Ids, Labels, Ndjson, Sse } from "@holdfast/wire"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Conversations } from "../engine/conversation/Conversations.ts"
import { TurnLists } from "../insight/inspection/TurnLists.ts"
import * as CommandContext from "./CommandContext.ts"
import { orProblem } from "../engine/conversation/DomainProblems.ts"
import { PeriodReports } from "../insight/inspection/period/PeriodReports.ts"
import { StoredTurns } from "../insight/inspection/StoredTurns.ts"
import { BulkRun } from "./BulkRun.ts"
import { Removal } from "../engine/orchestrator/Removal.ts"
import { Submissions } from "../engine/orchestrator/Submissions.ts"
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
    const { unlessDown } = yield* CommandContext.gates
    const steer = (steering: Command.Steering, request: HttpServerRequest.HttpServerRequest) =>
      orProblem(conversations.steer(steering, CommandContext.originOf(request))).pipe(unlessDown, Effect.asVoid)

    return handlers.handleAll({
      create: ({ payload }) =>
        conversations.create({ ...payload, labels: Labels.among(payload ?? {}) }).pipe(
          Effect.map((conversationId) => ({ conversationId })),
          orProblem
        ),
      state: ({ params }) => orProblem(conversations.state(params.conversationId)),
      messages: ({ params }) =>
        orProblem(Effect.map(conversations.messages(params.conversationId), (messages) => ({ messages }))),
      abort: ({ params, payload }) =>
        orProblem(conversations.abort(params.conversationId, payload?.turnId)).pipe(unlessDown, Effect.asVoid),
      ...derived("steering", steer),
      ...derived("setting", (command) => orProblem(conversations.change(command))),
      setTitle: ({ params, payload }) => orProblem(lists.setTitle(params.conversationId, payload.title))
    })
  })
)

/** The handlers of the commands of a kind, from the table. */
const derived = <K extends "steering" | "setting", E>(
  kind: K,
  carryOut: (
    command: K extends "steering" ? Command.Steering : Command.SettingCommand,
    request: HttpServerRequest.HttpServerRequest
  ) => Effect.Effect<void, E>
) => {
  type Call = {
    readonly params: { readonly conversationId: Ids.ConversationId }
    readonly payload: object | null
    readonly request: HttpServerRequest.HttpServerRequest
  }
  const handlers = Commands.names(kind).map((name) => [
    name,
    // The body was decoded by the schema of the command's fields.
    ({ params, payload, request }: Call) =>
      carryOut(
        { type: Commands.kebab(name), ...params, ...payload } as unknown as Parameters<typeof carryOut>[0],
        request
      )
  ])
  return Object.fromEntries(handlers) as Record<Commands.NameOf<K>, (call: Call) => Effect.Effect<void, E>>
}

/** The handlers of the group `work`. */
export const work = HttpApiBuilder.group(
  Api.Api,
  "work",
  Effect.fnUntraced(function* (handlers) {
    const conversations = yield* Conversations
    const states = yield* StoredTurns
    const lists = yield* TurnLists
    const reports = yield* PeriodReports
    const submissions = yield* Submissions
    const removal = yield* Removal
    const bulk = yield* BulkRun
    const gates = yield* CommandContext.gates
    const { checkFiles, checkWebhook, unlessDown, unlessGoingDown } = gates

    return handlers.handleAll({
      listTurns: ({ query: { cursor, limit, ...filter } }) => orProblem(lists.turns(filter, { cursor, limit })),
      listConversations: ({ query: { cursor, limit, ...filter } }) =>
        orProblem(lists.conversations(filter, { cursor, limit })),
      report: ({ query: { conversation, since } }) =>
        orProblem(conversation === undefined ? reports.report(since) : reports.ofConversation(conversation, since)),
      submit: ({ payload }) =>
        Effect.andThen(
          Effect.andThen(unlessGoingDown, checkWebhook(payload.webhook)),
          submissions.submit({ ...payload, labels: Labels.among(payload) })
        ).pipe(
          // It opens its conversation itself.
          Effect.catchTag("ConversationNotFound", Effect.die),
          orProblem,
          (accepted) => Effect.andThen(checkFiles(payload.prompt), accepted),
          Effect.map(WorkGroup.submitted)
        ),
      watchTurn: ({ params, query, request }) =>
        Effect.flatMap(orProblem(states.conversationOf(params.turnId)), (within) => {
          const types = [Ndjson.CONTENT_TYPE, Sse.CONTENT_TYPE] as const
          const format = EventStreams.ofTurn(query.deltas, Negotiation.choose(request.headers["accept"], types))
          const items = conversations.watchTurn(params.turnId, within)
          return LiveResponse.send(request, gates, { ...format, items, endless: false })
        }),
      runBulk: ({ payload, request }) =>
        orProblem(Effect.andThen(unlessGoingDown, bulk.run(payload, CommandContext.originOf(request)))),
      raiseLimit: ({ payload }) => orProblem(Effect.andThen(unlessGoingDown, bulk.raise(payload))),
      readCourses: ({ payload }) => orProblem(Effect.map(states.courses(payload.turnIds), (courses) => ({ courses }))),
      deleteConversation: ({ params }) => orProblem(removal.remove(params.conversationId)).pipe(unlessDown),
      abortTurn: ({ params: { turnId } }) =>
        Effect.flatMap(states.conversationOf(turnId), (within) => conversations.abort(within, turnId)).pipe(
          Effect.catchTag("ConversationNotFound", Effect.die),
          orProblem,
          unlessDown,
          Effect.asVoid
        )
    })
  })
)
