/** Defines the call that opens a WebSocket. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import * as SocketMessages from "../rpc/SocketMessages.ts"
import { about, titled } from "./OpenApiDocument.ts"
import * as Problem from "./Problem.ts"

const socket = HttpApiEndpoint.get("socket", SocketMessages.PATH, {
  success: HttpApiSchema.Empty(101).annotate({ description: "The WebSocket is open." }),
  error: [Problem.InvalidRequest, Problem.UpgradeRequired]
}).annotateMerge(
  about(
    "Open a WebSocket",
    "Commands and events of many conversations over one socket, one JSON object a message:",
    "",
    "```json",
    '{"id":1,"type":"subscribe","conversationId":"c_4f2k9x","after":41}',
    '{"id":2,"type":"prompt","conversationId":"c_4f2k9x","prompt":"Summarise yesterday\'s incidents."}',
    "```",
    "",
    `Offer the subprotocol \`${SocketMessages.SUBPROTOCOL}\`. A page cannot set \`Authorization\`: it offers the token as a second`,
    `subprotocol, \`${SocketMessages.TOKEN_PREFIX}\` and its base64url. A token in the address is not read. docs/websocket.md describes all messages.`
  )
)

/** The call that opens a WebSocket. */
export const SocketGroup = HttpApiGroup.make("socket")
  .add(socket)
  .annotateMerge(titled("WebSocket", "Conversations over one socket, for pages and programs."))
