/** Defines the calls for operators (health, readiness and metrics), and the call that opens a WebSocket. */
import * as Schema from "effect/Schema"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { about, titled } from "./OpenApiDocument.ts"
import * as Problem from "./Problem.ts"
import * as SocketMessages from "../rpc/SocketMessages.ts"

/** The content type of Prometheus' text format. */
const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

const Ok = Schema.Struct({ status: Schema.Literal("ok") }).annotate({
  identifier: "Ok",
  description: "All is well.",
  examples: [{ status: "ok" }]
})

const health = HttpApiEndpoint.get("health", "/healthz", { success: Ok }).annotateMerge(
  about("Is the process up?", "Checks nothing else. Needs no token.")
)

const ready = HttpApiEndpoint.get("ready", "/readyz", {
  success: Ok,
  error: [Problem.StorageUnavailable, Problem.Starting, Problem.ShuttingDown]
}).annotateMerge(
  about(
    "Does it accept turns?",
    "200 when the storage can be read and written, the turns of the last process are resumed, and the service is not shutting down. Otherwise 503, with the reason."
  )
)

const metrics = HttpApiEndpoint.get("metrics", "/metrics", {
  success: Schema.String.annotate({ description: "Prometheus text." }).pipe(
    HttpApiSchema.asText({ contentType: METRICS_CONTENT_TYPE })
  )
}).annotateMerge(about("Metrics", "In Prometheus text."))

/** The calls for operators. */
export const SystemGroup = HttpApiGroup.make("system")
  .add(health, ready, metrics)
  .annotateMerge(titled("System", "For operators of the service."))

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
