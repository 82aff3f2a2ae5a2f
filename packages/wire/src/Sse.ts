/**
 * Events as Server-Sent Events.
 *
 * The `data` of a frame is the same JSON as a line of NDJSON, so an event is turned into text once, however many clients
 * of either kind watch. Persisted events carry their position in the conversation as the frame's `id`, which is what a
 * client sends back as `Last-Event-ID` (X3). Frames have no `event:` name: a browser then gives all of them to one listener.
 * One has: the last frame of a stream that its client has to open again (`reconnect`), which is no event of a turn.
 */
import { Channel, Effect, Schema } from "effect"
import { Sse } from "effect/encoding"
import { TurnEvent } from "./TurnEvent.ts"

/** The media type of such a stream. */
export const CONTENT_TYPE = "text/event-stream"

/** A comment frame. It keeps proxies from closing a stream that waits, and no client shows it. */
export const KEEP_ALIVE = ": waiting\n\n"

/** One frame around an event that is JSON already; `json` must be free of newlines, as `JSON.stringify` leaves it. */
export const frame = (json: string, id?: number): string =>
  id === undefined ? `data: ${json}\n\n` : `id: ${id}\ndata: ${json}\n\n`

/** One event as one frame. */
export const encode = (event: TurnEvent, id?: number): string => frame(JSON.stringify(event), id)

/** The name of the frame that says so. */
export const RECONNECT = "reconnect"

/**
 * Why a stream ends before its time. In each case the client connects again with the id of the last event that it saw.
 *
 * - `too-slow`: the client did not take what was sent; at once.
 * - `turn-stopped`: the turn stopped unsealed, and goes on where it is taken up; at once.
 * - `storage-unavailable`, `shutting-down`: after some seconds.
 * - `unexpected`: a bug; after some seconds.
 */
export const Reconnect = Schema.Struct({
  code: Schema.Literals(["too-slow", "turn-stopped", "storage-unavailable", "shutting-down", "unexpected"]),
  /** For a person. */
  message: Schema.String
})
export type Reconnect = typeof Reconnect.Type

/** The last frame of such a stream. `EventSource` comes back by itself; who wants the reason listens to `reconnect`. */
export const reconnect = (why: Reconnect): string => `event: ${RECONNECT}\ndata: ${JSON.stringify(why)}\n\n`

/** An event with the position that its frame carried. */
export interface Positioned {
  readonly id: number | undefined
  readonly event: TurnEvent
}

const decodeEvent = Schema.decodeUnknownEffect(Schema.fromJsonString(TurnEvent))

/**
 * A channel from text, cut anywhere, to checked events. Fails with `SchemaError` on a frame that holds no event; the one that
 * says `reconnect` is left out, as the end behind it says enough.
 */
export const decode = <IE, Done>() =>
  Sse.decode<IE, Done>().pipe(
    Channel.filterArray(({ event }) => event !== RECONNECT),
    Channel.mapEffect((frames) =>
      Effect.forEach(frames, (frame) =>
        Effect.map(decodeEvent(frame.data), (event): Positioned => ({ id: positionOf(frame.id), event }))
      )
    )
  )

// --- internal

const positionOf = (id: string | undefined): number | undefined => {
  const position = id === undefined ? Number.NaN : Number(id)
  return Number.isSafeInteger(position) ? position : undefined
}
