/** How events of turns are sent: one JSON object a line, or server-sent events. */
import { Ndjson, Sse } from "@holdfast/wire"
import type { Frame } from "../conversation/Conversations.ts"
import * as Encoding from "./body/Encoding.ts"

/** The end of the response of one turn; a conversation goes on. */
const isLast = ({ event }: Frame): boolean => event.type === "turn-end"

const encoder = (textOf: (frame: Frame) => string): ((frames: ReadonlyArray<Frame>) => Encoding.Text) =>
  Encoding.sharing((frames) => {
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
  event.type === "text-delta" || event.type === "reasoning-delta"
    ? JSON.stringify({ type: event.type, delta: event.delta })
    : json
)

/** The formats of a stream of one turn, whose client may ask for deltas without the ids of conversation and turn (rule D12). */
export const ofTurn = (deltas: "full" | "bare" | undefined) => (deltas === "bare" ? bare : full)

/** Server-sent events; a persisted event has its id. */
export const { sse } = full
