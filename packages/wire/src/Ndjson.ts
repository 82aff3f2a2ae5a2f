/**
 * Events as newline-delimited JSON: one object a line (D12).
 *
 * Encoding is on the path of every token and checks nothing. Decoding checks everything, and takes the lines apart with
 * Effect's own decoder.
 */
import { Ndjson } from "effect/encoding"
import { TurnEvent } from "./TurnEvent.ts"

/** The media type of such a stream. */
export const CONTENT_TYPE = "application/x-ndjson"

/**
 * What is sent while there is nothing to say, so that proxies and clients do not give up on a stream that waits.
 *
 * A space before an object is JSON, so a reader that takes lines one by one never sees an empty one: every line is an
 * object (D12).
 */
export const KEEP_ALIVE = " "

/** One event as one line, its newline included. */
export const encode = (event: TurnEvent): string => JSON.stringify(event) + "\n"

/**
 * A channel from bytes, cut anywhere, to checked events.
 *
 * **Gotchas**
 *
 * Fails with `NdjsonError` on a line that is not JSON and with `SchemaError` on one that is no event; what came before it
 * has been passed on by then.
 */
export const decode = Ndjson.decodeSchema(TurnEvent)
