/** The client of the Holdfast service, for Node, Bun, Deno and browsers. `HoldfastClient` is where to begin. */
export * as ConversationView from "./view/ConversationView.ts"
export * as Cursor from "./stream/Cursor.ts"
export { ClientError, type ProblemCode, type ProblemDetails } from "./ClientError.ts"
export type { Conversation, EventOptions, SteerOptions, TurnOptions } from "./Conversation.ts"
export type { Connection, EventStream, StreamOptions } from "./EventStream.ts"
export {
  type ClientOptions,
  type ConversationFilter,
  type ConversationOptions,
  HoldfastClient,
  type SubmitOptions,
  type TurnFilter
} from "./HoldfastClient.ts"
export type { CallOptions, Turn, TurnResult } from "./Turn.ts"
export { webSocket } from "./transport/SocketTransport.ts"
