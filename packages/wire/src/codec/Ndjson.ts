/**
 * Events as newline-delimited JSON: one object a line (D12).
 *
 * Encoding is on the path of every token and validates nothing. Decoding validates every event; it splits the lines with
 * Effect's own decoder.
 */
import { Ndjson } from "effect/encoding"
import { TurnEvent } from "../TurnEvent.ts"

/** The media type of such a stream. */
export const CONTENT_TYPE = "application/x-ndjson"

/**
 * A keep-alive sent while a turn waits, so that proxies and clients do not close the stream.
 *
 * A space before an object is valid JSON, so a client that reads line by line never gets an empty line: every line is an
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
 * Fails with `NdjsonError` on a line that is not JSON and with `SchemaError` on a line that is no event. It has passed on the
 * events before that line by then.
 */
export const decode = Ndjson.decodeSchema(TurnEvent)
