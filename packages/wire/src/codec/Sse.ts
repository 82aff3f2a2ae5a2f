/**
 * Events as Server-Sent Events.
 *
 * The `data` of a frame is the same JSON as a line of NDJSON, so an event is encoded once, however many clients of either kind
 * are connected. Persisted events carry their position in the conversation as the frame's `id`; a client sends it back as
 * `Last-Event-ID` (X3). Frames have no `event:` name, so a browser gives all of them to one listener. The only exception is
 * `reconnect`, which is no event of a turn: the last frame of a stream that its client has to open again.
 */
import * as Schema from "effect/Schema"
import type { TurnEvent } from "../TurnEvent.ts"

/** The media type of such a stream. */
export const CONTENT_TYPE = "text/event-stream"

/** A comment frame. It keeps proxies from closing a stream that waits, and no client shows it. */
export const KEEP_ALIVE = ": waiting\n\n"

/** One frame around an event that is already JSON; `json` must contain no newline, as is true of `JSON.stringify`'s output. */
export const frame = (json: string, id?: number): string =>
  id === undefined ? `data: ${json}\n\n` : `id: ${id}\ndata: ${json}\n\n`

/** One event as one frame. */
export const encode = (event: TurnEvent, id?: number): string => frame(JSON.stringify(event), id)

/** The name of the frame that asks a client to reconnect. */
const RECONNECT = "reconnect"

/**
 * Why a stream ends early. The client reconnects with the id of the last event that it received, unless the conversation is gone.
 *
 * - `too-slow`: the client read too slowly; reconnect at once.
 * - `turn-stopped`: the turn stopped unsealed and continues where it is resumed; reconnect at once.
 * - `storage-unavailable`, `shutting-down`: reconnect after some seconds.
 * - `unexpected`: a bug; reconnect after some seconds.
 * - `conversation-deleted`: there is nothing to reconnect to; the same request is answered 404.
 */
export const Reconnect = Schema.Struct({
  code: Schema.Literals([
    "too-slow",
    "turn-stopped",
    "storage-unavailable",
    "shutting-down",
    "unexpected",
    "conversation-deleted"
  ]),
  /** For a person. */
  message: Schema.String
})
export type Reconnect = typeof Reconnect.Type

/** The last frame of such a stream. `EventSource` reconnects by itself; a listener of `reconnect` gets the reason. */
export const reconnect = (why: Reconnect): string => `event: ${RECONNECT}\ndata: ${JSON.stringify(why)}\n\n`
