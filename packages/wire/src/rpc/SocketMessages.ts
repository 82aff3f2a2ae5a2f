/**
 * Schemas of the messages of `/v1/ws`: commands in; responses and events out.
 *
 * Every message is a text with one JSON object. The commands are those of `RpcLines`, each with the conversation that it is for, so one
 * socket serves several conversations.
 *
 * Every command gets one response, with its id where the id can be read.
 *
 * An event is the JSON of `TurnEvent`. A persisted one has one key more, `eventId`: event and position arrive together, or not at all (rule
 * X3). The other types that the server sends are no types of events.
 *
 * SocketMessages.M3. Commands of one conversation take effect in their order; those of different conversations do not wait for each
 *     other.
 */
import * as Schema from "effect/Schema"
import { Base64Url } from "effect/encoding"
import { CreateConversation } from "../api/NewConversation.ts"
import * as Sse from "../codec/Sse.ts"
import { ConversationId, TurnId } from "../Ids.ts"
import { TurnEvent } from "../TurnEvent.ts"
import * as CommandText from "./CommandText.ts"
import * as RpcLines from "./RpcLines.ts"

/** The path of the WebSocket. */
export const PATH = "/v1/ws"

/** The subprotocol. A client that offers subprotocols has to offer this one; the server selects it. */
export const SUBPROTOCOL = "holdfast.v1"

/** What a subprotocol with the token begins with. */
export const TOKEN_PREFIX = "holdfast.bearer."

/**
 * The subprotocol that carries the service's token. Browsers cannot set a header on a WebSocket.
 *
 * **Example**
 *
 * ```ts
 * new WebSocket("wss://holdfast.example.org/v1/ws", [SUBPROTOCOL, tokenProtocol(token)])
 * ```
 */
export const tokenProtocol = (token: string): string => TOKEN_PREFIX + Base64Url.encode(token)

/** The server sends a `keep-alive` first, and then this often. */
export const KEEP_ALIVE_MS = 15_000

const inConversation = { conversationId: ConversationId }

const subscription = {
  ...inConversation,
  /** This turn alone, up to its `turn-end`; without it the whole conversation, without end. */
  turnId: Schema.optionalKey(TurnId)
}

const command = <const Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({ id: Schema.optionalKey(RpcLines.RequestId), type: Schema.tag(type), ...fields })

const position = Schema.Int.check(
  Schema.isGreaterThanOrEqualTo(0, { message: "expected the id of an event, or 0" })
).annotate({ message: "expected the id of an event, or 0" })

/** The commands by their type. */
export const commands = {
  /** Opens a conversation; its keys are those of `POST /v1/conversations`. */
  create: command("create", CreateConversation.fields),
  /**
   * Sends the persisted events after `after` (0 or absent: all of them), then live events. The response comes first. A second one for the
   * same conversation and turn replaces the first.
   */
  subscribe: command("subscribe", {
    ...subscription,
    after: Schema.optionalKey(position),
    /** With a `turnId` and an `id` alone: deltas have the command's id in place of the ids of conversation and turn (rule D12). */
    deltas: Schema.optionalKey(Schema.Literals(["full", "bare"]))
  }),
  /** Ends a subscription; no event of it follows the response. */
  unsubscribe: command("unsubscribe", subscription),
  // `lastEventId` of `get_state` is that of the last event of the conversation that this socket was sent.
  ...RpcLines.commandsWith(inConversation)
} as const

/** A message that a client sends. */
export const SocketCommand = Schema.Union(Object.values(commands))
export type SocketCommand = typeof SocketCommand.Type

/** What `create` answers. */
export const Created = Schema.Struct(inConversation)

/** The answer to one command: as that of `RpcLines`, and `Created` as its data. */
export const SocketResponse = Schema.Struct({
  ...RpcLines.RpcResponse.fields,
  data: Schema.optionalKey(Schema.Union([RpcLines.RpcState, RpcLines.Accepted, RpcLines.Applied, Created]))
})
export type SocketResponse = typeof SocketResponse.Type

/** Sent first, and then every `KEEP_ALIVE_MS`: a client that gets nothing for twice as long reconnects. */
export const KeepAlive = Schema.Struct({
  type: Schema.tag("keep-alive"),
  /** The server's clock, in epoch milliseconds; `retryAt` is of the same clock. */
  now: Schema.Finite
})
export type KeepAlive = typeof KeepAlive.Type

/** A subscription has ended, and not by a command: its conversation was deleted. */
export const Unsubscribed = Schema.Struct({
  type: Schema.tag("unsubscribed"),
  ...subscription,
  code: Sse.Reconnect.fields.code,
  message: Schema.String
})
export type Unsubscribed = typeof Unsubscribed.Type

/** The last message before the server closes the socket; the client reconnects, and subscribes after its last ids. */
export const SocketReconnect = Schema.Struct({ type: Schema.tag("reconnect"), ...Sse.Reconnect.fields })
export type SocketReconnect = typeof SocketReconnect.Type

/** A delta of a subscription with bare deltas. */
export const BareDelta = Schema.Struct({
  /** The id of the `subscribe` command. */
  id: RpcLines.RequestId,
  type: Schema.Literals(["text-delta", "reasoning-delta"]),
  delta: Schema.String
})
export type BareDelta = typeof BareDelta.Type

/** An event; a persisted one with its id in the conversation, as in SSE. */
export type SocketEvent = TurnEvent & { readonly eventId?: number }

/** A message that the server sends. An event may have the key `eventId` too. */
export const SocketMessage = Schema.Union([
  SocketResponse,
  KeepAlive,
  Unsubscribed,
  SocketReconnect,
  ...TurnEvent.members,
  BareDelta
])
export type SocketMessage = SocketResponse | KeepAlive | Unsubscribed | SocketReconnect | SocketEvent | BareDelta

/** Decodes a text to its command, or to the response that refuses it. */
export const decode = CommandText.decoder("message", Object.keys(commands), SocketCommand)

/** The response to a message that is binary or no UTF-8. */
export const unreadable: (error: string) => SocketResponse = CommandText.unreadable

/** The message of an event that is JSON already. */
export const eventMessage = (json: string, eventId: number | undefined): string =>
  eventId === undefined ? json : `{"eventId":${eventId},${json.slice(1)}`
