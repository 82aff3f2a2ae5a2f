/** How events of turns are sent: one JSON object a line, or server-sent events. */
import { Ndjson, Sse } from "@holdfast/wire"
import type { Frame } from "../conversation/Conversations.ts"
import * as SharedFrames from "../session/SharedFrames.ts"
import * as Encoding from "./body/Encoding.ts"

/** One JSON object a line. */
export const ndjson = {
  contentType: Ndjson.CONTENT_TYPE,
  keepAlive: Ndjson.KEEP_ALIVE,
  encode: Encoding.sharing(({ json }: Frame) => `${json}\n`, SharedFrames.isMarked)
}

/** Server-sent events; a persisted event has its id. */
export const sse = {
  contentType: Sse.CONTENT_TYPE,
  keepAlive: Sse.KEEP_ALIVE,
  farewell: Sse.reconnect,
  encode: Encoding.sharing(({ id, json }: Frame) => Sse.frame(json, id), SharedFrames.isMarked)
}
