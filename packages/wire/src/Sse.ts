/**
 * Events as Server-Sent Events.
 *
 * The `data` of a frame is the same JSON as a line of NDJSON, so an event is turned into text once, however many clients
 * of either kind watch. Persisted events carry their position in the conversation as the frame's `id`, which is what a
 * client sends back as `Last-Event-ID` (X3). Frames have no `event:` name: a browser then gives all of them to one listener.
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

/** An event with the position that its frame carried. */
export interface Positioned {
  readonly id: number | undefined
  readonly event: TurnEvent
}

const decodeEvent = Schema.decodeUnknownEffect(Schema.fromJsonString(TurnEvent))

/** A channel from text, cut anywhere, to checked events. Fails with `SchemaError` on a frame that holds no event. */
export const decode = <IE, Done>() =>
  Sse.decode<IE, Done>().pipe(
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
