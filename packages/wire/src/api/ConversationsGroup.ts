/** Defines the calls that open, read and steer a conversation. */
import * as Schema from "effect/Schema"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Extension, RefusalReason, toolAnswer } from "../Command.ts"
import { ConversationState, ToolAnswers } from "../ConversationState.ts"
import { CommandId, ConversationId } from "../Ids.ts"
import { Message } from "../Message.ts"
import { MomentOrDate } from "../values/Moment.ts"
import { NonEmptyText } from "../values/Text.ts"
import * as ExampleTurn from "./ExampleTurn.ts"
import { CreateConversation, Title } from "./NewConversation.ts"
import * as Problem from "./Problem.ts"

/** The parameters of a path with a conversation. */
export const conversationParams = {
  conversationId: Schema.String.annotate({ description: "What `POST /v1/conversations` answered." }).pipe(
    Schema.decodeTo(ConversationId)
  )
}

/** The problems that any call on a conversation can return. */
export const conversationProblems = [
  Problem.InvalidRequest,
  Problem.ConversationNotFound,
  Problem.StorageUnavailable
] as const

/** The body of the call that sets a title. */
export const SetTitle = Schema.Struct({ title: Title }).annotate({
  identifier: "SetTitle",
  examples: [{ title: "Incidents of the week" }]
})

/** The response: the new conversation's id. */
export const ConversationCreated = Schema.Struct({
  conversationId: ConversationId
}).annotate({
  identifier: "ConversationCreated",
  description: "The conversation is open and on disk.",
  examples: [{ conversationId: ConversationId.make("c_4f2k9x") }]
})

/** A conversation's history. */
export const Messages = Schema.Struct({
  messages: Schema.Array(Message)
}).annotate({
  identifier: "Messages",
  description: "The history, oldest first.",
  examples: [{ messages: ExampleTurn.messages }]
})

/** Switches automatic retries of a conversation (P15). */
export const AutoRetry = Schema.Struct({
  enabled: Schema.Boolean
}).annotate({ identifier: "AutoRetry", examples: [{ enabled: false }] })

/** The body of the call that changes the model. */
export const SetModel = Schema.Struct({
  model: NonEmptyText.annotate({ description: "`provider/model`.", examples: ["anthropic/claude-sonnet-4-5"] })
}).annotate({ identifier: "SetModel", examples: [{ model: "anthropic/claude-sonnet-4-5" }] })

/** The body of the call that replaces the answers that always hold. */
export const SetToolAnswers = Schema.Struct({ toolAnswers: ToolAnswers }).annotate({
  identifier: "SetToolAnswers",
  examples: [{ toolAnswers: { read_file: "approve", delete_file: "refuse" } }]
})

/** A conversation's state, with its example. */
export const State = ConversationState.annotate({
  identifier: "ConversationState",
  description: "The conversation as it is now; while it waits, when the next attempt is due.",
  examples: [ExampleTurn.waiting]
})

/** The problems of a command. With the last two the command is not on disk; the client must send it again to be sure. */
const commandProblems = [...conversationProblems, Problem.TurnStopped, Problem.ShuttingDown] as const

const accepted = (description: string) => HttpApiSchema.Empty(202).annotate({ description })

const howItIsAnswered = [
  "202 means that the command is on disk, so no crash loses it. If recording it takes more than ten seconds, the response is a",
  "problem that gives the reason. The command then takes effect once it can be recorded, unless the process stops first. To check,",
  "send the same call again, with the same `commandId` if it has one."
].join("\n")

const describe = (summary: string, description?: string) =>
  OpenApi.annotations(description === undefined ? { summary } : { summary, description })

const create = HttpApiEndpoint.post("create", "/v1/conversations", {
  // An absent body decodes as `null`.
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
    `Ends the wait first, then the turn, which seals \`aborted\`. Has no effect if no turn runs.\n\n${howItIsAnswered}`
  )
)

/** The command id in the examples. */
const exampleId = CommandId.make("k_9d3w7p")

const commandId = {
  commandId: Schema.optionalKey(
    CommandId.annotate({ description: "Chosen by the client: a repeated id has no second effect." })
  )
}

/** The body of a command without arguments. */
export const CommandOnly = Schema.Struct(commandId).annotate({
  identifier: "CommandOnly",
  examples: [{ commandId: exampleId }]
})

/** A body that has only an id may be absent; an absent body decodes as `null`. */
const onlyId = [CommandOnly, Schema.Null] as const

const abortRetry = HttpApiEndpoint.post("abortRetry", "/v1/conversations/:conversationId/abort-retry", {
  params: conversationParams,
  payload: onlyId,
  success: accepted("The wait is ended, or there was none."),
  error: commandProblems
}).annotateMerge(
  describe(
    "Give up waiting",
    `Ends the wait, and the turn with its last error. Has no effect if no turn waits.\n\n${howItIsAnswered}`
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
    `Ends the wait and makes the next attempt at once. Has no effect if no turn waits.\n\n${howItIsAnswered}`
  )
)

/** The body of the command that moves the end of a wait. */
export const WaitUntil = Schema.Struct({
  ...commandId,
  until: MomentOrDate
}).annotate({ identifier: "WaitUntil", examples: [{ commandId: exampleId, until: 1_901_232_000_000 }] })

const waitUntil = HttpApiEndpoint.post("waitUntil", "/v1/conversations/:conversationId/wait-until", {
  params: conversationParams,
  payload: WaitUntil,
  success: accepted("The wait ends at that time, or there was no wait."),
  error: commandProblems
}).annotateMerge(
  describe("Wait until a time", `Moves the end of the wait. Has no effect if no turn waits.\n\n${howItIsAnswered}`)
)

/** The body of the command that switches the target. */
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
  success: accepted("The next attempt uses this model, or there was no wait."),
  error: commandProblems
}).annotateMerge(
  describe(
    "Continue on another model",
    `Ends the wait; the rest of the turn runs on this model. Has no effect if no turn waits.\n\n${howItIsAnswered}`
  )
)

/** The body of the command that extends the budget. */
export const ExtendBudget = Schema.Struct({
  ...commandId,
  byMs: Extension.annotate({ description: "Milliseconds; a year at most.", examples: [7_200_000] })
}).annotate({ identifier: "ExtendBudget", examples: [{ commandId: exampleId, byMs: 7_200_000 }] })

const extendBudget = HttpApiEndpoint.post("extendBudget", "/v1/conversations/:conversationId/extend-budget", {
  params: conversationParams,
  payload: ExtendBudget,
  success: accepted("The budget of the waiting step is extended, or no turn waits."),
  error: commandProblems
}).annotateMerge(
  describe(
    "Extend the budget",
    `Adds to the time that the waiting step may spend on waits. Has no effect if no turn waits.\n\n${howItIsAnswered}`
  )
)

/** The body of the answer about a tool call. */
export const AnswerTool = Schema.Struct({
  ...commandId,
  toolCallId: toolAnswer.toolCallId.annotate({ description: "As in `asks.calls` of the state and of the events." }),
  approve: toolAnswer.approve.annotate({
    description: "`true` runs the call; `false` answers it to the model as a failed call."
  }),
  reason: Schema.optionalKey(RefusalReason.annotate({ description: "Why it is refused, for the model." })),
  always: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "`true`: the answer also holds for every later call of this tool in the conversation."
    })
  )
}).annotate({
  identifier: "AnswerTool",
  examples: [
    { commandId: exampleId, toolCallId: "call_1", approve: true },
    { toolCallId: "call_1", approve: false, reason: "Not before the backup has run." },
    { toolCallId: "call_1", approve: true, always: true }
  ]
})

const answerTool = HttpApiEndpoint.post("answerTool", "/v1/conversations/:conversationId/answer-tool", {
  params: conversationParams,
  payload: AnswerTool,
  success: accepted("The call is answered, or does not wait for an answer."),
  error: commandProblems
}).annotateMerge(
  describe(
    "Approve or refuse a tool call",
    "Answers a question about one tool call. The calls of a response run when each has its answer. Has no effect if the call does not " +
      `wait for one.\n\n${howItIsAnswered}`
  )
)

const setAutoRetry = HttpApiEndpoint.put("setAutoRetry", "/v1/conversations/:conversationId/auto-retry", {
  params: conversationParams,
  payload: AutoRetry,
  success: HttpApiSchema.NoContent.annotate({ description: "It is set." }),
  error: conversationProblems
}).annotateMerge(describe("Switch automatic retries", "Takes effect from the next failure on."))

const setModel = HttpApiEndpoint.put("setModel", "/v1/conversations/:conversationId/model", {
  params: conversationParams,
  payload: SetModel,
  success: HttpApiSchema.NoContent.annotate({ description: "It is set." }),
  error: conversationProblems
}).annotateMerge(
  describe(
    "Change its model",
    "Turns that are accepted from now on run on this model. Those that were accepted before keep theirs; `switch-target` moves a turn that waits."
  )
)

const setToolAnswers = HttpApiEndpoint.put("setToolAnswers", "/v1/conversations/:conversationId/tool-answers", {
  params: conversationParams,
  payload: SetToolAnswers,
  success: HttpApiSchema.NoContent.annotate({ description: "They are set." }),
  error: conversationProblems
}).annotateMerge(
  describe(
    "Set the answers that always hold",
    "Replaces what was answered with `always`, by tool: its calls run, or are refused, without a question. `{}` asks about each call again."
  )
)

const setTitle = HttpApiEndpoint.put("setTitle", "/v1/conversations/:conversationId/title", {
  params: conversationParams,
  payload: SetTitle,
  success: HttpApiSchema.NoContent.annotate({ description: "It is set." }),
  error: conversationProblems
}).annotateMerge(describe("Set its title", "The title is for people: lists show it, and no model gets it."))

/** The calls on a conversation. */
export const ConversationsGroup = HttpApiGroup.make("conversations")
  .add(
    create,
    state,
    messages,
    abort,
    abortRetry,
    retryNow,
    waitUntil,
    switchTarget,
    extendBudget,
    answerTool,
    setAutoRetry,
    setModel,
    setToolAnswers,
    setTitle
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Conversations",
      description: "A conversation holds messages and runs one turn at a time; further turns are queued."
    })
  )
