/** Calls about a conversation: open it, read it, and what is done to the turn that it is in. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Extension } from "../Command.ts"
import { ConversationState } from "../ConversationState.ts"
import { CommandId, ConversationId } from "../Ids.ts"
import { Message } from "../Message.ts"
import { MomentOrDate } from "../Moment.ts"
import { JsonObject, NonEmptyText, Text } from "../Text.ts"
import * as ExampleTurn from "./ExampleTurn.ts"
import * as Problem from "./Problem.ts"

/** What a path with a conversation in it carries. */
export const conversationParams = {
  conversationId: Schema.String.annotate({ description: "What `POST /v1/conversations` answered." }).pipe(
    Schema.decodeTo(ConversationId)
  )
}

/** What any call on a conversation can be answered with instead. */
export const conversationProblems = [
  Problem.InvalidRequest,
  Problem.ConversationNotFound,
  Problem.StorageUnavailable
] as const

export const CreateConversation = Schema.Struct({
  model: Schema.optionalKey(
    NonEmptyText.annotate({
      description: "`provider/model`; otherwise the configuration's.",
      examples: ["openai/gpt-5"]
    })
  ),
  system: Schema.optionalKey(
    Text.annotate({ description: "The system prompt.", examples: ["Answer in one sentence."] })
  ),
  retry: Schema.optionalKey(
    JsonObject.annotate({
      description: "Settings over the configuration's `retry`; 65536 characters of JSON at most.",
      examples: [{ profile: "interactive" }]
    })
  )
}).annotate({
  identifier: "CreateConversation",
  description: "All of it is optional; so is the body.",
  examples: [
    { system: "Answer in one sentence." },
    { model: "openai/gpt-5", system: "Answer in one sentence.", retry: { profile: "interactive" } }
  ]
})
export type CreateConversation = typeof CreateConversation.Type

export const ConversationCreated = Schema.Struct({
  conversationId: ConversationId
}).annotate({
  identifier: "ConversationCreated",
  description: "The conversation is open and on disk.",
  examples: [{ conversationId: ConversationId.make("c_4f2k9x") }]
})

export const Messages = Schema.Struct({
  messages: Schema.Array(Message)
}).annotate({
  identifier: "Messages",
  description: "The history, oldest first.",
  examples: [{ messages: ExampleTurn.messages }]
})

export const AutoRetry = Schema.Struct({
  enabled: Schema.Boolean
}).annotate({ identifier: "AutoRetry", examples: [{ enabled: false }] })

export const State = ConversationState.annotate({
  identifier: "ConversationState",
  description: "The conversation as it is now; while it waits, when the next attempt is due.",
  examples: [ExampleTurn.waiting]
})

/** What a command can be answered with besides: it is not on disk, and the client must send it again to be sure. */
const commandProblems = [...conversationProblems, Problem.TurnStopped, Problem.ShuttingDown] as const

const accepted = (description: string) => HttpApiSchema.Empty(202).annotate({ description })

const howItIsAnswered = [
  "It is answered when it is on disk, so nothing that was answered with 202 is forgotten, whatever the process dies of. Where that",
  "takes more than ten seconds, the answer is a problem that says why, and the command is carried out as soon as it can be",
  "recorded, if the service lives that long; the same call again, with the same `commandId` where it has one, tells."
].join("\n")

const describe = (summary: string, description?: string) =>
  OpenApi.annotations(description === undefined ? { summary } : { summary, description })

const create = HttpApiEndpoint.post("create", "/v1/conversations", {
  // `null` is what an absent body decodes as.
  payload: [CreateConversation, Schema.Null],
  success: ConversationCreated.pipe(HttpApiSchema.status(201)),
  error: [Problem.InvalidRequest, Problem.StorageUnavailable]
}).annotateMerge(describe("Open a conversation"))

const state = HttpApiEndpoint.get("state", "/v1/conversations/:conversationId", {
  params: conversationParams,
  success: State,
  error: conversationProblems
}).annotateMerge(
  describe("Read its state", "Status, model, and while it waits: the error, the attempt, when the next one is due.")
)

const messages = HttpApiEndpoint.get("messages", "/v1/conversations/:conversationId/messages", {
  params: conversationParams,
  success: Messages,
  error: conversationProblems
}).annotateMerge(describe("Read its history"))

const abort = HttpApiEndpoint.post("abort", "/v1/conversations/:conversationId/abort", {
  params: conversationParams,
  success: accepted("The turn is ended, which is on disk; or there was none."),
  error: commandProblems
}).annotateMerge(
  describe(
    "End its turn",
    `Ends the wait first, then the turn, which seals \`aborted\`. Does nothing where nothing runs.\n\n${howItIsAnswered}`
  )
)

/** The id that the examples of commands carry. */
const exampleId = CommandId.make("k_9d3w7p")

const commandId = {
  commandId: Schema.optionalKey(
    CommandId.annotate({ description: "Chosen by the client: the same one again does nothing a second time." })
  )
}

export const CommandOnly = Schema.Struct(commandId).annotate({
  identifier: "CommandOnly",
  examples: [{ commandId: exampleId }]
})

/** A body of nothing but an id may be left out; `null` is what an absent one decodes as. */
const onlyId = [CommandOnly, Schema.Null] as const

const abortRetry = HttpApiEndpoint.post("abortRetry", "/v1/conversations/:conversationId/abort-retry", {
  params: conversationParams,
  payload: onlyId,
  success: accepted("The wait is ended, or there was none."),
  error: commandProblems
}).annotateMerge(
  describe(
    "Give up waiting",
    `Ends the wait, and the turn with its last error. Does nothing where nothing waits.\n\n${howItIsAnswered}`
  )
)

const retryNow = HttpApiEndpoint.post("retryNow", "/v1/conversations/:conversationId/retry-now", {
  params: conversationParams,
  payload: onlyId,
  success: accepted("The next attempt is made, or there was no wait."),
  error: commandProblems
}).annotateMerge(
  describe(
    "Try again now",
    `Ends the wait and makes the next attempt at once. Does nothing where nothing waits.\n\n${howItIsAnswered}`
  )
)

export const WaitUntil = Schema.Struct({
  ...commandId,
  until: MomentOrDate
}).annotate({ identifier: "WaitUntil", examples: [{ commandId: exampleId, until: 1_901_232_000_000 }] })

const waitUntil = HttpApiEndpoint.post("waitUntil", "/v1/conversations/:conversationId/wait-until", {
  params: conversationParams,
  payload: WaitUntil,
  success: accepted("The wait ends then, or there was none."),
  error: commandProblems
}).annotateMerge(
  describe("Wait until a time", `Moves the end of the wait. Does nothing where nothing waits.\n\n${howItIsAnswered}`)
)

export const SwitchTarget = Schema.Struct({
  ...commandId,
  model: NonEmptyText.annotate({ description: "`provider/model`.", examples: ["anthropic/claude-sonnet-4-5"] })
}).annotate({
  identifier: "SwitchTarget",
  examples: [{ commandId: exampleId, model: "anthropic/claude-sonnet-4-5" }]
})

const switchTarget = HttpApiEndpoint.post("switchTarget", "/v1/conversations/:conversationId/switch-target", {
  params: conversationParams,
  payload: SwitchTarget,
  success: accepted("The next attempt goes there, or there was no wait."),
  error: commandProblems
}).annotateMerge(
  describe(
    "Go on elsewhere",
    `Ends the wait; the rest of the turn runs on this model. Does nothing where nothing waits.\n\n${howItIsAnswered}`
  )
)

export const ExtendBudget = Schema.Struct({
  ...commandId,
  byMs: Extension.annotate({ description: "Milliseconds; a year at most.", examples: [7_200_000] })
}).annotate({ identifier: "ExtendBudget", examples: [{ commandId: exampleId, byMs: 7_200_000 }] })

const extendBudget = HttpApiEndpoint.post("extendBudget", "/v1/conversations/:conversationId/extend-budget", {
  params: conversationParams,
  payload: ExtendBudget,
  success: accepted("The step that waits may wait so much longer in all, or nothing waits."),
  error: commandProblems
}).annotateMerge(
  describe(
    "Extend the budget",
    `Adds to what the waiting step may spend on waits. Does nothing where nothing waits.\n\n${howItIsAnswered}`
  )
)

const setAutoRetry = HttpApiEndpoint.put("setAutoRetry", "/v1/conversations/:conversationId/auto-retry", {
  params: conversationParams,
  payload: AutoRetry,
  success: HttpApiSchema.NoContent.annotate({ description: "It is set." }),
  error: conversationProblems
}).annotateMerge(describe("Switch automatic retries", "Counts from the next failure on."))

export const ConversationsGroup = HttpApiGroup.make("conversations")
  .add(create, state, messages, abort, abortRetry, retryNow, waitUntil, switchTarget, extendBudget, setAutoRetry)
  .annotateMerge(
    OpenApi.annotations({
      title: "Conversations",
      description: "A conversation holds messages, and runs one turn at a time; further ones wait their turn."
    })
  )
