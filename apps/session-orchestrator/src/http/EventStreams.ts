/**
 * How events of turns are sent: one JSON object a line, server-sent events, or messages of a WebSocket. Pure.
 *
 * A long text of an array is kept as bytes, as long as the array is: Node keeps one copy of them for all clients that have not read it, and does
 * not encode it again for each. Nearly every array is short and has one client, so that keeping it would cost more than the rest of a read.
 */
import * as NodeWS from "@effect/platform-node/NodeWS"
import { Ndjson, Sse } from "@holdfast/wire"
import { SocketMessages } from "@holdfast/wire/rpc"
import type { Frame } from "../engine/conversation/Conversations.ts"
import type { Text } from "../rpc/Outlet.ts"

/** Characters or bytes. Below this a copy for each client costs less than shared bytes. */
const LONG = 8 * 1024

/** The same encoder, which encodes a long array once. */
const sharing = <T extends Text>(
  encode: (frames: ReadonlyArray<Frame>) => T
): ((frames: ReadonlyArray<Frame>) => T | Buffer) => {
  const known = new WeakMap<ReadonlyArray<Frame>, T | Buffer>()
  return (frames) => {
    const found = known.get(frames)
    if (found !== undefined) return found
    const text = encode(frames)
    if (text.length < LONG) return text
    const bytes = typeof text === "string" ? Buffer.from(text) : text
    known.set(frames, bytes)
    return bytes
  }
}

const isDelta = (event: Frame["event"]) => event.type === "text-delta" || event.type === "reasoning-delta"

/** The end of the response of one turn; a conversation goes on. */
const isLast = ({ event }: Frame): boolean => event.type === "turn-end"

const encoder = (textOf: (frame: Frame) => string): ((frames: ReadonlyArray<Frame>) => Text) =>
  sharing((frames) => {
    let text = ""
    for (const frame of frames) text += textOf(frame)
    return text
  })

const formatsOf = (jsonOf: (frame: Frame) => string) =>
  ({
    ndjson: {
      contentType: Ndjson.CONTENT_TYPE,
      keepAlive: Ndjson.KEEP_ALIVE,
      isLast,
      encode: encoder((frame) => `${jsonOf(frame)}\n`)
    },
    sse: {
      contentType: Sse.CONTENT_TYPE,
      keepAlive: Sse.KEEP_ALIVE,
      isLast,
      farewell: Sse.reconnect,
      encode: encoder((frame) => Sse.frame(jsonOf(frame), frame.id))
    }
  }) as const

const full = formatsOf(({ json }) => json)

const bare = formatsOf(({ event, json }) =>
  isDelta(event) ? JSON.stringify({ type: event.type, delta: event.delta }) : json
)

/** Which deltas a client asks for. */
export type Deltas = "full" | "bare" | undefined

/** The format of a stream of one turn, whose client may ask for deltas without the ids of conversation and turn (rule D12). */
export const ofTurn = (deltas: Deltas, type: typeof Ndjson.CONTENT_TYPE | typeof Sse.CONTENT_TYPE) =>
  (deltas === "bare" ? bare : full)[type === Sse.CONTENT_TYPE ? "sse" : "ndjson"]

/** Server-sent events; a persisted event has its id. */
export const { sse } = full

/** A ping of a WebSocket, without data. */
export const PING = Buffer.of(0x89, 0)

/** Messages of a WebSocket as one buffer of text frames. A server's frames are not masked, so subscribers of the same events may get the same. */
export const ofMessages = (messages: ReadonlyArray<string>): Buffer =>
  Buffer.concat(messages.flatMap((message) => frame(Buffer.from(message), TEXT_FRAME)))

/** Events with all their keys, and the id of a persisted one, as messages. */
export const messages = sharing((frames) =>
  ofMessages(frames.map(({ id, json }) => SocketMessages.eventMessage(json, id)))
)

/** The same, with bare deltas: the id of the subscription stands in place of those of conversation and turn (rule D12). */
export const bareMessages = (id: SocketMessages.BareDelta["id"]): ((frames: ReadonlyArray<Frame>) => Buffer) =>
  sharing((frames) =>
    ofMessages(
      frames.map(({ event, id: eventId, json }) => {
        if (!isDelta(event)) return SocketMessages.eventMessage(json, eventId)
        const message: SocketMessages.BareDelta = { id, type: event.type, delta: event.delta }
        return JSON.stringify(message)
      })
    )
  )

// --- internal

/** The frame of a whole text (RFC 6455, section 5.2). */
const TEXT_FRAME = { fin: true, opcode: 1, mask: false, readOnly: true, rsv1: false }

/** The parts of a frame. The types of `ws` do not have it. */
const { frame }: { readonly frame: (data: Buffer, options: typeof TEXT_FRAME) => ReadonlyArray<Buffer> } = Reflect.get(
  NodeWS,
  "Sender"
)
