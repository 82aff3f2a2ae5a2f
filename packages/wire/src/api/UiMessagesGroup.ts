/**
 * Defines the calls of `useChat` of the AI SDK, which are those of its `DefaultChatTransport`.
 *
 * The id of a chat is the id of its conversation: all other calls take it, and it is opened by the first message. A message of the user
 * is one turn, whose id follows from the message's: the same message sent again is the same turn. The body is the AI SDK's, so it is
 * open: keys that are not known here are ignored.
 */
import * as Schema from "effect/Schema"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import * as Sse from "../codec/Sse.ts"
import { ConversationId } from "../Ids.ts"
import { CreateConversation } from "./NewConversation.ts"
import { about, titled, withContent } from "./OpenApiDocument.ts"
import * as Problem from "./Problem.ts"

const anyKey = Schema.Record(Schema.String, Schema.Unknown)

/** A message of a chat. Of the user's last one texts and files are read, and nothing of the others. */
export const UiMessage = Schema.StructWithRest(
  Schema.Struct({
    id: Schema.String,
    role: Schema.String,
    parts: Schema.Array(Schema.StructWithRest(Schema.Struct({ type: Schema.String }), [anyKey]))
  }),
  [anyKey]
)
export type UiMessage = typeof UiMessage.Type

const { model, retry, system, title, tools } = CreateConversation.fields

/** The body that `useChat` sends; and what the chat is opened with, from the `body` of its transport. */
export const SendUiMessages = Schema.StructWithRest(
  Schema.Struct({
    id: ConversationId.annotate({
      description: "The chat's, and so the conversation's.",
      examples: [ConversationId.make("chat-1")]
    }),
    messages: Schema.Array(UiMessage),
    trigger: Schema.optionalKey(Schema.Literals(["submit-message", "regenerate-message"])),
    model,
    system,
    tools,
    title,
    retry
  }),
  [anyKey]
).annotate({
  identifier: "SendUiMessages",
  description:
    "As `useChat` sends it. `model`, `system`, `tools`, `title` and `retry` are those of `POST /v1/conversations`; the first message opens the chat with them. A later `model` changes the chat's.",
  examples: [
    {
      id: ConversationId.make("chat-1"),
      trigger: "submit-message",
      messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "Are you there?" }] }]
    }
  ]
})
export type SendUiMessages = typeof SendUiMessages.Type

/** The header of a UI message stream, and its version. */
export const STREAM_HEADER = { "x-vercel-ai-ui-message-stream": "v1" } as const

const chatParams = {
  chatId: Schema.String.annotate({ description: "The `id` of `useChat`." }).pipe(Schema.decodeTo(ConversationId))
}

const stream = HttpApiSchema.StreamNdjson({ schema: Schema.Unknown, contentType: Sse.CONTENT_TYPE })

const example = [
  '{"type":"start","messageId":"t_7hq2m1","messageMetadata":{"conversationId":"chat-1","turnId":"t_7hq2m1"}}',
  '{"type":"data-provider-retry","data":{"attempt":0,"delayMs":5000,"retryAt":1771003242000,"message":"Overloaded","code":"529","reason":"overloaded","target":"anthropic/claude-sonnet-4-5"},"transient":true}',
  '{"type":"start-step"}',
  '{"type":"text-start","id":"t_7hq2m1-0"}',
  '{"type":"text-delta","id":"t_7hq2m1-0","delta":"I am."}',
  "[DONE]"
]
  .map((part) => `data: ${part}\n\n`)
  .join("")

const content = withContent({
  [Sse.CONTENT_TYPE]: { schema: { type: "string", description: "A UI message stream, version 1." }, example }
})

const problems = [
  Problem.InvalidRequest,
  Problem.ConversationNotFound,
  Problem.TurnConflict,
  Problem.FileTooLarge,
  Problem.TurnStopped,
  Problem.StorageUnavailable,
  Problem.ShuttingDown
] as const

const send = HttpApiEndpoint.post("send", "/v1/chat", { payload: SendUiMessages, success: stream, error: problems })
  .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "ignore", errors: "first" })
  .annotateMerge(
    about(
      "Send a message of useChat",
      "Runs a turn on the user's last message and streams it as a UI message stream: text, reasoning, tools; a wait as the transient part",
      "`data-provider-retry`; `reset-step` where text is void. The service keeps the history, so earlier messages are not read.",
      "With the trigger `regenerate-message` the model runs again after an error or an abort.",
      "Disconnecting ends nothing."
    )
  )
  .annotateMerge(content)

const resume = HttpApiEndpoint.get("resume", "/v1/chat/:chatId/stream", {
  params: chatParams,
  success: [stream, HttpApiSchema.NoContent.annotate({ description: "The chat has no turn yet." })],
  error: [Problem.InvalidRequest, Problem.StorageUnavailable]
})
  .annotateMerge(
    about(
      "Resume the stream of a chat",
      "The stream of the turn that is running or waiting, or of the last one, from its beginning; 204 if there is none."
    )
  )
  .annotateMerge(content)

const stop = HttpApiEndpoint.delete("stop", "/v1/chat/:chatId", {
  params: chatParams,
  success: HttpApiSchema.Empty(202).annotate({ description: "The turn has ended, or there was none." }),
  error: [
    Problem.InvalidRequest,
    Problem.ConversationNotFound,
    Problem.StorageUnavailable,
    Problem.TurnStopped,
    Problem.ShuttingDown
  ]
}).annotateMerge(about("Abort the turn of a chat", "`stop()` of `useChat` only leaves the stream; this ends the turn."))

/** The calls of `useChat`. */
export const UiMessagesGroup = HttpApiGroup.make("chat")
  .add(send, resume, stop)
  .annotateMerge(
    titled("Chat", 'For pages with `useChat` of the AI SDK: `new DefaultChatTransport({ api: "/v1/chat" })`.')
  )
