/** Defines the calls that open, read and steer a conversation. */
import * as Schema from "effect/Schema"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import * as Command from "../Command.ts"
import * as Commands from "../Commands.ts"
import { ConversationState } from "../ConversationState.ts"
import { CommandId, ConversationId, TurnId } from "../Ids.ts"
import { Message } from "../Message.ts"
import * as ExampleTurn from "./ExampleTurn.ts"
import { CreateConversation, Title } from "./NewConversation.ts"
import { about, titled } from "./OpenApiDocument.ts"
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

const create = HttpApiEndpoint.post("create", "/v1/conversations", {
  // An absent body decodes as `null`.
  payload: [CreateConversation, Schema.Null],
  success: ConversationCreated.pipe(HttpApiSchema.status(201)),
  error: [Problem.InvalidRequest, Problem.StorageUnavailable]
}).annotateMerge(about("Open a conversation"))

const state = HttpApiEndpoint.get("state", "/v1/conversations/:conversationId", {
  params: conversationParams,
  success: State,
  error: conversationProblems
}).annotateMerge(
  about("Read its state", "Status, model, and while it waits: the error, the attempt, when the next one is due.")
)

const messages = HttpApiEndpoint.get("messages", "/v1/conversations/:conversationId/messages", {
  params: conversationParams,
  success: Messages,
  error: conversationProblems
}).annotateMerge(about("Read its history"))

const path = (name: Commands.Name) => `/v1/conversations/:conversationId/${Commands.routeOf(name)[1]}` as const

/** The command id in the examples. */
const exampleId = CommandId.make("k_9d3w7p")

type WithBody = Commands.NameOf<"setting" | "steering">

const bodyOf = <N extends WithBody>(name: N): Schema.Struct<Command.Fields<N>> => {
  const { body = name.replace(/^./, (first) => first.toUpperCase()), examples = [{}], kind } = Commands.rowOf(name)
  const [first, ...others] = examples
  const shown = kind === "steering" ? [{ commandId: exampleId, ...first }, ...others] : examples
  // The table's examples are checked by a test.
  return Schema.Struct(Command.fieldsOf(name, true)).annotate({ identifier: body, examples: shown as never })
}

/** A schema of an identifier must be one value: commands without arguments share one. */
const commandOnly = bodyOf("retryNow").annotate({ identifier: "CommandOnly" })

/** The bodies of the commands, by their names. */
export const bodies = Object.fromEntries(
  [...Commands.names("setting"), ...Commands.names("steering")].map((name) => [
    name,
    Commands.hasFields(name) ? bodyOf(name) : commandOnly
  ])
) as unknown as { readonly [N in WithBody]: ReturnType<typeof bodyOf<N>> }

const text = (name: Commands.Name, after: string) => {
  const { does, summary = "" } = Commands.rowOf(name)
  return about(summary, does + after)
}

/** Clients that send each command with an id do so here too; an abort needs none. */
const Abort = Schema.Struct({
  commandId: Schema.optionalKey(CommandId),
  ...Command.ownOf("abort", true)
}).annotate({ identifier: "Abort", examples: [{}, { turnId: TurnId.make("t_7hq2m1") }] })

const abort = HttpApiEndpoint.post("abort", path("abort"), {
  params: conversationParams,
  payload: [Abort, Schema.Null],
  success: accepted(Commands.commands.abort.done),
  error: commandProblems
}).annotateMerge(text("abort", ` Has no effect if no turn runs.\n\n${howItIsAnswered}`))

const steer = <N extends Commands.NameOf<"steering">>(name: N) => {
  const { done = "", isForOne } = Commands.rowOf(name)
  const idle = isForOne === true ? "the call does not wait for one" : "no turn waits"
  return HttpApiEndpoint.post(name, path(name), {
    params: conversationParams,
    // A body that has only an id may be absent; an absent body decodes as `null`.
    payload: Commands.hasFields(name) ? [bodies[name]] : [bodies[name], Schema.Null],
    success: accepted(done),
    error: commandProblems
  }).annotateMerge(text(name, ` Has no effect if ${idle}.\n\n${howItIsAnswered}`))
}

const set = <N extends Commands.NameOf<"setting">>(name: N) =>
  HttpApiEndpoint.put(name, path(name), {
    params: conversationParams,
    payload: bodies[name],
    success: HttpApiSchema.NoContent.annotate({ description: Commands.rowOf(name).done ?? "" }),
    error: conversationProblems
  }).annotateMerge(text(name, ""))

type Steers = { [N in Commands.NameOf<"steering">]: ReturnType<typeof steer<N>> }[Commands.NameOf<"steering">]
type Sets = { [N in Commands.NameOf<"setting">]: ReturnType<typeof set<N>> }[Commands.NameOf<"setting">]

const steering: ReadonlyArray<unknown> = Commands.names("steering").map(steer)
const settings: ReadonlyArray<unknown> = Commands.names("setting").map(set)

const setTitle = HttpApiEndpoint.put("setTitle", "/v1/conversations/:conversationId/title", {
  params: conversationParams,
  payload: SetTitle,
  success: HttpApiSchema.NoContent.annotate({ description: "It is set." }),
  error: conversationProblems
}).annotateMerge(about("Set its title", "The title is for people: lists show it, and no model gets it."))

/** The calls on a conversation. */
export const ConversationsGroup = HttpApiGroup.make("conversations")
  .add(
    create,
    state,
    messages,
    abort,
    ...(steering as ReadonlyArray<Steers>),
    ...(settings as ReadonlyArray<Sets>),
    setTitle
  )
  .annotateMerge(
    titled("Conversations", "A conversation holds messages and runs one turn at a time; further turns are queued.")
  )
